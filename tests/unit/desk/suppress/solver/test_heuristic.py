"""The heuristic: safe by the attacker's own programmes, the same each time, and not far off."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from discreet.desk.cells import CellTable
from discreet.desk.sensitivity import Threshold
from discreet.desk.suppress.insiders import Contributions
from discreet.desk.suppress.insiders import insiders as insiders_of
from discreet.desk.suppress.solver import (
    Mark,
    Pattern,
    Problem,
    exposed,
    suppress,
    suppress_linked,
    views,
)
from discreet.errors import ParameterError
from discreet.solve.solution import Status
from discreet.solve.system import TableSystem
from discreet.table.hierarchy import Hierarchy


def with_totals(inner: NDArray[np.int64]) -> NDArray[np.int64]:
    for axis in range(inner.ndim):
        inner = np.concatenate([inner, inner.sum(axis, keepdims=True)], axis)
    return inner


def threshold(table: NDArray[np.int64]) -> Problem:
    """Ones and twos are primary, zeros are published, every other cell costs 1."""
    primary = (table > 0) & (table <= 2)
    weights = np.where(table == 0, np.inf, 1.0)
    return Problem.of(table, primary, weights, width=np.where(primary, 1.0, 0.0))


def flat(table: NDArray[np.int64]) -> list[Hierarchy]:
    return [Hierarchy.flat(size - 1) for size in table.shape]


def watched(table: NDArray[np.int64], problem: Problem) -> Problem:
    """The problem with everybody who is counted, read off the table."""
    parents = tuple(dimension.parents for dimension in flat(table))
    names = tuple(str(axis) for axis in range(table.ndim))
    codes = tuple(tuple(str(code) for code in range(size)) for size in table.shape)
    cells = CellTable(names, codes, parents, table.astype(float), True)
    given_ = [Contributions.of_table(cells)]
    system = TableSystem.table(flat(table))
    known = insiders_of(system, [cells], given_, [Threshold(3)], problem, False)
    return replace(problem, insiders=known)


def safe(dimensions: list[Hierarchy], problem: Problem, pattern: Pattern) -> bool:
    system = TableSystem.table(dimensions)
    return not any(
        exposed(system, problem, pattern.withheld, owner)
        for owner in views(problem, pattern.withheld)
    )


def test_one_small_cell_takes_three_more() -> None:
    # A cell in a two-way table without zeros: a rectangle, so three others, is the least.
    table = with_totals(np.array([[1, 5, 6], [7, 8, 9], [5, 5, 5]]))
    pattern = suppress(flat(table), threshold(table))
    assert pattern.values.reshape(table.shape)[0, 0] == Mark.PRIMARY
    assert (pattern.values == Mark.SECONDARY).sum() == 3
    assert pattern.bare == 3


def test_nothing_sensitive_takes_nothing() -> None:
    table = with_totals(np.full((2, 2), 5))
    pattern = suppress(flat(table), threshold(table))
    assert pattern.status is Status.SOLVED
    assert not pattern.withheld.any()


def test_zeros_are_never_withheld_where_they_are_published() -> None:
    table = with_totals(np.array([[1, 0, 6], [0, 8, 9], [5, 5, 5]]))
    pattern = suppress(flat(table), threshold(table))
    assert not pattern.withheld.reshape(table.shape)[table == 0].any()


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32 - 1), st.booleans(), st.sampled_from([(4, 5), (3, 3, 3), (2, 3, 2, 2)]))
def test_attackers_find_every_primary_cell_as_wide_as_asked(
    seed: int, insiders: bool, shape: tuple[int, ...]
) -> None:
    rng = np.random.default_rng(seed)
    table = with_totals(rng.poisson(rng.gamma(0.6, 8, shape)))
    problem = watched(table, threshold(table)) if insiders else threshold(table)
    pattern = suppress(flat(table), problem, effort=0.02)
    assert pattern.status in (Status.FEASIBLE, Status.SOLVED)
    assert safe(flat(table), problem, pattern)


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_attackers_find_every_amount_of_a_magnitude(seed: int) -> None:
    rng = np.random.default_rng(seed)
    table = with_totals(rng.integers(1, 500, (4, 4))).astype(np.float64)
    primary = np.zeros(table.shape, bool)
    primary[rng.integers(0, 4, 3), rng.integers(0, 4, 3)] = True
    amount = np.where(primary, 0.1 * table, 0.0)
    problem = Problem.of(table, primary, table, rise=amount, fall=amount, whole=False)
    pattern = suppress(flat(table.astype(np.int64)), problem, effort=0.02)
    assert safe(flat(table.astype(np.int64)), problem, pattern)


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_hierarchies_are_safe_too(seed: int) -> None:
    rng = np.random.default_rng(seed)
    # Codes 0–1 are part of 4, 2–3 of 5, these of the total 6.
    tree = Hierarchy((4, 4, 5, 5, 6, 6, -1))
    dimensions = [tree, Hierarchy.flat(3)]
    system = TableSystem.table(dimensions)
    table = system.values(rng.poisson(rng.gamma(0.6, 8, (4, 3)))).astype(np.int64)
    problem = threshold(table)
    pattern = suppress(dimensions, problem, effort=0.02)
    assert pattern.status in (Status.FEASIBLE, Status.SOLVED)
    assert safe(dimensions, problem, pattern)


def test_the_same_problem_has_the_same_pattern() -> None:
    table = with_totals(np.random.default_rng(3).poisson(4, (6, 5, 3)))
    first, second = (suppress(flat(table), threshold(table), effort=0.1) for _ in range(2))
    assert np.array_equal(first.values, second.values)
    assert (first.certificates != second.certificates).nnz == 0


def test_a_cell_that_nothing_may_protect_is_named() -> None:
    table = with_totals(np.array([[1, 5], [7, 8]]))
    problem = Problem.of(table, table == 1, np.inf, width=(table == 1).astype(float))
    pattern = suppress(flat(table), problem)
    assert pattern.status is Status.INFEASIBLE
    assert pattern.failed == (0,)


def test_marked_cells_leave_a_way_that_no_cube_takes() -> None:
    # Of the 4 × 4 table only the cells of one cycle of six may be withheld; no rectangle is left.
    table = with_totals(np.array([[1, 9, 9], [9, 9, 9], [9, 9, 9]]))
    weights = np.full(table.shape, np.inf)
    for cell in ((0, 1), (1, 1), (1, 2), (2, 2), (2, 0)):
        weights[cell] = 1.0
    problem = Problem.of(table, table == 1, weights, width=(table == 1).astype(float))
    pattern = suppress(flat(table), problem)
    assert (pattern.values == Mark.SECONDARY).sum() == 5
    assert safe(flat(table), problem, pattern)


def test_a_long_way_round_is_found_where_the_search_has_room_for_short_ones() -> None:
    # Two cells of 2 a row and column form one ring of 30; the totals must be published. Steps are
    # so few that the relaxation, which would bring more room with it, is not asked.
    inner = 2 * (np.eye(15, dtype=np.int64) + np.roll(np.eye(15, dtype=np.int64), 1, axis=1))
    table = with_totals(inner)
    problem = threshold(table)
    weights = np.where(problem.primary, 1.0, np.inf)
    pattern = suppress(flat(table), replace(problem, weights=weights), effort=0.01)
    assert pattern.status is Status.FEASIBLE
    assert (pattern.values == Mark.PRIMARY).sum() == 30
    assert not (pattern.values == Mark.SECONDARY).any()


def test_certificates_are_spread_until_no_lone_contributor_knows_one_cell_of_each() -> None:
    # The cheapest certificate of a cell here has cells of contributors who, taken together, know
    # one of every other; another pair has nobody in common.
    figures = "001 120 110 000 000 021 110 000 010"
    inner = np.array([int(figure) for figure in figures.replace(" ", "")]).reshape(3, 3, 3)
    table = with_totals(inner)
    primary = (table > 0) & (table <= 2)
    problem = watched(table, Problem.of(table, primary, 1.0, np.where(primary, 1.0, 0.0)))
    everything = np.ones(table.size, bool)
    system = TableSystem.table(flat(table))
    assert not any(
        exposed(system, problem, everything, owner) for owner in views(problem, everything)
    )
    for pattern in (suppress(flat(table), problem), suppress_linked(system, problem)):
        assert pattern.status is Status.FEASIBLE
        assert safe(flat(table), problem, pattern)


def test_a_cell_that_only_insiders_work_out_is_told_from_one_that_anybody_does() -> None:
    # Two ones in a row of 2: whoever is one of them knows the other.
    table = np.array([1, 1, 2])
    problem = Problem.of(
        table, table < 2, np.array([1.0, 1.0, np.inf]), (table < 2) * 1.0, owner=[0, 1, -1]
    )
    for pattern in (
        suppress([Hierarchy.flat(2)], problem),
        suppress_linked(TableSystem.of((2,)), problem),
    ):
        assert pattern.status is Status.INFEASIBLE
        assert pattern.bare == 0


def test_wide_intervals_need_large_cells() -> None:
    # A width of 40 is out of reach for rectangles of small cells: totals or large cells move.
    table = with_totals(np.array([[2, 3, 50], [4, 3, 60], [50, 60, 70]]))
    primary = table == 2
    problem = Problem.of(table, primary, 1.0, width=np.where(primary, 40.0, 0.0))
    pattern = suppress(flat(table), problem)
    assert safe(flat(table), problem, pattern)


@pytest.mark.parametrize("effort", [0.0, -1.0, 1e9])
def test_effort_must_be_sane(effort: float) -> None:
    table = with_totals(np.array([[1, 5], [7, 8]]))
    with pytest.raises(ParameterError, match="effort must be above 0"):
        suppress(flat(table), threshold(table), effort)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"values": [[np.nan]]}, "finite"),
        ({"values": [[1.5]]}, "integers"),
        ({"values": [[-1.0]]}, "between low and high"),
        ({"weights": -1.0}, "weights must be"),
        ({"width": 0.0}, "must be given a width"),
        ({"absent": True}, "cannot be primary"),
        ({"weights": [1.0, 2.0]}, "one for each of the cells"),
    ],
)
def test_problems_are_checked(change: dict[str, object], message: str) -> None:
    given_ = {"values": [[1.0]], "primary": True, "weights": 1.0, "width": 1.0, **change}
    with pytest.raises(ParameterError, match=message):
        Problem.of(**given_)  # type: ignore[arg-type]
