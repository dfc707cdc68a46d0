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
from discreet.study.attacks.unions import NOTE, is_new, wanted
from discreet.types import Floats

Part = tuple[Floats, Floats, float]


@dataclass(frozen=True)
class Margins:
    """Small cells of tables of the smallest areas, from the table and all that adds up to it."""

    tables: int = 4
    variables: int = 3
    areas: int = 60
    margin: float = 0.12

    name: ClassVar[str] = "a table with its margins"
    about: ClassVar[str] = (
        "Asks for a table in every small area, for its totals and for finer tables that add up to "
        "it, and solves for the cells."
    )

    def run(self, target: Target, rng: np.random.Generator, seconds: float) -> Finding:
        """Return the share of small cells that is right, over several tables."""
        clock, noise, tally = Clock.of(seconds), Noise.of(target.tier), Tally()
        questions = refused = done = 0
        for levels in self._choices(target, rng):
            asked = target.fresh()
            parts = list(_parts(asked, levels))
            questions, refused = questions + asked.questions, refused + asked.refused
            if not parts:
                continue
            cells = len(parts[0][0])
            truth, direct = target.truth(by(target.area, *levels), None), parts[0][1]
            truth = truth.reshape(-1, cells)
            for area in rng.permutation(len(target.area))[: self.areas]:
                scored = wanted(truth[area], direct[area])
                if scored.any():
                    system = System.of([(rows, f[area], added) for rows, f, added in parts])
                    found = estimates(system, noise) | {READING: direct[area]}
                    tally.add(truth[area], scored, found)
                if clock.out:
                    break
            done += 1
            if clock.out or done == self.tables:
                break
        target.questions, target.refused = questions, refused
        return tally.finding(self.name, target, self.margin, NOTE)

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


def _parts(target: Target, levels: tuple[Level, ...]) -> Iterator[Part]:
    """Yield a table and what adds up to it: rows of the system, figures by area, parts added."""
    sizes = tuple(len(level) for level in levels)
    inner = target.figures(by(target.area, *levels))
    if inner is None:
        return
    cells = inner.reshape(len(inner), -1)
    yield np.eye(cells.shape[1]), cells, 1.0
    for kept, figures in _margins(target, levels):
        rows = _sum_rows(sizes, kept)
        if is_new(figures, cells @ rows.T):
            yield rows, figures, 1.0
    names = {level.id for level in levels}
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


def _margins(
    target: Target, levels: tuple[Level, ...]
) -> Iterator[tuple[tuple[bool, ...], Floats]]:
    """Yield the totals of a table: with the table, or where that is refused, one by one."""
    whole = target.figures(by(target.area, *levels), totals="protected")
    for kept in product((True, False), repeat=len(levels)):
        if all(kept):
            continue
        if whole is not None:
            at = (slice(-1), *(slice(-1) if keep else -1 for keep in kept))
            yield kept, whole[at].reshape(len(whole) - 1, -1)
            continue
        some = [level for level, keep in zip(levels, kept, strict=True) if keep]
        figures = target.figures(by(target.area, *some))
        if figures is not None:
            yield kept, figures.reshape(len(figures), -1)
