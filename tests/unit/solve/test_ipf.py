"""Iterative proportional fitting."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.errors import ParameterError
from discreet.solve import Status, ipf, round_to_margins


def test_a_uniform_table_becomes_the_product_of_its_margins() -> None:
    # Independence: row share × column share × total.
    solution = ipf(np.ones((2, 3)), {(0,): [40, 60], (1,): [20, 30, 50]})
    assert solution.solved
    np.testing.assert_allclose(solution.values, np.outer([40, 60], [0.2, 0.3, 0.5]))


def test_odds_ratios_are_kept() -> None:
    table = np.array([[1.0, 2.0], [3.0, 4.0]])
    fitted = ipf(table, {(0,): [5, 5], (1,): [4, 6]}).values
    ratio = fitted[0, 0] * fitted[1, 1] / (fitted[0, 1] * fitted[1, 0])
    assert ratio == pytest.approx(1 * 4 / (2 * 3))


def test_margins_of_several_dimensions() -> None:
    true = np.random.default_rng(1).random((3, 4, 2))
    margins = {(0, 1): true.sum(axis=2), (2,): true.sum(axis=(0, 1)), (): true.sum()}
    solution = ipf(np.ones((3, 4, 2)), margins)
    assert solution.solved
    np.testing.assert_allclose(solution.values.sum(axis=2), true.sum(axis=2))


@pytest.mark.parametrize(
    ("table", "margins"),
    [
        (np.eye(2), {(0,): [1, 2], (1,): [2, 1]}),  # zeros in the way
        (np.ones((2, 2)), {(0,): [1, 2], (1,): [2, 2]}),  # different totals
        (np.array([[0.0, 0.0], [1.0, 1.0]]), {(0,): [1, 1]}),  # an empty row
    ],
)
def test_contradictions_are_infeasible(
    table: np.ndarray[tuple[int, int], np.dtype[np.float64]],
    margins: dict[tuple[int, ...], list[int]],
) -> None:
    assert ipf(table, margins).status is Status.INFEASIBLE


def test_too_few_rounds_are_admitted() -> None:
    table = np.random.default_rng(2).random((3, 3))
    solution = ipf(table, {(0,): [1, 2, 3], (1,): [3, 2, 1]}, max_rounds=1)
    assert solution.status is Status.NOT_CONVERGED
    assert solution.gap > 0


def test_bad_margins_are_refused() -> None:
    with pytest.raises(ParameterError, match="must have the shape"):
        ipf(np.ones((2, 2)), {(0,): [1, 2, 3]})
    with pytest.raises(ParameterError, match="increasing and below 2"):
        ipf(np.ones((2, 2)), {(2,): [1, 2]})
    with pytest.raises(ParameterError, match="non-negative"):
        ipf(np.ones((2, 2)), {(0,): [-1, 2]})


def test_integers_with_three_linked_margins_by_hand() -> None:
    # The 2 × 2 × 2 cube of halves has all two-way margins 1. Next to ½ are 0 and 1: the cells of
    # even parity, or those of odd parity, and no other table.
    margins = {(0, 1): np.ones((2, 2)), (0, 2): np.ones((2, 2)), (1, 2): np.ones((2, 2))}
    found = set()
    for seed in range(20):
        solution = round_to_margins(np.full((2, 2, 2), 0.5), margins, np.random.default_rng(seed))
        assert solution.status is Status.SOLVED
        assert solution.gap == 0.5
        found.add(tuple(solution.values.reshape(-1).tolist()))
    assert found == {(1, 0, 0, 1, 0, 1, 1, 0), (0, 1, 1, 0, 1, 0, 0, 1)}


def test_where_no_neighbours_add_up_cells_go_further_or_it_is_said() -> None:
    rng = np.random.default_rng(1)
    # (1, 1) with a total of 4: each goes one further.
    solution = round_to_margins([1.0, 1.0], {(): 4}, rng)
    assert solution.status is Status.RELAXED
    assert solution.values.tolist() == [2, 2]
    assert round_to_margins([1.0, 1.0], {(): 1}, rng).values.sum() == 1
    assert round_to_margins([1.0, 0.0], {(): 4}, rng).status is Status.INFEASIBLE
    assert round_to_margins([2.0, 3.0], {(): 5}, rng).values.tolist() == [2, 3]
