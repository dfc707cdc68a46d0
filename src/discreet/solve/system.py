"""The table system: cells and the equations that hold between them.

One table, tables with hierarchies and several linked tables are the same thing: inner cells (or
records), and cells that are sums of them. Cells with the same contributors are one variable.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import prod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.errors import ParameterError
from discreet.later import later
from discreet.table.hierarchy import Hierarchy
from discreet.types import Floats, Integers

sparse = later("scipy.sparse")
csgraph = later("scipy.sparse.csgraph")

# The odds that two different sets of contributors share a sum of random 64-bit numbers are 2^-64
# for each pair. Fixed, so that a system is the same each time it is built.
_HASH_SEED = 20_020_716


@dataclass(frozen=True, eq=False)
class TableSystem:
    """Variables, the equations `equations @ values = 0` between them, and who they are made of.

    `variable[c]` is the variable of cell c: cells with equal contributors share one. `inner[i]`
    is the variable of the i-th inner cell; `shape` is that of the cells.
    """

    shape: tuple[int, ...]
    variable: Integers
    inner: Integers
    equations: Any
    members: Any

    @property
    def variables(self) -> int:
        """How many different cells there are."""
        return int(self.members.shape[0])

    @classmethod
    def table(cls, dimensions: Sequence[Hierarchy]) -> TableSystem:
        """Return the system of a table: the cells are all combinations of codes, in C order."""
        if not dimensions:
            raise ParameterError("a table must have at least one dimension.")
        shape = tuple(len(dimension) for dimension in dimensions)
        index = np.arange(prod(shape), dtype=np.int64).reshape(shape)
        members = dimensions[0].members
        for dimension in dimensions[1:]:
            members = sparse.kron(members, dimension.members, format="csr")
        entries, signs = [], []
        lengths: list[int] = []
        for axis, dimension in enumerate(dimensions):
            across = np.moveaxis(index, axis, 0)
            for parent, children in dimension.families:
                lines = across[np.append(children, parent)].reshape(len(children) + 1, -1).T
                entries.append(lines.ravel())
                signs.append(np.tile(np.append(np.ones(len(children)), -1.0), len(lines)))
                lengths += [len(children) + 1] * len(lines)
        parts = (np.concatenate(signs), np.concatenate(entries)) if lengths else ([], [])
        equations = sparse.csr_matrix(
            (*parts, np.cumsum([0, *lengths])), shape=(len(lengths), index.size)
        )
        return cls._merged(shape, members, equations)

    @classmethod
    def of(cls, shape: Sequence[int]) -> TableSystem:
        """Return the system of a table with a total at the end of every axis."""
        return cls.table([Hierarchy.flat(size) for size in shape])

    @classmethod
    def linked(cls, members: Any) -> TableSystem:
        """Return the system of any cells over common contributors.

        `members` is a 0/1 matrix, sparse or not: row c has a 1 for each inner cell, or record,
        that cell c counts. Rows of one contributor are that inner cell itself; inner cells that
        are no row are variables after the cells.
        """
        matrix = sparse.csr_matrix(members, dtype=np.int8)
        matrix.sum_duplicates()
        if matrix.shape[0] == 0 or matrix.shape[1] == 0:
            raise ParameterError("members must have at least one cell and one contributor.")
        if (matrix.data != 1).any():
            raise ParameterError("members must be 0 or 1: a cell counts a contributor once.")
        cells, inner = matrix.shape
        full = sparse.vstack([matrix, sparse.identity(inner, dtype=np.int8, format="csr")], "csr")
        sizes = np.diff(matrix.indptr)
        chosen = np.flatnonzero(sizes != 1)
        sums = matrix[chosen]
        left = sparse.csr_matrix(
            (-np.ones(len(chosen)), (np.arange(len(chosen)), chosen)), (len(chosen), cells)
        )
        equations = sparse.hstack([left, sums.astype(np.float64)], "csr")
        system = cls._merged((cells + inner,), full, equations)
        return replace(system, shape=(cells,), variable=system.variable[:cells])

    @classmethod
    def joined(cls, systems: Sequence[TableSystem], keys: Sequence[Hashable]) -> TableSystem:
        """Return the system of several tables at once: cells with equal keys are one variable.

        `keys` has one for each cell, table after table. Who contributes to cells of different
        tables is not known, so `members` and `inner` are empty.
        """
        ends = np.cumsum([system.variable.size for system in systems])
        if not systems or len(keys) != int(ends[-1]):
            raise ParameterError("keys must be one for each cell of the tables.")
        offsets = np.cumsum([0, *(system.variables for system in systems)])
        own = np.concatenate(
            [system.variable + start for system, start in zip(systems, offsets[:-1], strict=True)]
        )
        first: dict[Hashable, int] = {}
        same = np.array([first.setdefault(key, i) for i, key in enumerate(keys)], np.int64)
        size = int(offsets[-1])
        links = sparse.coo_matrix((np.ones(len(own)), (own, own[same])), (size, size))
        _, label = csgraph.connected_components(links, directed=False)
        # Every label has a cell, so the labels of the cells are 0, 1, … and can be numbered anew.
        _, first_cell = np.unique(label[own], return_index=True)
        number = _numbers(first_cell)[label]
        equations = sparse.block_diag([system.equations for system in systems], "csr")
        members = sparse.csr_matrix((len(first_cell), 0), dtype=np.int8)
        empty = np.zeros(0, np.int64)
        return cls((len(own),), number[own], empty, _joined(equations, number), members)

    @classmethod
    def _merged(cls, shape: tuple[int, ...], members: Any, equations: Any) -> TableSystem:
        """Return the system with cells of equal contributors made one, and no equation twice."""
        draws = np.random.default_rng(_HASH_SEED).integers(
            -(2**63), 2**63 - 1, members.shape[1], dtype=np.int64
        )
        with np.errstate(over="ignore"):
            sums = members.astype(np.int64) @ draws
        _, first, variable = np.unique(sums, return_index=True, return_inverse=True)
        variable = _numbers(first)[variable.reshape(-1)]
        kept = members[np.sort(first)]
        if kept.shape[0] < members.shape[0]:
            equations = _joined(equations, variable)
        alone = np.flatnonzero(np.diff(kept.indptr) == 1)
        inner = np.empty(members.shape[1], np.int64)
        inner[kept.indices[kept.indptr[alone]]] = alone
        return cls(shape, variable, inner, equations.tocsr(), kept)

    def without_zeros(self, inner: ArrayLike) -> TableSystem:
        """Return the same cells over those inner cells alone that are not 0.

        Cells that differ in zeros only become one variable: in sparse tables there are few left.
        """
        there = np.flatnonzero(np.asarray(inner).reshape(-1))
        if not len(there):
            raise ParameterError("an inner cell must be other than 0.")
        members = self.members.tocsc()[:, there].tocsr()
        reduced = self._merged((self.variables,), members, self.equations)
        return replace(reduced, shape=self.shape, variable=reduced.variable[self.variable])

    def spanning(self) -> Any:
        """Return equations that imply all others: one for each sum, with the fewest parts.

        All equations where that cannot be told, as of linked tables.

        Notes
        -----
        A sum has more contributors than any of its parts, so equations of different sums are
        independent. As many as there are variables beside the inner ones imply all others, since
        inner cells can be anything.
        """
        row, total = (self.equations < 0).nonzero()
        order = np.lexsort((np.diff(self.equations.indptr)[row], total))
        kept = row[order[np.unique(total[order], return_index=True)[1]]]
        enough = len(self.inner) > 0 and len(kept) == self.variables - len(self.inner)
        return self.equations[np.sort(kept)] if enough else self.equations

    def values(self, inner: ArrayLike) -> Floats:
        """Return every cell, in the shape of the cells, given the inner ones."""
        sums = self.members.astype(np.float64) @ np.asarray(inner, np.float64).reshape(-1)
        return np.asarray(sums[self.variable].reshape(self.shape))

    def merge(self, low: ArrayLike, high: ArrayLike) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return bounds of the variables: of cells that are one variable, the tightest."""
        least = np.full(self.variables, -np.inf)
        most = np.full(self.variables, np.inf)
        np.maximum.at(least, self.variable, np.asarray(low, np.float64).reshape(-1))
        np.minimum.at(most, self.variable, np.asarray(high, np.float64).reshape(-1))
        return least, most


