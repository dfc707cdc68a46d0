"""The table system: sums that hold, cells that are one, hierarchies, linked tables."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import ParameterError
from discreet.solve import Hierarchy, TableSystem

# 0, 1 → 3; 2 → 4 (an only child); 3, 4 → 5.
TREE = Hierarchy((3, 3, 4, 5, 5, -1))


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.integers(1, 4), min_size=1, max_size=3), st.integers(0, 2**32 - 1), st.booleans()
)
def test_every_equation_holds_for_every_table(shape: list[int], seed: int, nested: bool) -> None:
    dimensions = [Hierarchy.flat(size) for size in shape] + ([TREE] if nested else [])
    system = TableSystem.table(dimensions)
    counts = np.random.default_rng(seed).poisson(5, [len(d.leaves) for d in dimensions])
    values = system.values(counts)
    assert not (system.equations @ _variables(system, values)).any()
    # The naive twin: sums over every dimension in turn.
    naive = counts.astype(float)
    for axis, dimension in enumerate(dimensions):
        naive = np.moveaxis(
            np.tensordot(dimension.members.toarray(), naive, axes=(1, axis)), 0, axis
        )
    np.testing.assert_array_equal(values, naive)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(1, 4), max_size=3))
def test_one_equation_for_each_sum_implies_all_others(shape: list[int]) -> None:
    system = TableSystem.table([*map(Hierarchy.flat, shape), TREE])
    rank = np.linalg.matrix_rank(system.equations.toarray())
    kept = system.spanning().toarray()
    # No more than it takes, and all of them are equations of the table.
    assert len(kept) == np.linalg.matrix_rank(kept) == rank
    assert {row.tobytes() for row in kept} <= {row.tobytes() for row in system.equations.toarray()}


def test_linked_tables_keep_all_their_equations() -> None:
    # Both tables have the total, of other parts: neither equation follows from the other.
    tables = [TableSystem.of((2,)), TableSystem.of((3,))]
    system = TableSystem.joined(tables, ["a", "b", "all", "c", "d", "e", "all"])
    assert system.spanning().shape == (2, system.variables)


def _variables(system: TableSystem, values: np.ndarray) -> np.ndarray:
    low, high = system.merge(values, values)
    np.testing.assert_array_equal(low, high)  # cells that are one have one value
    return low


def test_a_table_with_totals_has_the_known_numbers_of_cells_and_equations() -> None:
    # 2 × 3 with totals: 3 × 4 cells; 4 column equations and 3 row equations.
    system = TableSystem.of((2, 3))
    assert system.shape == (3, 4)
    assert system.variables == 12
    assert system.equations.shape == (7, 12)


def test_cells_with_the_same_contributors_are_one_variable() -> None:
    # The only child of a parent is its parent.
    system = TableSystem.table([TREE])
    assert system.variable[2] == system.variable[4]
    assert system.variables == 5
    # A dimension of one code: every total along it is the cell itself.
    assert TableSystem.of((1, 3)).variables == 4


def test_linked_tables_share_their_contributors() -> None:
    # Four records; sex in one table, region in another, one cell in both, one record alone.
    members = np.array([[1, 1, 0, 0], [0, 0, 1, 1], [1, 0, 1, 0], [1, 1, 0, 0], [0, 0, 0, 1]])
    system = TableSystem.linked(members)
    assert system.variable[0] == system.variable[3]
    assert system.variable[4] == system.inner[3]
    records = np.array([1.0, 2.0, 3.0, 4.0])
    np.testing.assert_array_equal(system.values(records), members @ records)
    everything = system.members.astype(float) @ records
    assert not (system.equations @ everything).any()


@pytest.mark.parametrize("parents", [(), (5,), (1, 0), (0,), (-2,)])
def test_a_hierarchy_that_is_no_tree_is_refused(parents: tuple[int, ...]) -> None:
    with pytest.raises(ParameterError):
        Hierarchy(parents)


def test_members_that_count_twice_are_refused() -> None:
    with pytest.raises(ParameterError, match="0 or 1"):
        TableSystem.linked(np.array([[2, 1]]))


def test_cells_that_differ_in_zeros_only_become_one_variable() -> None:
    # (5, 0 | 5) and (0, 7 | 7): each inner cell is its row total and its column total.
    system = TableSystem.of((2, 2))
    inner = np.array([[5, 0], [0, 7]])
    reduced = system.without_zeros(inner)
    assert reduced.shape == (3, 3)
    # 5, 7, 12 and the zeros.
    assert reduced.variables == 4
    assert reduced.variable[0] == reduced.variable[2] == reduced.variable[6]
    np.testing.assert_array_equal(reduced.values([5, 7]), system.values(inner))
    values = np.zeros(reduced.variables)
    values[reduced.variable] = system.values(inner).reshape(-1)
    assert not (reduced.equations @ values).any()
    with pytest.raises(ParameterError, match="other than 0"):
        system.without_zeros(np.zeros((2, 2)))
