"""Margins: every total with noise of its own is one more equation for the cells of a table."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, product
from typing import ClassVar

import numpy as np

from discreet.population import Level
from discreet.study.attacks.estimate import Noise, System, estimates
from discreet.study.attacks.finding import READING, Clock, Finding, Tally
from discreet.study.attacks.target import Target, by
from discreet.study.attacks.unions import NOTE, alone, is_new, wanted
from discreet.types import Floats, Integers

Part = tuple[Floats, Floats, float]


@dataclass(frozen=True)
class Margins:
    """Small cells of tables of the smallest areas, from the table and all that adds up to it."""

    tables: int = 4
    variables: int = 3
    areas: int = 60

    id: ClassVar[str] = "margins"
    name: ClassVar[str] = "a table with its margins"
    about: ClassVar[str] = (
        "Asks for a table in every small area, for its totals and for finer tables that add up to "
        "it, and solves for the cells."
    )

    def run(self, target: Target, rng: np.random.Generator, clock: Clock) -> Finding:
        """Return the share of small cells that is right, over several tables."""
        noise, tally = target.noise, Tally()
        questions = refused = done = 0
        for levels in clock.through(self._choices(target, rng)):
            plans: dict[str, list[Part]] = {}
            for plan in (_margins_first, _finer_first):
                asked = target.fresh()
                plans[plan.__name__.strip("_").replace("_", " ")] = list(plan(asked, levels))
                questions, refused = questions + asked.questions, refused + asked.refused
            if all(plans.values()):
                self._score(target, levels, plans, noise, tally, rng, clock)
                done += 1
            if done == self.tables:
                break
        target.questions, target.refused = questions, refused
        return tally.finding(self.name, target, NOTE)

    def _score(
        self,
        target: Target,
        levels: tuple[Level, ...],
        plans: dict[str, list[Part]],
        noise: Noise,
        tally: Tally,
        rng: np.random.Generator,
        clock: Clock,
    ) -> None:
        """Score each way of solving, with the answers of each plan, on some areas."""
        direct = next(iter(plans.values()))[0][1]
        truth = target.truth(by(target.area, *levels), None).reshape(len(direct), -1)
        prior = np.array([noise.prior(column) for column in direct.T])
        read = alone(noise, direct, prior)
        for area in clock.through(rng.permutation(len(target.area))[: self.areas]):
            scored = wanted(truth[area], direct[area])
            if scored.any():
                found: dict[str, Floats | Integers] = {READING: direct[area]}
                for plan, parts in plans.items():
                    system = System.of([(rows, f[area], added) for rows, f, added in parts])
                    ways = estimates(system, noise, prior)
                    found |= {f"{way}, {plan}": counts for way, counts in ways.items()}
                tally.add(truth[area], scored, found, {way: read[way][area] for way in read})

    def _choices(self, target: Target, rng: np.random.Generator) -> Iterator[tuple[Level, ...]]:
        """Yield tables of an area that are worth asking for, and small enough to be answered."""
        fitting = [
            levels
            for levels in combinations(target.levels(2, 9), self.variables)
            if target.mean(target.area, *levels) >= 5
        ]
        for i in rng.permutation(len(fitting)):
            yield fitting[i]


def _sum_rows(sizes: tuple[int, ...], kept: tuple[bool, ...]) -> Floats:
    """Return the rows that add the cells of a table up to one of its margins."""
    rows: Floats = np.ones((1, 1))
    for size, keep in zip(sizes, kept, strict=True):
        rows = np.asarray(np.kron(rows, np.eye(size) if keep else np.ones((1, size))), np.float64)
    return rows


def _margins_first(target: Target, levels: tuple[Level, ...]) -> Iterator[Part]:
    """Yield a table, its totals, and then finer tables: rows, figures by area, parts added."""
    cells = _cells(target, levels)
    if cells is not None:
        yield np.eye(cells.shape[1]), cells, 1.0
        yield from _totals(target, levels, cells)
        yield from _finer(target, levels, cells)


def _finer_first(target: Target, levels: tuple[Level, ...]) -> Iterator[Part]:
    """Yield a table, finer tables that add up to it, and then its totals."""
    cells = _cells(target, levels)
    if cells is not None:
        yield np.eye(cells.shape[1]), cells, 1.0
        yield from _finer(target, levels, cells)
        yield from _totals(target, levels, cells)


def _cells(target: Target, levels: tuple[Level, ...]) -> Floats | None:
    inner = target.figures(by(target.area, *levels))
    return None if inner is None else inner.reshape(len(inner), -1)


def _finer(target: Target, levels: tuple[Level, ...], cells: Floats) -> Iterator[Part]:
    """Yield finer tables, added up: the smallest further variables first."""
    sizes, names = tuple(len(level) for level in levels), {level.id for level in levels}
    thirds = [other for other in target.levels(2, 4) if other.id not in names]
    for third in sorted(thirds, key=len)[:2]:
        for size in range(len(levels), 0, -1):
            for some in combinations(levels, size):
                fine = target.figures(by(target.area, *some, third))
                if fine is None:
                    continue
                rows = _sum_rows(sizes, tuple(level in some for level in levels))
                sums = fine.sum(axis=-1).reshape(len(cells), -1)
                if is_new(sums, cells @ rows.T):
                    yield rows, sums, float(len(third))


def _totals(target: Target, levels: tuple[Level, ...], cells: Floats) -> Iterator[Part]:
    """Yield the totals of a table, with it or, where these are only sums, asked for by themselves.

    The larger totals come first: they tell more.
    """
    sizes = tuple(len(level) for level in levels)
    whole = target.figures(by(target.area, *levels), totals="protected")
    every = sorted(product((True, False), repeat=len(levels)), key=sum, reverse=True)
    for kept in every[1:]:
        rows = _sum_rows(sizes, kept)
        some = [level for level, keep in zip(levels, kept, strict=True) if keep]
        if whole is not None:
            at = (slice(-1), *(slice(-1) if keep else -1 for keep in kept))
            figures = whole[at].reshape(len(cells), -1)
            if is_new(figures, cells @ rows.T):
                yield rows, figures, 1.0
                continue
        alone = target.figures(by(target.area, *some))
        if alone is not None and is_new(alone.reshape(len(cells), -1), cells @ rows.T):
            yield rows, alone.reshape(len(cells), -1), 1.0
