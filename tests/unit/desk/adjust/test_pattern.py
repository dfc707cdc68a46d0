"""Patterns of cells left empty: safe among the true figures and among the adjusted ones."""

from __future__ import annotations

import numpy as np

from discreet.desk.adjust.pattern import Hidden, _around_truth, safe_pattern
from discreet.desk.cells import CellTable
from discreet.desk.sensitivity import PriorPosterior
from discreet.desk.suppress.insiders import Contributions
from discreet.desk.suppress.solver import Insiders, Problem


def test_contributors_are_kept_from_the_truth_as_far_as_from_the_adjusted_figure() -> None:
    # Released are 110 and 190, of 100 and 200. Contributor 0 has 60 of the first, and it must be
    # able to lie 20 off to them: down to 80, so 30 below 110. They know of 60: at most 50 below.
    none = np.zeros(2)
    known = Insiders.of(
        np.array([0, 1]), np.array([0, 0]), np.array([50.0, 130]), np.array([20.0, 0]),
        np.array([20.0, 0]), (np.array([45.0, 15]), np.array([45.0, 15])),
    )  # fmt: skip
    problem = Problem.of([110, 190], [True, True], rise=45, fall=45, insiders=known, whole=False)
    found = _around_truth(problem, np.array([10.0, -10])).insiders
    assert found.fall.tolist() == [30, 0]
    assert found.rise.tolist() == [20, 0]
    assert found.out_fall.tolist() == [55, 15]
    assert found.out_rise.tolist() == [45, 25]
    assert _around_truth(problem, none).insiders.fall.tolist() == known.fall.tolist()


def _line(released: list[float], largest: list[float]) -> Hidden:
    """Return a row of three cells of 1,005, 1,005 and 3,000 with its total; the first is empty."""
    values = np.array([1005.0, 1005, 3000, 5010])
    ranked = np.zeros((4, 2))
    ranked[:3, 0] = largest
    ranked[:3, 1] = values[:3] - largest
    ranked[3] = 1000
    cells = CellTable(
        ("a",), (("x", "y", "z", "_T"),), ((3, 3, 3, -1),), values, False, ranked,
        np.array([2, 2, 2, 6]),
    )  # fmt: skip
    flags = np.array([True, False, False, False])
    need = np.where(flags, 100.0, 0.0)
    return Hidden(cells, np.array(released), flags, need, need, np.ones(4, bool))


def _found(hidden: Hidden) -> list[bool] | None:
    given = [Contributions.of_table(hidden.cells)]
    found = safe_pattern([hidden], [PriorPosterior(10)], given)
    return None if found is None else found[0].tolist()


def test_a_cell_whose_contributor_would_know_too_much_does_not_protect() -> None:
    same = [1005.0, 1005, 3000, 5010]
    # Half of y is anybody's: y alone is the cheapest cell with room for 100.
    assert _found(_line(same, [1000, 520, 1510])) == [True, True, False, False]
    # Who has 1,000 of y knows that it is no less: x would be at most 1,010.
    assert _found(_line(same, [1000, 1000, 1510])) == [True, False, True, False]


def test_a_cell_that_is_small_as_released_does_not_protect() -> None:
    # y went from 1,005 down to 50: among the adjusted figures it cannot give 100.
    found = _found(_line([1005.0, 50, 3000, 4055], [1000, 520, 1510]))
    assert found is not None
    assert found[2] or found[3]
