"""Tables found in equations: those that were there, whatever the order of cells and lines."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse

from discreet.solve.layout import Laid, laid_out
from discreet.solve.system import TableSystem
from discreet.table.hierarchy import Hierarchy

# 0 to 3 are inner codes, 4 = 0 + 1, 5 is the total.
TREE = Hierarchy((4, 4, 5, 5, 5, -1))


def shuffled(equations: Any, seed: int) -> tuple[Any, np.ndarray]:
    """The equations with cells and lines in another order, and the new number of each cell."""
    rng = np.random.default_rng(seed)
    matrix = sparse.csr_matrix(equations).tocoo()
    cells, lines = rng.permutation(matrix.shape[1]), rng.permutation(matrix.shape[0])
    parts = (matrix.data, (lines[matrix.row], cells[matrix.col]))
    return sparse.csr_matrix(parts, matrix.shape), cells


def sums(tables: list[Laid]) -> set[frozenset[tuple[int, int]]]:
    """The equations of tables: cells that are there, with their signs."""
    found = set()
    for table in tables:
        for axis, tree in enumerate(table.trees):
            for code in range(len(tree)):
                parts = [i for i, up in enumerate(tree.parents) if up == code]
                if not parts:
                    continue
                lines = np.moveaxis(table.cells, axis, -1).reshape(-1, len(tree))
                for line in lines:
                    signs = [(int(line[i]), 1) for i in parts] + [(int(line[code]), -1)]
                    found.add(frozenset(pair for pair in signs if pair[0] >= 0))
    return found - {frozenset()}


def written(equations: Any) -> set[frozenset[tuple[int, int]]]:
    matrix = sparse.csr_matrix(equations)
    return {
        frozenset(
            (int(matrix.indices[k]), int(matrix.data[k]))
            for k in range(matrix.indptr[row], matrix.indptr[row + 1])
        )
        for row in range(matrix.shape[0])
    }


@pytest.mark.parametrize(
    "trees",
    [
        [Hierarchy.flat(3), Hierarchy.flat(4)],
        [Hierarchy.flat(2), Hierarchy.flat(3), Hierarchy.flat(4)],
        [TREE, Hierarchy.flat(3)],
        [TREE, Hierarchy.flat(2), TREE],
        [Hierarchy.flat(5)],
    ],
)
def test_a_table_is_found_again(trees: list[Hierarchy]) -> None:
    system = TableSystem.table(trees)
    for seed in range(3):
        equations, _ = shuffled(system.equations, seed)
        found = laid_out(equations)
        assert found is not None
        (table,) = found
        assert sorted(table.cells.shape) == sorted(len(tree) for tree in trees)
        assert sorted(table.cells.reshape(-1).tolist()) == list(range(system.variables))
        assert sums(found) == written(equations)


def test_cells_in_the_order_of_a_table_keep_it() -> None:
    system = TableSystem.table([Hierarchy.flat(2), Hierarchy.flat(4), Hierarchy.flat(3)])
    found = laid_out(system.equations)
    assert found is not None
    assert found[0].cells.tolist() == np.arange(3 * 5 * 4).reshape(3, 5, 4).tolist()


def linked(sizes: tuple[int, ...], tables: list[tuple[int, ...]]) -> TableSystem:
    keys = [
        frozenset((d, c) for d, c in zip(table, at, strict=True) if c < sizes[d])
        for table in tables
        for at in np.ndindex(*(sizes[d] + 1 for d in table))
    ]
    systems = [TableSystem.of([sizes[d] for d in table]) for table in tables]
    return TableSystem.joined(systems, keys)


def test_linked_tables_are_found_with_the_dimensions_that_they_share() -> None:
    tables = [(0, 1, 2), (0, 1, 3), (0, 2, 3), (2, 3), (1, 4)]
    system = linked((2, 3, 4, 3, 2), tables)
    equations, _ = shuffled(system.equations, 7)
    found = laid_out(equations)
    assert found is not None
    # (2, 3) is a margin of (0, 2, 3), which is not a table of its own.
    assert sorted(len(table.dimensions) for table in found) == [2, 3, 3, 3]
    assert sums(found) == written(equations)


def test_cells_that_are_left_out_are_empty() -> None:
    matrix = TableSystem.of([3, 4]).equations.tolil()
    # The inner cell (1, 2) of 4 × 5 is not in the list.
    gone = 1 * 5 + 2
    left = [cell for cell in range(20) if cell != gone]
    found = laid_out(matrix.tocsr()[:, left])
    assert found is not None
    assert int((found[0].cells < 0).sum()) == 1
    assert sums(found) == written(matrix.tocsr()[:, left])


@pytest.mark.parametrize("change", ["more", "less", "factor", "sign", "twice", "alone", "none"])
def test_equations_that_are_not_those_of_tables_are_not_taken_for_them(change: str) -> None:
    matrix = TableSystem.of([3, 3]).equations.tolil()
    if change == "more":  # two inner cells of different rows and columns add up to a third
        extra = np.zeros((1, 16))
        extra[0, [0, 5, 10]] = 1, 1, -1
        matrix = sparse.vstack([matrix, extra])
    elif change == "less":  # one line is missing, and no other says the same
        matrix = matrix[1:]
    elif change == "factor":
        matrix[0, 1] = 2
    elif change == "sign":
        matrix[0, 1] = -1
    elif change == "twice":  # two tables that have nothing in common
        matrix = sparse.block_diag([matrix, matrix])
    elif change == "alone":  # a cell that is in no equation
        matrix = sparse.hstack([matrix, np.zeros((8, 1))])
    else:
        matrix = matrix[:0]
    assert laid_out(sparse.csr_matrix(matrix)) is None


def test_a_circle_of_sums_ends() -> None:
    assert laid_out(sparse.csr_matrix([[1, 1, -1, 0], [0, -1, 1, 1]])) is None
