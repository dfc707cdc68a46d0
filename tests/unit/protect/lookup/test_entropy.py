"""Look-ups of maximum entropy: the same as ptable's, and optimal by a test of their own."""

from __future__ import annotations

import csv
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from discreet.errors import ParameterError
from discreet.protect import LookupTable, lookup
from discreet.protect.lookup.entropy import RowProblem, solve_row, variance_range

DESIGNS = {
    "D2_V1.08": {"bound": 2, "variance": 1.08},
    "D5_V3": {"bound": 5, "variance": 3},
    "D5_V3_js2": {"bound": 5, "variance": 3, "forbid": (1, 2)},
    "D5_V3_p30": {"bound": 5, "variance": 3, "stay": 0.3},
}


@pytest.mark.parametrize("name", DESIGNS)
def test_equals_the_r_package_ptable(name: str, peers: Path) -> None:
    with (peers / f"ptable_{name}_tmatrix.csv").open() as file:
        header, *rows = csv.reader(file)
    columns = [int(value) for value in header[1:]]
    matrix = lookup.max_entropy(**DESIGNS[name]).matrix
    theirs = np.zeros((len(rows), max(columns) + 1))
    theirs[:, columns] = [[float(value) for value in row[1:]] for row in rows]
    assert matrix.shape == theirs.shape
    assert np.abs(matrix - theirs).max() < 1e-5


def _naive(problem: RowProblem) -> np.ndarray[Any, Any] | None:
    """The same optimum by a general solver: slow, and good to about six digits."""
    v = np.array(problem.changes, float)
    conditions = [
        {"type": "eq", "fun": lambda p: p.sum() - 1},
        {"type": "eq", "fun": lambda p: p @ v},
        {"type": "ineq", "fun": lambda p: problem.variance - p @ v**2},
    ]
    for k in range(problem.chain - 1):
        conditions.append({"type": "ineq", "fun": lambda p, k=k: p[k + 1] - p[k]})
    bounds = [(1e-12, 1.0)] * len(v)
    if problem.zero >= 0:
        bounds[problem.zero] = (max(problem.stay, 1e-12), 1.0)
    answer = minimize(
        lambda p: p @ np.log(p),
        np.full(len(v), 1 / len(v)),
        jac=lambda p: np.log(p) + 1,
        bounds=bounds,
        constraints=conditions,
        method="SLSQP",
        options={"maxiter": 1000, "ftol": 1e-14},
    )
    return answer.x if answer.success else None


@pytest.mark.parametrize(
    "problem",
    [
        RowProblem((-1, 0, 1, 2, 3, 4, 5), 3),
        RowProblem((-1, 0, 1, 2, 3, 4, 5), 3, monotone=False),
        RowProblem((-2, -1, 0, 1, 2, 3, 4, 5), 3, stay=0.3),
        RowProblem((-3, -2, -1, 0, 1, 2, 3), 1.5),
        RowProblem((-4, -1, 0, 1, 2, 3, 4, 5), 3, stay=0.25),
        RowProblem((-1, 2, 3, 4, 5), 2.5),
    ],
)
def test_equals_a_general_solver(problem: RowProblem) -> None:
    ours, theirs = solve_row(problem), _naive(problem)
    assert ours is not None
    assert theirs is not None
    np.testing.assert_allclose(ours, theirs, atol=2e-5)


@settings(max_examples=60, deadline=None)
@given(
    bound=st.integers(1, 7),
    variance=st.floats(0.2, 9),
    forbid=st.sets(st.integers(1, 4), max_size=2),
    stay=st.none() | st.floats(0, 0.6),
)
def test_every_look_up_keeps_its_conditions(
    bound: int, variance: float, forbid: set[int], stay: float | None
) -> None:
    try:
        table = lookup.max_entropy(bound, variance, forbid, stay)
    except ParameterError as error:
        # A request that fails names a variance that works, or a condition other than variance.
        message = str(error)
    else:
        _check_conditions(table, bound, variance, forbid, stay or 0)
        return
    nearest = re.search(r"nearest feasible variance is ([\d.]*\d)", message)
    if nearest:
        variance = float(nearest[1])
        table = lookup.max_entropy(bound, variance, forbid, stay)
        _check_conditions(table, bound, variance, forbid, stay or 0)
    else:
        assert re.match("(bound|stay|monotone) must be", message)


