"""Synthetic businesses have the skew that makes them worth protecting."""

from __future__ import annotations

import numpy as np

from discreet.synth.business import DIMENSIONS, draw


def test_records_have_leaf_codes_only_and_every_leaf_occurs() -> None:
    businesses = draw(20_000)
    for number, dimension in enumerate(DIMENSIONS):
        assert set(businesses.codes[:, number].tolist()) == set(dimension.leaves)


def test_the_first_records_do_not_depend_on_how_many_follow() -> None:
    many, few = draw(3_000, 7), draw(250, 7)
    for column in ("codes", "holding", "turnover", "employees"):
        assert np.array_equal(getattr(many, column)[:250], getattr(few, column))
    assert not np.array_equal(draw(250, 8).turnover, few.turnover)


def test_magnitudes_and_categories_are_skewed() -> None:
    businesses = draw(20_000)
    turnover = np.sort(businesses.turnover)[::-1]
    assert turnover[-1] >= 1
    # Of a lognormal with spread 1.5 alone the top percent holds Φ(1.5 − 2.33) = 20%; the tail
    # adds to it.
    assert turnover[:200].sum() > 0.2 * turnover.sum()
    for number, dimension in enumerate(DIMENSIONS):
        shares = np.bincount(businesses.codes[:, number])
        if dimension.hierarchical:
            assert shares.max() > 2 * shares[shares > 0].mean()  # the most frequent code


def test_the_size_class_is_that_of_the_employees() -> None:
    businesses = draw(5_000)
    least = np.array([0, 10, 20, 50, 250, 10**9])
    size = businesses.codes[:, 3]
    assert (least[size] <= businesses.employees).all()
    assert (businesses.employees < least[size + 1]).all()


def test_some_establishments_share_a_holding() -> None:
    holding = draw(20_000).holding
    numbers, sizes = np.unique(holding, return_counts=True)
    assert numbers.tolist() == list(range(1, len(numbers) + 1))
    # 12% join a holding drawn before: 17,600 holdings, three standard deviations of 46.
    assert abs(len(numbers) - 17_600) < 140
    assert sizes.max() > 2
