"""Swapping of persons on a hypercube, as in the European study."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.errors import ParameterError
from discreet.protect import IndividualSwapping


def test_ten_per_cent_move_and_regions_keep_their_size() -> None:
    """Region 0 has one cell of 6,000, region 1 another of 4,000: whoever moved can be counted.

    5% of each region are sampled, 300 and 200; each exchanges with a person of the other region:
    500 leave either region, 1,000 of 10,000 persons.
    """
    cube = np.array([[6000, 0], [0, 4000]])
    swapped = IndividualSwapping(0.1).apply(cube, np.random.default_rng(1))
    assert swapped.tolist() == [[5500, 500], [500, 3500]]


def test_leavers_are_a_simple_random_sample() -> None:
    """Mean and variance of a cell after the swap are the hypergeometric ones."""
    rng = np.random.default_rng(2)
    cube = np.array([[30, 970], [0, 1000]])
    draws = np.array(
        [IndividualSwapping(0.2).apply(cube, rng)[1, 0] for _ in range(4000)], np.float64
    )
    # 100 + 100 leave region 0, of whom 200·30/1000 = 6 are of its first cell;
    # variance 200·0.03·0.97·(1000 − 200)/999.
    variance = 200 * 0.03 * 0.97 * 800 / 999
    assert draws.mean() == pytest.approx(6, abs=5 * np.sqrt(variance / 4000))
    assert draws.var() == pytest.approx(variance, rel=0.12)


def test_margins_without_the_region_are_kept_on_any_axis() -> None:
    rng = np.random.default_rng(3)
    cube = rng.poisson(3, (4, 3, 5))
    swapped = IndividualSwapping(0.3, axis=2).apply(cube, rng)
    assert np.array_equal(swapped.sum(axis=2), cube.sum(axis=2))
    assert np.array_equal(swapped.sum(axis=(0, 1)), cube.sum(axis=(0, 1)))
    assert not np.array_equal(swapped, cube)


def test_a_region_that_is_too_small_gives_all_it_has() -> None:
    cube = np.array([[5, 0], [0, 1000]])
    swapped = IndividualSwapping(0.5).apply(cube, np.random.default_rng(1))
    assert swapped.tolist() == [[0, 5], [5, 995]]


def test_one_region_has_nobody_to_swap_with() -> None:
    cube = np.array([[5, 7]])
    assert IndividualSwapping(0.5).apply(cube, np.random.default_rng(1)).tolist() == [[5, 7]]


def test_bad_parameters() -> None:
    with pytest.raises(ParameterError, match="rate must be above 0 and at most 1"):
        IndividualSwapping(0)
    with pytest.raises(ParameterError, match="axis must be below the number of dimensions, 1"):
        IndividualSwapping(0.1, axis=1).apply(np.array([1, 2]), np.random.default_rng(1))
