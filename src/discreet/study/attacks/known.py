"""Everybody else known: the attacker whom no method of noise on counts likes.

It knows every record but one, and so every count with and without this person. How strong it is
bounds all others who know less.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import ClassVar

import numpy as np

from discreet.population import Level
from discreet.study.attacks.estimate import Noise
from discreet.study.attacks.finding import Clock, Finding, Share
from discreet.study.attacks.target import Target, by, where
from discreet.types import Floats, Integers


@dataclass(frozen=True)
class Record:
    """A person: their area and a category of each level."""

    area: int
    codes: tuple[int, ...]


Evidence = tuple[Integers, Integers]
"""Counts of everybody (a category of the last level each), and their figures."""


@dataclass(frozen=True)
class Reconstruction:
    """The last attribute of a person, all other records and attributes being known."""

    people: int = 100
    questions: int = 12

    id: ClassVar[str] = "everybody-else"
    name: ClassVar[str] = "everybody else known"
    about: ClassVar[str] = (
        "Knows all records and all attributes but one of one person, and asks which category fits "
        "the published figures."
    )

    def run(self, target: Target, rng: np.random.Generator, clock: Clock) -> Finding:
        """Return the share of people whose attribute is stated rightly."""
        target, noise = target.fresh(), target.noise
        levels = _levels(target)
        tables = Tables.of(target, levels)
        national = target.truth(by(*levels), None)
        hits = {"attack": 0, "prior": 0, "tables": 0}
        tries = certain = certain_right = 0
        for record in clock.through(_people(target, levels, rng, self.people)):
            true = record.codes[-1]
            others = national[record.codes[:-1]] - (np.arange(len(levels[-1])) == true)
            before = np.log(others + 0.5)
            lines = list(tables.lines(record))
            asked = list(_asked(target, levels, record, rng, self.questions))
            tabled = before + _gain(lines, true, noise)
            after = before + _gain(lines + asked, true, noise)
            for way, found in (("attack", after), ("prior", before), ("tables", tabled)):
                hits[way] += int(found.argmax()) == true
            tries += 1
            if np.exp(after - after.max()).sum() < 1.001:
                certain += 1
                certain_right += int(after.argmax()) == true
        return Finding(
            self.name,
            Share.of(hits["attack"], tries),
            prior=Share.of(hits["prior"], tries),
            questions=target.questions,
            refused=target.refused,
            certain=certain,
            certain_right=certain_right,
            others={"tables": Share.of(hits["tables"], tries)},
            note=f"{levels[-1].id}, of anybody",
        )


@dataclass(frozen=True)
class Membership:
    """Whether a record is in the data, all other records being known."""

    records: int = 100
    questions: int = 12

    id: ClassVar[str] = "membership"
    name: ClassVar[str] = "membership"
    about: ClassVar[str] = (
        "Knows all other records, and tells whether a given record is among the data by how well "
        "the published figures fit with it and without it."
    )

    def run(self, target: Target, rng: np.random.Generator, clock: Clock) -> Finding:
        """Return the balanced accuracy; of two records one is there, and one in another area."""
        target, noise = target.fresh(), target.noise
        levels = _levels(target)
        tables = Tables.of(target, levels)
        right, tries = {True: 0, False: 0}, {True: 0, False: 0}
        for record in clock.through(_people(target, levels, rng, self.records)):
            elsewhere = Record(int(rng.integers(len(target.area))), record.codes)
            for one, there in ((record, True), (elsewhere, False)):
                lines = [*tables.lines(one), *_asked(target, levels, one, rng, self.questions)]
                code, evidence, seen = one.codes[-1], 0.0, set[tuple[int, int]]()
                for counts, figures in lines:
                    others, figure = int(counts[code]) - there, int(figures[code])
                    if (others, figure) not in seen:
                        seen.add((others, figure))
                        fit = noise.log(np.array([others + 1, others]), np.array([figure, figure]))
                        evidence += float(fit[0] - fit[1])
                right[there] += (evidence > 0) == there
                tries[there] += 1
        return Finding(
            self.name,
            Share.balanced(*(Share.of(right[there], tries[there]) for there in (True, False))),
            questions=target.questions,
            refused=target.refused,
            balanced=True,
            note=f"records of {', '.join(level.id for level in levels)} in a small area",
        )


@dataclass(frozen=True, eq=False)
class Tables:
    """Tables by area that hold the last level: counts and figures."""

    tables: tuple[tuple[tuple[int, ...], Integers, Floats], ...]

    @classmethod
    def of(cls, target: Target, levels: tuple[Level, ...]) -> Tables:
        """Return what is answered of all tables by area, the last level and some of the others."""
        found = []
        rest = range(len(levels) - 1)
        for some in (s for n in range(len(levels)) for s in combinations(rest, n)):
            shown = [levels[i] for i in some] + [levels[-1]]
            if target.mean(target.area, *shown) < 1:
                continue
            figures = target.figures(by(target.area, *shown), sums=False)
            if figures is not None:
                found.append((some, target.truth(by(target.area, *shown), None), figures))
        return cls(tuple(found))

    def lines(self, record: Record) -> Iterator[Evidence]:
        """Yield the line of a record in each table, the last level along it."""
        for some, counts, figures in self.tables:
            at = (record.area, *(record.codes[i] for i in some))
            if not np.isnan(figures[at]).any():
                yield counts[at], figures[at].astype(np.int64)


def _asked(
    target: Target, levels: tuple[Level, ...], record: Record, rng: np.random.Generator, number: int
) -> Iterator[Evidence]:
    """Yield answers about the last level among people like the record, in its and other areas."""
    refused = 0
    for _ in range(number):
        some = rng.random(len(levels) - 1) < 0.5
        having = {
            level.id: [level.codes[code]]
            for level, code, take in zip(levels, record.codes, some, strict=False)
            if take
        }
        if target.is_used_up(levels[-1].id, target.area.id, *having):
            continue
        share = rng.uniform(0.02, 0.3)
        places = rng.random(len(target.area)) < share
        places[record.area] = True
        codes = [target.area.codes[i] for i in np.flatnonzero(places)]
        filters = where(having | {target.area.id: codes})
        figures = target.figures(levels[-1].id, filters, sums=False)
        if figures is not None and not np.isnan(figures).any():
            yield target.truth(levels[-1].id, filters), figures.astype(np.int64)
        else:
            refused += 1
        if refused >= 4:
            return


def _gain(lines: list[Evidence], true: int, noise: Noise) -> Floats:
    """Return what lines add to the logarithm of the chance of every category.

    The same count with the same figure is taken for the same set, which tells nothing new.
    """
    seen: set[tuple[int, ...]] = set()
    total = np.zeros(len(lines[0][0]) if lines else 1)
    for counts, figures in lines:
        others = counts - (np.arange(len(counts)) == true)
        gain = noise.log(others + 1, figures) - noise.log(others, figures)
        for i, key in enumerate(zip(others.tolist(), figures.tolist(), strict=True)):
            if (i, *key) not in seen:
                total[i] += gain[i]
            seen.add((i, *key))
    return total


def _levels(target: Target) -> tuple[Level, ...]:
    """Return three known levels and one of about five categories, as sex, age, status, health."""
    levels = target.levels(2, 24)
    known = levels[:3]
    rest = [level for level in levels if level not in known] or levels[-1:]
    return (*known, min(rest, key=lambda level: abs(len(level) - 5)))


def _people(
    target: Target, levels: tuple[Level, ...], rng: np.random.Generator, number: int
) -> Iterator[Record]:
    """Yield people, each as likely as any other in some areas."""
    areas = np.sort(rng.permutation(len(target.area))[:100])
    codes = [target.area.codes[i] for i in areas]
    truth = target.truth(by(target.area, *levels), where({target.area.id: codes}))
    cells = np.argwhere(truth)
    shares = truth[tuple(cells.T)] / truth.sum()
    for i in rng.choice(len(cells), min(number, len(cells)), p=shares):
        area, *at = (int(n) for n in cells[i])
        yield Record(int(areas[area]), tuple(at))
