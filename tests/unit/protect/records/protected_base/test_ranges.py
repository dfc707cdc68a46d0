"""Ranges of a base's figures: from noisy figures alone, and true in about nine of ten cases."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.protect.lookup import max_entropy
from discreet.protect.records.protected_base.ranges import CLASSES, WIDEST, ranges


@pytest.mark.parametrize("follows", ["noise", "truth", "both"])
@pytest.mark.parametrize("mean", [1.0, 4.0, 60.0])
def test_nine_in_ten(follows: str, mean: float) -> None:
    # True counts with noise, and a base that follows a noisy figure, the true one, or both, as one
    # does that is made of real records; other noise for the ranges.
    rng = np.random.default_rng(int(mean))
    table = max_entropy(5, 3)
    true = rng.lognormal(np.log(mean), 1.5, 200_000).astype(np.int64)
    fitted, noisy = (table.draw(true, rng.random(len(true))) for _ in range(2))
    followed = {"noise": fitted, "truth": true, "both": (fitted + true) // 2}[follows]
    base = np.maximum(
        followed + np.rint(rng.normal(0, 2, len(true))).astype(int) * (followed > 0), 0
    )
    kinds = np.searchsorted(CLASSES, base)
    distances = np.zeros((len(CLASSES) + 1, 2 * WIDEST + 1), np.int64)
    np.add.at(distances, (kinds, base - noisy + WIDEST), 1)
    found = np.array(ranges(distances, table))
    held = (true >= base + found[kinds, 0]) & (true <= base + found[kinds, 1])
    # Counts are whole, so that the narrowest range that holds enough may hold more.
    assert 0.89 < held.mean() < 0.96
    for k in np.unique(kinds):
        if (kinds == k).sum() > 1_000:
            assert held[kinds == k].mean() > 0.85, k


def test_a_class_with_few_figures_has_the_range_of_those_beside_it() -> None:
    distances = np.zeros((len(CLASSES) + 1, 2 * WIDEST + 1), np.int64)
    distances[0, WIDEST] = 1_000  # zeros, which say nothing of other figures
    distances[12, WIDEST - 2 : WIDEST + 3] = 20
    found = ranges(distances, None)
    assert found[0] == (0, 1)  # never the figure alone
    assert set(found[1:]) == {(-2, 2)}


def test_without_noise_the_range_is_of_the_distances() -> None:
    distances = np.zeros((len(CLASSES) + 1, 2 * WIDEST + 1), np.int64)
    distances[:, WIDEST - 1 : WIDEST + 2] = 50, 9_900, 50
    found = ranges(distances, None)
    assert found[3] == (-1, 1)  # (0, 0) has 99 of 100, and would be the figure alone
    distances[:] = 0
    distances[:, WIDEST + 2 : WIDEST + 5] = 50  # figures two to four above what is noisy
    found = ranges(distances, None)
    assert found[12] == (-4, 1)  # with the figure, which (-4, -2) would be without
    distances[:] = distances[:, ::-1].copy()
    found = ranges(distances, None)
    assert found[12] == (-1, 4)


def test_of_few_figures_more_are_held() -> None:
    # Of 100 figures 90 are right and 10 off by two each way. A share of 0.9 of 100 has the standard
    # error 0.03, so that 0.96 are to be held: more than the 95 on one side.
    distances = np.zeros((len(CLASSES) + 1, 2 * WIDEST + 1), np.int64)
    distances[12, [WIDEST - 2, WIDEST, WIDEST + 2]] = 5, 90, 5
    assert ranges(distances, None)[12] == (-2, 2)
    # Of ten thousand 0.906 are to be held.
    distances *= 100
    assert ranges(distances, None)[12] in [(-2, 1), (-1, 2)]