def _numbers(first: NDArray[np.intp]) -> Integers:
    """Return new numbers in the order of the first cells: results read like the table."""
    number = np.empty(len(first), np.int64)
    number[np.argsort(first)] = np.arange(len(first))
    return number


def _joined(equations: Any, variable: Integers) -> Any:
    """Return the equations between variables, each once, given the variable of each column."""
    columns = np.arange(len(variable))
    joined = equations @ sparse.csr_matrix((np.ones(len(variable)), (columns, variable)))
    joined.sum_duplicates()
    joined.eliminate_zeros()
    return _distinct(joined)


def _distinct(equations: Any) -> Any:
    """Return the equations that say something, each once."""
    equations = equations.tocsr()
    equations.sort_indices()
    first: dict[bytes, int] = {}
    for row, (start, end) in enumerate(pairwise(equations.indptr.tolist())):
        if start < end:
            key = equations.indices[start:end].tobytes() + equations.data[start:end].tobytes()
            first.setdefault(key, row)
    return equations[list(first.values())]


def checked_base(base: int, name: str = "base") -> int:
    """Return the base, an integer of at least 2."""
    if isinstance(base, bool) or base != int(base) or base < 2:
        raise ParameterError(f"{name} must be an integer of at least 2. Got {base}.")
    return int(base)