def _check_conditions(
    table: LookupTable, bound: int, variance: float, forbid: set[int], stay: float
) -> None:
    assert np.abs(table.transition().bias).max() < 1e-9
    assert (table.transition().variance <= variance + 1e-6).all()
    assert table.transition().variance[-1] == pytest.approx(variance, abs=2e-6)
    assert table.matrix[0, 0] == 1
    assert not table.matrix[1:, sorted(forbid)].any()
    for i, row in enumerate(table.matrix):
        released = np.flatnonzero(row)
        assert np.abs(released - i).max() <= bound
        if i in released:
            assert i == 0 or row[i] >= stay - 1e-9
            assert (np.diff(row[released[released <= i]]) >= -1e-9).all()


def test_noise_on_large_counts_is_symmetric_and_falls_away() -> None:
    last = lookup.max_entropy(5, 3).matrix[-1]
    np.testing.assert_allclose(last, last[::-1], atol=1e-9)
    # Optimality: log p is quadratic in the change, so its second differences are one number.
    np.testing.assert_allclose(np.diff(np.log(last), 2), np.diff(np.log(last), 2)[0], atol=1e-8)


def test_the_variance_of_a_count_of_one_has_a_ceiling() -> None:
    # Probability a at −1 and at 0 (not falling), the rest c at +5: a = 5c, 11c = 1,
    # variance 5/11 + 25/11 = 30/11.
    span = variance_range((-1, 0, 1, 2, 3, 4, 5))
    assert span is not None
    assert span == pytest.approx((0, 30 / 11))


def test_rounding_to_3_is_the_only_noise_of_variance_2_on_a_count_of_1() -> None:
    # Without 1 and 2, within ±2: a count of 1 becomes 0 or 3, mean 1 only as 2/3 and 1/3.
    row = lookup.max_entropy(2, 2, forbid=(1, 2)).matrix[1]
    np.testing.assert_allclose(row[:4], [2 / 3, 0, 0, 1 / 3], atol=1e-9)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"bound": 5, "variance": 1, "forbid": (1, 2)}, "count of 1 .* nearest feasible .* is 2"),
        ({"bound": 1, "variance": 1, "forbid": (1, 2)}, "bound must be larger"),
        # Every change as likely: (1 + 4 + 9 + 16 + 25)·2/11 = 10.
        ({"bound": 5, "variance": 20}, "nearest feasible variance is 10"),
        # 0.1 spread evenly over ±1 … ±5: 0.1·(110/10) = 1.1.
        ({"bound": 5, "variance": 3, "stay": 0.9}, "nearest feasible variance is 1.1"),
        ({"bound": 5, "variance": 3, "stay": 0.95, "forbid": (1, 2)}, "stay must be smaller"),
        ({"bound": 0, "variance": 3}, "bound must be an integer from 1 to 100. Got 0"),
        ({"bound": 5, "variance": -1}, "variance must be a positive number"),
        ({"bound": 5, "variance": 3, "stay": 1}, "stay must be a probability below 1"),
        ({"bound": 5, "variance": 3, "forbid": (0,)}, "a forbidden value must be"),
    ],
)
def test_an_impossible_request_says_what_is_in_the_way(
    options: dict[str, Any], message: str
) -> None:
    with pytest.raises(ParameterError, match=message):
        lookup.max_entropy(**options)


def test_the_normal_look_up_has_the_stated_bias() -> None:
    # Density exp(−v²/4) on −1 … 5: weights .7788, 1, .7788, .3679, .1054, .0183, .0019, sum
    # 3.0511, mean 1.1350/3.0511 = 0.372; unchanged 1/3.0511 = 0.328.
    table = lookup.normal()
    assert table.transition().bias[1] == pytest.approx(0.372, abs=5e-4)
    assert table.matrix[1, 1] == pytest.approx(0.328, abs=5e-4)
    assert table.matrix[2, 2] == pytest.approx(0.292, abs=5e-4)
    assert abs(table.transition().bias[5]) < 1e-12
