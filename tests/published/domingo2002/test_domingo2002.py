"""The worked examples of [Domingo2002]; see source.md."""

from __future__ import annotations

import numpy as np

from discreet import risk
from discreet.solve import Hierarchy, Status, TableSystem

CELLS = np.array([[59, 40, 1], [61, 20, 19]])


def test_dominance_calls_the_wrong_cell_sensitive() -> None:
    assert risk.dominance(CELLS, n=1, k=60).tolist() == [False, True]


def test_the_second_largest_contributor_comes_closer_in_the_cell_that_dominance_passes() -> None:
    # 100 − 40 = 60 is off by 1 of 59; 100 − 20 = 80 is off by 19 of 61.
    np.testing.assert_allclose(risk.closest_estimate(CELLS), [1 / 59, 19 / 61])


def test_p_percent_calls_the_right_one() -> None:
    # At p = 10 the estimate must be off by at least 5.9 and 6.1: 1 is too close, 19 is not.
    assert risk.p_percent(CELLS, p=10).tolist() == [True, False]
    assert risk.prior_posterior(CELLS, p=10, q=100).tolist() == [True, False]


def _table_1() -> tuple[TableSystem, np.ndarray]:
    """Table 1 with NaN for the suppressed cells."""
    nan = np.nan
    figures = np.array(
        [
            [80, 253, 54, 0, 0, 387],
            [641, 3694, 2062, 746, 0, 7143],
            [592, nan, 329, nan, 1440, 3898],
            [57, nan, 946, nan, 2027, 4281],
            [78, 0, 890, 1719, 1743, 4430],
            # Printed 1148; its column adds up to 1448, and so does the last row: see source.md.
            [1448, 4353, 4281, 4847, 5210, 20139],
        ]
    )
    return TableSystem.of((5, 5)), figures


def test_table_1_suppressed_cells() -> None:
    system, figures = _table_1()
    hidden = np.isnan(figures)
    found = risk.audit(system, np.where(hidden, 0, figures), np.where(hidden, np.inf, figures))
    assert found.proof.solved
    # §4.1: 0 ≤ x1 ≤ 406, 1131 ≤ x2 ≤ 1537, 0 ≤ x3 ≤ 406, 845 ≤ x4 ≤ 1251; m = 407, DR = 0.115.
    assert found.low[hidden].tolist() == [0, 1131, 0, 845]
    assert found.high[hidden].tolist() == [406, 1537, 406, 1251]
    assert found.risk.possible[hidden].tolist() == [407] * 4
    np.testing.assert_allclose(found.risk.values[hidden], 0.115, atol=0.0005)


def test_the_misprint_of_table_1_is_found() -> None:
    system, figures = _table_1()
    figures[-1, 0] = 1148
    hidden = np.isnan(figures)
    found = risk.audit(system, np.where(hidden, 0, figures), np.where(hidden, np.inf, figures))
    assert found.proof.status is Status.INFEASIBLE


def test_table_2_merged_rows() -> None:
    # Rows 5 and 6 are combined: each split cell is between 0 and the published sum.
    sums = np.array([649, 406, 1275, 2382, 3467])
    # Codes: 5, 6, "2,3", 4, 7, "5,6" and the total; 5 and 6 are part of "5,6".
    tree = Hierarchy((5, 5, 6, 6, 6, 6, -1))
    system = TableSystem.table([tree, Hierarchy.flat(5)])
    rows = [[80, 253, 54, 0, 0], [641, 3694, 2062, 746, 0], [78, 0, 890, 1719, 1743], sums]
    known = np.array([[*row, sum(row)] for row in rows], float)
    known = np.vstack([known, known.sum(axis=0)])
    hidden = np.full((2, 6), np.nan)
    figures = np.vstack([hidden, known])
    gone = np.isnan(figures)
    found = risk.audit(system, np.where(gone, 0, figures), np.where(gone, np.inf, figures))
    assert found.proof.solved
    assert not found.low[:2].any()
    np.testing.assert_array_equal(found.high[:2], [[*sums, 8179]] * 2)
