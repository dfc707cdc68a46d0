"""Sampling: binomial counts, in closed form."""

from __future__ import annotations

import numpy as np
import pytest

from discreet import risk
from discreet.errors import ParameterError
from discreet.protect import Sampling


def test_the_chances_are_binomial() -> None:
    # Two records, each kept with 1/4: 9/16, 6/16, 1/16.
    np.testing.assert_allclose(Sampling(0.25).transition().matrix(2)[2], [9 / 16, 6 / 16, 1 / 16])
    values, probabilities = Sampling(0.25).transition().row(2)
    np.testing.assert_array_equal(values, [0, 1, 2])
    np.testing.assert_allclose(probabilities, [9 / 16, 6 / 16, 1 / 16])


def test_a_uniform_picks_the_count() -> None:
    released = Sampling(0.25).apply(np.full(4, 2), np.array([0, 0.56, 0.57, 0.94]))
    np.testing.assert_array_equal(released, [0, 0, 1, 2])


def test_the_mean_is_the_fraction_of_the_truth() -> None:
    uniforms = (np.arange(100_000) + 0.5) / 100_000
    released = Sampling(0.1).apply(np.full(100_000, 300), uniforms)
    assert released.mean() == pytest.approx(30, abs=1e-3)


@pytest.mark.parametrize("fraction", [0, 1, -0.1, float("nan")])
def test_the_fraction_lies_between_0_and_1(fraction: float) -> None:
    with pytest.raises(ParameterError, match="fraction must be above 0"):
        Sampling(fraction)


def test_flows_are_those_of_the_matrix() -> None:
    """μ_j = Σ n_i·P[i, j] and Σ i·n_i·P[i, j], in closed form and from the matrix."""
    chances = Sampling(0.3).transition()
    values, number, released = np.array([0, 2, 7]), np.array([5, 3, 1]), np.array([0, 1, 4])
    matrix = chances.matrix(7)[values][:, released]
    mu, sums = chances.flows(values, number, released)
    np.testing.assert_allclose(mu, number @ matrix)
    np.testing.assert_allclose(sums, (values * number) @ matrix)


def test_the_risk_after_sampling_is_measured_by_its_chances() -> None:
    # F = (2, 0), G = (1, 0), fraction ½. A released 1 holds 2 people. A released 0 is the zero, or
    # the 2 at ¼: μ_0 = 1 + ¼, Σ = 2·¼, content 0.4. Shares 5/6 and 1/6; times the multiplier ½.
    after = risk.after_transition(
        [2, 0], [1, 0], Sampling(0.5).transition(), weights=(0, 1, 0), multiplier=0.5
    )
    entropy = -(5 / 6 * np.log(5 / 6) + 1 / 6 * np.log(1 / 6)) / np.log(2)
    assert after.entropy == pytest.approx(0.5 * (1 - entropy))
