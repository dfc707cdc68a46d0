"""Unions of categories or of areas: a filter that picks a union asks for a new set of people.

Where every set has noise of its own, the unions are equations for the counts of their parts.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from discreet.population import Level
from discreet.study.attacks.estimate import Noise, System, estimates
from discreet.study.attacks.finding import READING, Clock, Finding, Share, Tally
from discreet.study.attacks.target import Target, by, where
from discreet.types import Flags, Floats, Integers

SMALL = 5
"""Small counts, from 1 to this, are what an attacker of counts wants."""

NOTE = f"true counts of 1 to {SMALL}"

Rows = tuple[Floats, Floats, float]
"""Rows of a system that all areas share, the figures by area, and how many figures were added."""


def wanted(truth: Integers, direct: Floats) -> Flags:
    """Return which small counts are scored: those whose figure can be read."""
    return np.asarray((truth >= 1) & (truth <= SMALL) & ~np.isnan(direct))


def alone(noise: Noise, direct: Floats, prior: Floats) -> dict[str, Integers]:
    """Return what a reader makes of each figure who knows the method, and asks nothing more.

    `prior` says which counts are frequent, by the last axis of the figures.
    """
    return {
        "likelihood of the figure": noise.likely(direct),
        "posterior of the figure": noise.likely(direct, prior),
    }


def is_new(figures: Floats, sums: Floats) -> bool:
    """Whether figures are more than the sums of figures that are known: else they tell nothing."""
    both = ~np.isnan(figures) & ~np.isnan(sums)
    return bool(both.any()) and not np.array_equal(figures[both], sums[both])


def about_nine(target: Target, variable: str | None) -> Level:
    """Return the variable asked for, else the one nearest to nine categories, as religion has."""
    if variable is not None:
        return target.schema.find(variable)[1]
    return min(target.levels(3, 20), key=lambda level: abs(len(level) - 9))


def tables_with(target: Target, level: Level, most: int = 3) -> tuple[Floats | None, list[Rows]]:
    """Return the table of areas by a variable, and what the tables with a third one add to it.

    The smallest third variables come first: fewer figures to add up, less noise.
    """
    direct = target.figures(by(target.area, level))
    if direct is None:
        return None, []
    one = np.eye(len(level))
    rows: list[Rows] = [(one, direct, 1.0)]
    thirds = [other for other in target.levels(2, 4) if other.id != level.id]
    for third in sorted(thirds, key=len)[:most]:
        fine = target.figures(by(target.area, level, third))
        if fine is not None and is_new(fine.sum(axis=2), direct):
            rows.append((one, fine.sum(axis=2), float(len(third))))
    return direct, rows


@dataclass(frozen=True)
class Unions:
    """Small counts of the smallest areas from unions of categories."""

    variable: str | None = None
    unions: int = 200
    early: int = 50
    areas: int = 150

    id: ClassVar[str] = "unions"
    name: ClassVar[str] = "unions of categories"
    about: ClassVar[str] = (
        "Asks for many unions of the categories of a variable in every small area, and solves for "
        "the counts of the single categories."
    )

    def run(self, target: Target, rng: np.random.Generator, clock: Clock) -> Finding:
        """Return the share of small counts that is right."""
        target = target.fresh()
        level = about_nine(target, self.variable)
        direct, rows = tables_with(target, level)
        if direct is None:
            return Finding(
                self.name, Share.of(0, 0), questions=target.questions, refused=target.refused,
                reason="the table that it begins with is refused",
            )  # fmt: skip
        for union in clock.through(_subsets(len(level), self.unions, rng)):
            picked = [level.codes[i] for i in np.flatnonzero(union)]
            figures = target.figures(target.area.id, where({level.id: picked}))
            if figures is not None and is_new(figures, direct[:, union].sum(axis=1)):
                rows.append((union.astype(float)[None, :], figures[:, None], 1.0))
        tally, noise = Tally(), target.noise
        prior = np.array([noise.prior(column) for column in direct.T])
        truth, read = target.truth(by(target.area, level), None), alone(noise, direct, prior)
        for area in clock.through(rng.permutation(len(target.area))[: self.areas]):
            parts = [(row, figures[area], added) for row, figures, added in rows]
            found = estimates(System.of(parts), noise, prior) | {READING: direct[area]}
            first = estimates(System.of(parts[: self.early]), noise)
            found |= {f"{way} of {self.early}": counts for way, counts in first.items()}
            scored = wanted(truth[area], direct[area])
            tally.add(truth[area], scored, found, {way: read[way][area] for way in read})
        return tally.finding(self.name, target, NOTE)


def _subsets(size: int, number: int, rng: np.random.Generator) -> list[Flags]:
    """Return different unions of at least two and not all categories."""
    found: dict[bytes, Flags] = {}
    for _ in range(20 * number):
        union = rng.random(size) < rng.uniform(0.4, 0.9)
        if 2 <= union.sum() < size:
            found[union.tobytes()] = union
        if len(found) == number:
            break
    return list(found.values())


@dataclass(frozen=True)
class AreaUnions:
    """Small counts of the smallest areas from unions of areas, all larger areas at once."""

    variable: str | None = None
    unions: int = 100
    cells: int = 1_000

    id: ClassVar[str] = "area-unions"
    name: ClassVar[str] = "unions of areas"
    about: ClassVar[str] = (
        "Asks for a variable in many unions of small areas, in all larger areas at once, and "
        "solves for the counts of the single areas."
    )

    def run(self, target: Target, rng: np.random.Generator, clock: Clock) -> Finding:
        """Return the share of small counts that is right."""
        target = target.fresh()
        level = about_nine(target, self.variable)
        direct, rows = tables_with(target, level)
        if direct is None:
            return Finding(
                self.name, Share.of(0, 0), questions=target.questions, refused=target.refused,
                reason="the table that it begins with is refused",
            )  # fmt: skip
        answers = list(self._answers(target, level, direct, rng, clock))
        tally, noise = Tally(), target.noise
        frequent = np.array([noise.prior(column) for column in direct.T])
        truth, read = target.truth(by(target.area, level), None), alone(noise, direct, frequent)
        for parent in clock.through(rng.permutation(len(target.parent))):
            inside = np.flatnonzero(target.parent.of == parent)
            for category in range(len(level)):
                prior = np.tile(frequent[category], (len(inside), 1))
                here = (inside, category)
                scored = wanted(truth[here], direct[here])
                if scored.any():
                    one = np.eye(len(inside))
                    parts = [(one, figures[here], added) for _, figures, added in rows]
                    parts += [(a[None, inside], f[parent, category], 1.0) for a, f in answers]
                    found = estimates(System.of(parts), noise, prior) | {READING: direct[here]}
                    tally.add(truth[here], scored, found, {way: read[way][here] for way in read})
            if tally.tries >= self.cells:
                break
        return tally.finding(self.name, target, NOTE)

    def _answers(
        self, target: Target, level: Level, direct: Floats, rng: np.random.Generator, clock: Clock
    ) -> Iterator[tuple[Floats, Floats]]:
        """Yield unions of areas, half of them each, with the figures of every larger area."""
        for _ in clock.through(range(self.unions)):
            inside = rng.random(len(target.area)) < 0.5
            picked = [target.area.codes[i] for i in np.flatnonzero(inside)]
            figures = target.figures(by(target.parent, level), where({target.area.id: picked}))
            if figures is not None and len(figures) == len(target.parent):
                sums = np.zeros_like(figures)
                np.add.at(sums, target.parent.of[inside], direct[inside])
                if is_new(figures, sums):
                    yield inside.astype(float), figures
