"""Means over draws."""

from __future__ import annotations

import numpy as np
import pytest

from discreet import risk
from discreet.errors import ParameterError
from discreet.protect.cells.rounding import RandomRounding

ROUNDING = RandomRounding(3).transition()


def test_simulation_meets_the_expectation_within_four_standard_errors() -> None:
    true = np.array([0, 1, 2, 4, 5, 9, 30, 0, 1])
    rng = np.random.default_rng(3)
    mean = risk.simulated(
        true,
        ROUNDING,
        lambda f, g: risk.after_transition(f, g, ROUNDING).uncapped,
        rng,
        draws=2000,
    )
    expected = float(risk.expected_after_transition(true, ROUNDING))
    assert mean.standard_error > 0
    assert abs(mean.mean - expected) < 4 * mean.standard_error
    with pytest.raises(ParameterError, match="draws must be an integer of at least 2"):
        risk.simulated(true, ROUNDING, lambda f, g: 0.0, rng, draws=1)


def test_draws_without_a_value_are_counted() -> None:
    rng = np.random.default_rng(5)
    mean = risk.simulated([1, 1], ROUNDING, lambda f, g: float(risk.after(f, g)), rng, draws=300)
    # Both ones become zeros with probability 4/9.
    assert abs(mean.undefined / 300 - 4 / 9) < 4 * np.sqrt(4 / 9 * 5 / 9 / 300)
