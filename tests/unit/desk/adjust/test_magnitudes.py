"""Adjustment of magnitudes: against a hand calculation, a naive twin and its own rules."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import linprog

from discreet.desk.adjust import Norm
from discreet.desk.adjust.magnitudes import Problem, adjust, adjust_exactly, problem
from discreet.desk.adjust.magnitudes.exact import first_table
from discreet.desk.adjust.magnitudes.senses import agreed, alternated, improved
from discreet.desk.adjust.magnitudes.whole import made_whole
from discreet.errors import ParameterError
from discreet.solve.system import TableSystem
from discreet.table.hierarchy import Hierarchy


def _problem(inner: np.ndarray, sensitive: np.ndarray, share: float = 0.1, **options) -> Problem:
    system = TableSystem.of(inner.shape)
    values = system.values(inner)
    flags = np.zeros(system.shape, bool)
    flags[tuple(slice(0, size) for size in inner.shape)] = sensitive
    return problem(system, values, flags, share * values, share * values, **options)


def _naive(this: Problem) -> float:
    """The least cost over all senses, each by a linear programme of another solver."""
    size, best = len(this.values), np.inf
    matrix = np.hstack([this.equations.toarray(), -this.equations.toarray()])
    for senses in product((True, False), repeat=len(this.movers)):
        low, high = np.zeros(2 * size), np.concatenate([this.most, -this.least])
        for mover, up in zip(this.movers, senses, strict=True):
            if up:
                low[mover], high[mover + size] = this.upper[mover], 0
            else:
                low[mover + size], high[mover] = this.lower[mover], 0
        found = linprog(
            np.tile(this.weights, 2), A_eq=matrix, b_eq=np.zeros(len(matrix)),
            bounds=np.stack([low, high], axis=1),
        )  # fmt: skip
        if found.success:
            best = min(best, found.fun)
    return float(best)


def test_two_cells_of_one_row_go_opposite_ways() -> None:
    # One row (100, 100, 800), the first two sensitive by 10. Opposite ways cost 10/100 + 10/100
    # and the total stays; the same way would move 800 or the total by 20 on top.
    this = _problem(np.array([100.0, 100, 800]), np.array([True, True, False]))
    found = adjust(this)
    assert found.status == "solved"
    assert found.cost == pytest.approx(0.2)
    assert sorted(found.values.tolist()) == pytest.approx([-10, 0, 0, 10])


def test_a_lone_sensitive_cell_is_made_good_where_it_costs_least() -> None:
    # (100, 800): 10 must go somewhere; 10/800 is more than 10/900, so the total takes it.
    found = adjust(_problem(np.array([100.0, 800]), np.array([True, False])))
    assert np.abs(found.values).tolist() == pytest.approx([10, 0, 10])
    fixed = np.array([False, False, True])
    kept = adjust(_problem(np.array([100.0, 800]), np.array([True, False]), fixed=fixed))
    assert np.abs(kept.values).tolist() == pytest.approx([10, 10, 0])


def test_what_cannot_be_protected_is_flagged() -> None:
    # The total is fixed and the other cell may change by 1% of 800 only: 8 of the 10 needed.
    found = adjust(
        _problem(
            np.array([100.0, 800]), np.array([True, False]), capacity=0.01,
            fixed=np.array([False, False, True]),
        )
    )  # fmt: skip
    assert found.short.tolist() == [True, False, False]
    assert np.abs(found.values).tolist() == pytest.approx([8, 8, 0])


def test_no_cell_is_held_to_a_multiple_of_its_need() -> None:
    # (1000, 100, 200) with the total fixed; the first needs 1, the second 50. Someone must take the
    # second's 50, and the first does so for 50/1000: in all 50/100 + 50/1000 = 0.55. Held to ten
    # times its need the first would take 10 and the third 40: 0.5 + 0.01 + 0.2.
    system = TableSystem.of((3,))
    values = np.array([1000.0, 100, 200, 1300])
    need = np.array([1.0, 50, 0, 0])
    fixed = np.array([False, False, False, True])
    this = problem(system, values, need > 0, need, need, 1 / values, fixed=fixed)
    for found in (adjust_exactly(this), adjust(this)):
        assert found.status == "solved"
        assert found.cost == pytest.approx(0.55)


def test_a_sensitive_cell_may_go_beyond_the_capacity_of_the_others() -> None:
    # The capacity of 10% is for others. The second goes down by 400 to 0 and the total stays: the
    # third may take 5, and the first, of 100, all the rest. Weights are 1: 800 in all.
    values = np.array([100.0, 400, 50, 550])
    need = np.array([1.0, 400, 0, 0])
    this = problem(
        TableSystem.of((3,)), values, need > 0, need, need, 1.0, 0.1,
        np.array([False, False, False, True]),
    )  # fmt: skip
    found = adjust(this)
    assert found.status == "solved"
    assert found.cost == pytest.approx(800)
    assert found.values[1] == pytest.approx(-400)


def test_cells_that_are_not_published_have_no_capacity() -> None:
    # Rows (10, 90) and (500, 500), only the row totals are published; the first must move by 60 and
    # its inner cells with it, far beyond 10% of either.
    system = TableSystem.of((2, 2))
    values = system.values(np.array([[10.0, 90], [500, 500]]))
    shown = np.zeros((3, 3), bool)
    shown[:, 2] = True
    flags = np.zeros((3, 3), bool)
    flags[0, 2] = True
    this = problem(system, values, flags, 60.0, 60.0, np.where(shown, 1.0, 0.0), 0.1)
    found = adjust(this)
    assert not found.short.any()
    assert found.cost == pytest.approx(120)


def test_many_sensitive_cells_are_at_the_optimum() -> None:
    # Three in five of 64 inner cells are sensitive; the integer programme finds and proves the
    # least cost from no other start than its own.
    rng = np.random.default_rng(3)
    inner = np.round(rng.lognormal(5, 1.5, (8, 8))) + 1
    this = _problem(inner, rng.random(inner.shape) < 0.6, 0.2, weights=1.0)
    found, best = adjust(this), adjust_exactly(this, None)
    assert len(this.movers) > 30
    assert best.status == found.status == "solved"
    assert found.cost == pytest.approx(best.cost, rel=1e-6)


def test_squares_spread_the_change() -> None:
    this = _problem(np.array([100.0, 400, 400]), np.array([True, False, False]))
    found = adjust(this, Norm.L2)
    # Weights 1/100, 1/400, 1/400, 1/900: with z = (10, a, a, 10 + 2a) the least Σ z²/value is
    # where 2·2a/400 + 2·2(10 + 2a)/900 = 0, i.e. 9a + 4(10 + 2a) = 0, a = −40/17.
    assert np.abs(found.values).tolist() == pytest.approx([10, 40 / 17, 40 / 17, 90 / 17], abs=1e-4)


def test_nothing_sensitive_nothing_changes() -> None:
    found = adjust(_problem(np.array([[1.0, 2], [3, 4]]), np.zeros((2, 2), bool)))
    assert found.status == "solved"
    assert not found.values.any()


tables = st.integers(2, 4).flatmap(
    lambda rows: st.lists(
        st.lists(st.integers(0, 500), min_size=3, max_size=3), min_size=rows, max_size=rows
    )
)


@settings(max_examples=25, deadline=None)
@given(tables, st.integers(0, 2**30))
def test_the_exact_optimum_is_the_naive_one(rows: list[list[int]], seed: int) -> None:
    inner = np.array(rows, np.float64)
    rng = np.random.default_rng(seed)
    sensitive = (inner > 0) & (rng.random(inner.shape) < 0.35)
    this = _problem(inner, sensitive, weights=None if seed % 2 else 1.0)
    if not 0 < len(this.movers) <= 6:
        return
    best, exact, found = _naive(this), adjust_exactly(this), adjust(this)
    assert exact.status == "solved"
    assert exact.cost == pytest.approx(best, rel=1e-5, abs=1e-6)
    assert best * (1 - 1e-5) <= found.cost + 1e-9
    assert not found.short.any()


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 2**30), st.sampled_from([Norm.L1, Norm.L2]))
def test_every_adjustment_keeps_the_rules(seed: int, norm: Norm) -> None:
    rng = np.random.default_rng(seed)
    inner = np.round(rng.lognormal(4, 1.5, (6, 5, 3))) * (rng.random((6, 5, 3)) > 0.3)
    this = _problem(inner, (inner > 0) & (rng.random(inner.shape) < 0.15), capacity=0.5)
    found = adjust(this, norm)
    assert not found.short.any()
    system = TableSystem.of(inner.shape)
    by_variable = np.zeros(system.variables)
    by_variable[system.variable] = found.values.reshape(-1)
    np.testing.assert_allclose(system.equations @ by_variable, 0, atol=1e-5)
    values = system.values(inner)
    assert (values + found.values >= -1e-6).all()
    assert (found.values[values == 0] == 0).all()
    again = adjust(this, norm)
    np.testing.assert_array_equal(found.values, again.values)


def test_a_hierarchy_adds_up_too() -> None:
    rng = np.random.default_rng(5)
    tree = Hierarchy((4, 4, 5, 5, 6, 6, -1))
    system = TableSystem.table([tree, Hierarchy.flat(3)])
    inner = np.round(rng.lognormal(5, 1, 12))
    values = system.values(inner)
    flags = np.zeros(system.shape, bool)
    flags[0, 0] = flags[2, 1] = flags[3, 1] = True
    found = adjust(problem(system, values, flags, 0.1 * values, 0.1 * values))
    released = values + found.values
    np.testing.assert_allclose(released[0] + released[1], released[4], atol=1e-6)
    np.testing.assert_allclose(released[4] + released[5], released[6], atol=1e-6)
    assert not found.short.any()


def test_a_sensitive_sum_follows_its_parts() -> None:
    # Both cells of the first row and the row's total are sensitive: opposite ways would leave the
    # total where it is, so they must go the same way.
    inner = np.array([[100.0, 100], [500, 600]])
    system = TableSystem.of((2, 2))
    values = system.values(inner)
    flags = np.zeros((3, 3), bool)
    flags[0] = True
    found = adjust(problem(system, values, flags, 0.1 * values, 0.1 * values))
    assert not found.short.any()
    assert abs(found.values[0, 2]) >= 20 - 1e-6


def test_the_search_for_senses_never_ends_above_its_start() -> None:
    rng = np.random.default_rng(2)
    inner = np.round(rng.lognormal(4, 1, (12, 12)))
    this = _problem(inner, rng.random(inner.shape) < 0.2, weights=1.0)
    start = alternated(this)

    def alone(up: np.ndarray) -> float:
        columns = this.members[this.movers].indices
        sums = this.members.tocsc()[:, columns].astype(float)
        return this.cost(sums @ np.where(up, this.upper[this.movers], -this.lower[this.movers]))

    assert alone(improved(this, start)) <= alone(start)


def _two_lines() -> Problem:
    """Two lines of two cells and their sum, each by itself: all six are sensitive by a tenth."""
    values = np.array([[20.0, 30.0, 50.0], [40.0, 60.0, 100.0]])
    line = TableSystem.of((2,))
    both = TableSystem.joined([line, line], list(range(6)))
    system = TableSystem(
        (2, 3), both.variable, np.array([0, 1, 3, 4]), both.equations,
        sparse.csr_matrix([[1, 0, 0, 0], [0, 1, 0, 0], [1, 1, 0, 0],
                           [0, 0, 1, 0], [0, 0, 0, 1], [0, 0, 1, 1]]),
    )  # fmt: skip
    return problem(system, values, np.ones((2, 3), bool), 0.1 * values, 0.1 * values)


@pytest.mark.parametrize("senses", list(product([False, True], repeat=6)))
def test_senses_that_an_equation_rules_out_are_turned(senses: tuple[bool, ...]) -> None:
    # Parts that both go up take their sum up, and down if both go down; all else can be.
    def possible(line: np.ndarray) -> bool:
        return not (line[0] == line[1] != line[2])

    given = np.array(senses)
    found = agreed(_two_lines(), given)
    for line in (slice(0, 3), slice(3, 6)):
        assert possible(found[line])
        if possible(given[line]):
            assert (found[line] == given[line]).all()


def test_what_is_short_is_protected_by_other_senses_around_it() -> None:
    this = _two_lines()
    # The first line contradicts itself and stays as it is; the second goes the dear way: 4 up and
    # 14 down are 10 down.
    start = np.array([0.0, 0.0, 0.0, 4.0, -14.0, -10.0])
    assert this.short(start).tolist() == [True, True, True, False, False, False]
    found = first_table(this, 50, start=start)
    assert found is not None
    assert not this.short(found).any()
    np.testing.assert_allclose(this.equations @ found, 0, atol=1e-9)
    assert (np.sign(found[3:]) == np.sign(start[3:])).all()


def test_whole_numbers_stay_protected_and_additive() -> None:
    rng = np.random.default_rng(7)
    inner = np.round(rng.lognormal(5, 1, (6, 6, 4)))
    system = TableSystem.of(inner.shape)
    values = system.values(inner)
    flags = np.zeros(system.shape, bool)
    flags[:6, :6, :4] = rng.random(inner.shape) < 0.1
    need = np.ceil(0.1 * values)
    this = problem(system, values, flags, need, need)
    change = adjust(this).values.reshape(-1)[this.kept]
    found = made_whole(this, change)
    assert found is not None
    assert (found == np.rint(found)).all()
    np.testing.assert_array_equal(this.equations @ found, 0)
    assert not this.short(found).any()


def test_what_is_whole_already_goes_no_further() -> None:
    # All cells and sums may go further up at no loss of protection, but it would cost more.
    system = TableSystem.of((2, 2))
    values = system.values(np.array([[100.0, 200.0], [300.0, 400.0]]))
    this = problem(system, values, np.ones(system.shape, bool), values / 10, values / 10)
    change = this.values / 10
    found = made_whole(this, change)
    assert found is not None
    assert found.tolist() == change.tolist()


def test_mistakes_are_explained() -> None:
    system = TableSystem.of((2,))
    for values, options, message in [
        ([1.0, 2], {}, "shape"),
        ([1.0, 2, 4], {}, "add up"),
        ([1.0, -2, -1], {}, "0 or more"),
        ([1.0, 2, 3], {"weights": -1.0}, "weights must be"),
        ([1.0, 2, 3], {"capacity": np.nan}, "capacity must be"),
        ([1.0, 2, 3], {"fixed": [True]}, "fixed must have"),
    ]:
        with pytest.raises(ParameterError, match=message):
            problem(system, values, np.zeros(3, bool), 0.0, 0.0, **options)
