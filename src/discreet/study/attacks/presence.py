"""Is anybody there? Somebody against nobody, and "all of A have B", which is nobody without B."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import ClassVar

import numpy as np

from discreet.population import Level
from discreet.study.attacks.estimate import IMPOSSIBLE, Noise
from discreet.study.attacks.finding import Clock, Finding, Share
from discreet.study.attacks.padding import Group, pairs
from discreet.study.attacks.target import Target, by
from discreet.types import Floats, Integers

# The weight of a pair that differs, and of one that does not: one person fewer leaves the figures
# as they are in about a third of all cases.
DIFFERENT, EQUAL = -IMPOSSIBLE, -1.0


@dataclass(frozen=True)
class Try:
    """A cell (area, first, second) and what is true of it; the group it is a part of."""

    area: int
    first: int
    second: int
    count: int


@dataclass(frozen=True, eq=False)
class Tables:
    """What tables of two variables by area say, asked for once for all tries."""

    levels: tuple[Level, Level]
    group: Floats | None
    cells: Floats | None

    @classmethod
    def of(cls, target: Target, first: Level, second: Level) -> Tables:
        """Return the tables, the finer one first: if there is but one look, it is worth more."""
        cells = target.figures(by(target.area, first, second))
        return cls((first, second), target.figures(by(target.area, first), sums=False), cells)

    def cell(self, noise: Noise, one: Try) -> float:
        """Return the evidence for somebody in the cell from its own figure."""
        if self.cells is None or np.isnan(self.cells[one.area, one.first, one.second]):
            return 0.0
        figure = np.rint(self.cells[one.area, one.first, one.second]).astype(np.int64)
        chances = noise.log(np.array([1, 0]), np.array([figure, figure]))
        return float(chances[0] - chances[1])

    def same(self, one: Try) -> float:
        """Return the evidence from the group and its other category, where there is one only."""
        if self.cells is None or self.group is None or len(self.levels[1]) != 2:
            return 0.0
        whole = self.group[one.area, one.first]
        rest = self.cells[one.area, one.first, 1 - one.second]
        if np.isnan(whole) or np.isnan(rest):
            return 0.0
        return EQUAL if whole == rest else DIFFERENT


def padded(
    target: Target, tables: Tables, one: Try, rng: np.random.Generator, number: int
) -> float:
    """Return the evidence for somebody in a cell from pairs of tables with and without it."""
    first, second = tables.levels
    having = {first.id: [first.codes[one.first]], second.id: [second.codes[one.second]]}
    group = Group(target.area.codes[one.area], having)
    shown = [level for level in target.levels(2, 9) if level.id not in having]
    evidence = 0.0
    for _, without, with_it in pairs(target, group, shown, rng, number):
        same = np.array_equal(without, with_it, equal_nan=True)
        evidence += EQUAL if same else DIFFERENT
        if not same:
            break
    return evidence


@dataclass(frozen=True)
class Somebody:
    """A cell of one person against an empty one of the same categories."""

    tries: int = 100
    pairs: int = 4

    id: ClassVar[str] = "somebody"
    name: ClassVar[str] = "somebody or nobody"
    about: ClassVar[str] = (
        "Reads and pads the figures of a cell in a small area, to tell whether it holds one person "
        "or nobody."
    )

    def run(self, target: Target, rng: np.random.Generator, clock: Clock) -> Finding:
        """Return the balanced accuracy at a true count of 1."""
        target = target.fresh()
        first, second = two_levels(target)
        tables, noise = Tables.of(target, first, second), target.noise
        truth = target.truth(by(target.area, first, second), None)
        if tables.cells is not None:  # it looks where there is something to read
            truth = np.where(np.isnan(tables.cells), -1, truth)
        hits = {True: [0, 0, 0], False: [0, 0, 0]}
        certain = certain_right = 0
        for one in clock.through(matched(truth, rng, self.tries)):
            read = tables.cell(noise, one)
            evidence = read + padded(target, tables, one, rng, self.pairs)
            there = one.count > 0
            hits[there][0] += (evidence > 0) == there
            hits[there][1] += (read > 0) == there
            hits[there][2] += 1
            certain += evidence > -IMPOSSIBLE / 2
            certain_right += evidence > -IMPOSSIBLE / 2 and there
        return Finding(
            self.name,
            _balanced(hits[True][0], hits[True][2], hits[False][0], hits[False][2]),
            _balanced(hits[True][1], hits[True][2], hits[False][1], hits[False][2]),
            questions=target.questions,
            refused=target.refused,
            certain=certain,
            certain_right=certain_right,
            balanced=True,
            note=f"{first.id} and {second.id} in an area, one person against nobody",
        )


def _balanced(yes: int, of_yes: int, no: int, of_no: int) -> Share:
    return Share.balanced(Share.of(yes, of_yes), Share.of(no, of_no))


def two_levels(target: Target) -> tuple[Level, Level]:
    """Return two variables in as much detail as is answered for at least half of all areas.

    Which tables are answered, an attacker has learnt elsewhere: it costs no question here.
    """
    fitting = sorted(
        combinations(target.levels(2, 24), 2), key=lambda two: target.mean(target.area, *two)
    )
    for two in fitting:
        if target.mean(target.area, *two) >= 1:
            figures = target.fresh().figures(by(target.area, *two))
            if figures is not None and np.isnan(figures).mean() < 0.5:
                return two
    return fitting[-1]


def matched(truth: Integers, rng: np.random.Generator, number: int, count: int = 1) -> list[Try]:
    """Return cells of so many people, each followed by an empty cell of the same categories."""
    found: list[Try] = []
    for area, first, second in rng.permutation(np.argwhere(truth == count)):
        empty = np.flatnonzero(truth[:, first, second] == 0)
        if len(empty):
            found.append(Try(int(area), int(first), int(second), count))
            found.append(Try(int(rng.choice(empty)), int(first), int(second), 0))
        if len(found) >= 2 * number:
            break
    return found


@dataclass(frozen=True)
class Equality:
    """Whether all of a group have an attribute: then the group and those with it are one set."""

    tries: int = 99
    pairs: int = 8
    least: int = 3
    most: int = 20

    id: ClassVar[str] = "equality"
    name: ClassVar[str] = "all of A have B"
    about: ClassVar[str] = (
        "Compares tables of a small group with tables of those of it who have an attribute: equal "
        "sets have equal figures."
    )

    def run(self, target: Target, rng: np.random.Generator, clock: Clock) -> Finding:
        """Return the balanced accuracy, for exceptions of any number and for a single one."""
        noise = target.noise
        right: dict[str, dict[str, list[int]]] = {}
        questions = refused = 0
        for first, second in self._levels(target, rng):
            asked = target.fresh()
            tables = Tables.of(asked, first, second)
            truth = target.truth(by(target.area, first, second), None)
            for kind, one in clock.through(self._tries(truth, rng)):
                read = tables.cell(noise, one)
                tabled = read + tables.same(one)
                found = {
                    "reading": read,
                    "tables": tabled,
                    "pairs": tabled + padded(asked, tables, one, rng, self.pairs),
                }
                for way, evidence in found.items():
                    hits = right.setdefault(way, {}).setdefault(kind, [0, 0])
                    hits[0] += (evidence > 0) == (one.count > 0)
                    hits[1] += 1
            questions, refused = questions + asked.questions, refused + asked.refused
        return self._finding(right, questions, refused)

    def _finding(
        self, right: dict[str, dict[str, list[int]]], questions: int, refused: int
    ) -> Finding:
        def share(way: str, kind: str) -> Share:
            of = right.get(way, {})
            return _balanced(*of.get("all", [0, 0]), *of.get(kind, [0, 0]))

        kinds = ("any", "one")
        worst = max(kinds, key=lambda kind: share("pairs", kind).value)
        return Finding(
            self.name,
            share("pairs", worst),
            share("reading", worst),
            questions=questions,
            refused=refused,
            balanced=True,
            others={f"{way}, {kind}": share(way, kind) for way in right for kind in kinds},
            note=f"groups of {self.least} to {self.most}; exceptions: {worst}",
        )

    def _levels(self, target: Target, rng: np.random.Generator) -> list[tuple[Level, Level]]:
        """Return variables of groups, each with a variable of two categories."""
        halves = target.levels(2, 2) or target.levels(2, 3)
        groups = [level for level in target.levels(5, 20) if level not in halves]
        chosen = rng.permutation(len(groups))[:3]
        return [(groups[i], halves[rng.integers(len(halves))]) for i in chosen]

    def _tries(self, truth: Integers, rng: np.random.Generator) -> list[tuple[str, Try]]:
        """Return groups in which nobody is without the attribute, somebody is, or one person is."""
        sizes = truth.sum(axis=2)[:, :, None]
        fitting = (sizes >= self.least) & (sizes <= self.most)
        kinds = {"all": truth == 0, "any": truth >= 1, "one": truth == 1}
        found = []
        for kind, holds in kinds.items():
            cells = np.argwhere(fitting & holds & (truth < sizes))
            for cell in rng.permutation(cells)[: self.tries // 3]:
                area, first, second = (int(i) for i in cell)
                found.append((kind, Try(area, first, second, int(truth[area, first, second]))))
        order = rng.permutation(len(found))
        return [found[i] for i in order]
