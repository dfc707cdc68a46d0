"""Expectations, held against the enumeration of every release."""

from __future__ import annotations

from itertools import product
from math import sqrt

import numpy as np
import pytest

from discreet import utility
from discreet.protect.cells.rounding import RandomRounding
from discreet.table.transition import Transition

LIVELY = Transition.from_matrix([[0.7, 0.2, 0.1], [0.3, 0.4, 0.3], [0.1, 0.2, 0.7]])


@pytest.mark.parametrize(
    ("counts", "method"),
    [
        ((0, 1, 2, 4, 5, 9), RandomRounding(3).transition()),
        ((0, 0, 1, 2, 7, 3), RandomRounding(5).transition()),
        ((0, 0, 1, 2, 5), LIVELY),
        ((1,), RandomRounding(3).transition()),
        ((3, 6), RandomRounding(3).transition()),
    ],
)
def test_expectations_are_those_of_every_release(
    counts: tuple[int, ...], method: Transition
) -> None:
    true = np.array(counts)
    rows = [method.row(count) for count in counts]
    sums = np.zeros(5)
    for chosen in product(*(range(len(values)) for values, _ in rows)):
        released = np.array([rows[c][0][k] for c, k in enumerate(chosen)])
        chance = np.prod([rows[c][1][k] for c, k in enumerate(chosen)])
        distance = utility.hellinger(true, released)
        sums += chance * np.array(
            [
                distance,
                distance**2,
                utility.relative_absolute(true, released),
                utility.average_absolute(true, released),
                (true == released).mean(),
            ]
        )
    got = [
        utility.expected_hellinger(true, method),
        utility.expected_hellinger_square(true, method),
        utility.expected_relative_absolute(true, method),
        utility.expected_average_absolute(true, method),
        utility.expected_unchanged(true, method),
    ]
    np.testing.assert_allclose(got, sums, rtol=0, atol=1e-10)
    assert utility.expected_score(true, method) == pytest.approx(
        max(0, 1 - sums[0] / sqrt(true.sum()))
    )
