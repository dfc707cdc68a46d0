"""Published cells over inner cells: who counts where, how coarse they are, who is exchanged."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import prod
from typing import Any

import numpy as np

from discreet.errors import ParameterError
from discreet.later import later
from discreet.solve.system import TableSystem
from discreet.types import Integers

sparse = later("scipy.sparse")

# Inner cells of a published cell with at most so many are tried against one another.
LONGEST_LINE = 64


@dataclass(frozen=True, eq=False)
class CountCells:
    """Published cells, each a set of inner cells.

    `members` (sparse, by columns) has a row for each published cell and a column for each inner
    cell; a row of one inner cell publishes it. `order` is the number of dimensions that a cell
    keeps, or empty if it is not known. `lines` has a row for inner cells that differ in one
    dimension alone.
    """

    members: Any
    order: Integers
    lines: Any

    @classmethod
    def margins(
        cls,
        shape: Sequence[int],
        most_axes: int | None = None,
        kept: Iterable[tuple[int, ...]] | None = None,
        inner: bool = True,
    ) -> CountCells:
        """Return the margins of a table in C order, the coarsest first, and then its inner cells.

        `most_axes` publishes every margin of at most so many axes, `kept` lists them instead; ()
        is the total. `inner=False` does not publish the inner cells.
        """
        axes = len(shape)
        if not axes or min(shape) < 1:
            raise ParameterError(f"shape must have axes of at least 1. Got {tuple(shape)}.")
        if (most_axes is None) == (kept is None):
            raise ParameterError("either most_axes or kept must be given, not both.")
        if most_axes is not None:
            if not 0 <= most_axes <= axes:
                raise ParameterError(f"most_axes must be from 0 to {axes}. Got {most_axes}.")
            kept = [chosen for k in range(most_axes + 1) for chosen in combinations(range(axes), k)]
        chosen_axes = sorted({tuple(sorted(set(one))) for one in kept or ()}, key=_coarse_first)
        if any(axis not in range(axes) for one in chosen_axes for axis in one):
            raise ParameterError(f"kept axes must be from 0 to {axes - 1}.")
        if inner and tuple(range(axes)) not in chosen_axes:
            chosen_axes.append(tuple(range(axes)))
        if not chosen_axes:
            raise ParameterError("at least one margin must be published, or the inner cells.")
        sizes = [prod(shape[axis] for axis in one) for one in chosen_axes]
        order = np.repeat([len(one) for one in chosen_axes], sizes).astype(np.int64)
        lines = list(combinations(range(axes), axes - 1))[::-1]  # all axes but the first, second, …
        return cls(_membership(shape, chosen_axes), order, _membership(shape, lines))

    @classmethod
    def of(cls, members: Any) -> CountCells:
        """Return the cells of a 0/1 matrix: rows are published cells, columns are inner ones."""
        matrix = sparse.csc_matrix(members, dtype=np.int8)
        matrix.sum_duplicates()
        if (matrix.data != 1).any():
            raise ParameterError("members must be 0 or 1: a cell counts an inner cell once.")
        matrix.sort_indices()
        return cls(matrix, np.zeros(0, np.int64), None)

    @classmethod
    def system(cls, system: TableSystem) -> CountCells:
        """Return the cells of a table system, in the order of its cells."""
        return cls.of(system.members[system.variable])

    @property
    def size(self) -> int:
        """How many cells are published."""
        return int(self.members.shape[0])

    def values(self, inner: Integers) -> Integers:
        """Return the published cells, given the inner ones."""
        return np.asarray(self.members.astype(np.int64) @ inner.reshape(-1))

    def exchangeable(self, there: Integers) -> Any:
        """Return lines among some inner cells, as a matrix with a column for each of these.

        Without lines of a known shape: the published cells that hold few of them.
        """
        matrix = (self.members if self.lines is None else self.lines)[:, there].tocsr()
        sizes = np.diff(matrix.indptr)
        most = LONGEST_LINE if self.lines is None else sizes.max(initial=0)
        return matrix[(sizes >= 2) & (sizes <= most)]


def _coarse_first(kept: tuple[int, ...]) -> tuple[int, tuple[int, ...]]:
    return len(kept), kept


def _membership(shape: Sequence[int], margins: Sequence[tuple[int, ...]]) -> Any:
    """Return the 0/1 matrix of margins, each given by the axes it keeps, one after the other.

    It has a row for each cell of a margin and a column for each inner cell.
    """
    size = prod(shape)
    places = np.unravel_index(np.arange(size), tuple(shape))
    rows, height = [], 0
    for kept in margins:
        cell = np.zeros(size, np.int64)
        for axis in kept:
            cell = cell * shape[axis] + places[axis]
        rows.append(cell + height)
        height += prod(shape[axis] for axis in kept)
    indices = np.stack(rows, axis=1).astype(np.int32).reshape(-1)
    starts = np.arange(size + 1, dtype=np.int64) * len(rows)
    return sparse.csc_matrix((np.ones(len(indices), np.int8), indices, starts), (height, size))
