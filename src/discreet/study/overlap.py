"""What the tables that somebody was given tell together: the red team's measure on a history.

An attacker who has several tables adds the finer ones up to what they share, and weighs all of it:
every figure of one table gets an equation for each other table that shows the same people. How
often is the attacker right about small counts, beside who only reads them?
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import lsqr

from discreet.query import QuestionClass
from discreet.release.pipeline import Releaser
from discreet.release.result import Release
from discreet.types import Floats, Integers

SMALL = 5
"""Counts from one to this are small."""
MOST_CELLS = 20_000
_MOST_TABLES = 30


@dataclass(frozen=True)
class Overlap:
    """How often an attacker is right about the small counts of a table, in shares of them."""

    table: str
    others: tuple[str, ...]
    cells: int
    reading: float
    together: float

    @property
    def gain(self) -> float:
        """How much more often the other tables let the attacker be right."""
        return self.together - self.reading


def overlaps(releaser: Releaser, tier: str, tables: Sequence[QuestionClass]) -> list[Overlap]:
    """Return what each table tells together with the others, the most first.

    `tables` are classes that were released; the releaser must be one that claims nothing.
    """
    chosen = sorted(set(tables), key=lambda c: (c.cells, c.name))[:_MOST_TABLES]
    answers = {
        of: releaser.release(of.question, tier=tier) for of in chosen if of.cells <= MOST_CELLS
    }
    found = [_of(releaser, of, answers) for of in answers if of.cells > 1]
    return sorted((one for one in found if one is not None), key=lambda o: (-o.gain, o.table))


def _of(
    releaser: Releaser, of: QuestionClass, answers: dict[QuestionClass, Release]
) -> Overlap | None:
    truth = releaser.engine.tabulate(of.question).counts.ravel()
    small = (truth >= 1) & (truth <= SMALL)
    if not small.any():
        return None
    own = answers[of].table.values.ravel().astype(float)
    rows: list[sp.csr_array] = [sp.csr_array(sp.eye_array(len(own)))]
    shown = ~answers[of].table.withheld.ravel()
    figures, weights, others = [own], [shown.astype(float)], []
    for other, release in answers.items():
        shared = meet(of, other)
        if other == of or not shared.levels or release.table.withheld.any():
            continue
        sums, at = summed(release.table.values.astype(float), other, shared)
        mine = place(of, shared)
        ones = (np.ones(len(mine)), (mine, np.arange(len(mine))))
        rows.append(sp.csr_array(ones, shape=(len(sums), len(own))))
        figures.append(sums)
        weights.append(np.full(len(sums), 1 / np.sqrt(at)))
        others.append(other.name)
    weight = np.concatenate(weights)
    system = sp.diags_array(weight) @ sp.vstack(rows)
    solved = lsqr(system, weight * np.concatenate(figures), x0=own)[0]
    guess = np.maximum(np.rint(solved), 0)
    right = [float((guessed[small] == truth[small]).mean()) for guessed in (own, guess)]
    return Overlap(of.name, tuple(others), of.cells, *right)


def meet(a: QuestionClass, b: QuestionClass) -> QuestionClass:
    """Return the finest class that two tables both show."""
    ranks = tuple(min(pair) for pair in zip(a.ranks, b.ranks, strict=True))
    return QuestionClass(a.schema, ranks)


def summed(values: Floats, of: QuestionClass, to: QuestionClass) -> tuple[Floats, float]:
    """Return a table added up to a coarser class, and how many figures are in a sum on average."""
    found = np.bincount(place(of, to), values.ravel(), minlength=to.cells)
    return np.asarray(found), of.cells / to.cells


def place(of: QuestionClass, to: QuestionClass) -> Integers:
    """Return for each cell of a table the cell of a coarser class that it is in."""
    target = {of.schema.find(level.id)[0].id: level for level in to.levels}
    at: Integers = np.zeros(1, np.int64)
    for level in of.levels:
        variable = of.schema.find(level.id)[0]
        wanted = target.get(variable.id)
        if wanted is None:
            step, size = np.zeros(len(level), np.int64), 1
        else:
            step, size = np.zeros(len(level), np.int64), len(wanted)
            step[level.of] = wanted.of
        at = (at[:, None] * size + step[None, :]).ravel()
    return at
