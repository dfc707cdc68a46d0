"""Which records are donors: each with the same chance, and of every pattern about as many."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from discreet.protect import KeyMix
from discreet.protect.records.protected_base import Column, Design
from discreet.protect.records.protected_base.choice import taken
from discreet.protect.records.protected_base.donors import Donors
from discreet.protect.records.protected_base.search import Search, worth

SIZES = (2, 4, 3, 5)
DESIGN = Design.of([Column(size) for size in SIZES])
WORTH = worth(DESIGN, Search().top)


def words(number: int, secret: int = 1) -> NDArray[np.uint64]:
    return KeyMix(bytes([secret] * 16), "test").words(np.arange(number).astype(np.uint64))


def codes(number: int, seed: int = 3) -> NDArray[np.uint8]:
    rng = np.random.default_rng(seed)
    return np.stack([rng.integers(0, size, number) for size in SIZES], 1).astype(np.uint8)


def persons(main: NDArray[np.uint8], share: float, secret: int = 1) -> NDArray[np.bool_]:
    donors = Donors.persons(np.arange(len(main)))
    return taken(donors, main, words(len(main), secret), share, WORTH)


@pytest.mark.parametrize(
    ("number", "share", "expected"),
    [(1, 0.5, 1), (7, 0.5, 4), (8, 0.5, 4), (10, 0.25, 3), (300, 0.75, 225), (9, 1.0, 9)],
)
def test_the_share_is_taken_rounded_up(number: int, share: float, expected: int) -> None:
    assert persons(codes(number), share).sum() == expected


def test_of_twins_one_is_taken() -> None:
    # All 120 patterns there are, each twice, in an order of chance.
    every = np.stack(np.unravel_index(np.arange(120), SIZES), 1).astype(np.uint8)
    pattern = np.random.default_rng(5).permutation(np.repeat(np.arange(120), 2))
    found = persons(every[pattern], 0.5)
    assert (np.bincount(pattern[found], minlength=120) == 1).all()


def test_figures_of_donors_are_near_those_of_all() -> None:
    # Some 1,000 people in 120 patterns: a half by chance is off by the root of a pattern's people,
    # some 8 squared, when doubled. Pairs are of one pattern but for one of it at most, so that a
    # pattern is off by 0, or by 1 if the number of its people is odd: half a square on average.
    main = codes(1_000)
    pattern = np.ravel_multi_index(tuple(main.T), SIZES)
    found = persons(main, 0.5)
    off = 2 * np.bincount(pattern[found], minlength=120) - np.bincount(pattern, minlength=120)
    assert np.abs(off).max() <= 1


@pytest.mark.parametrize("share", [0.5, 0.3])
def test_every_household_has_the_same_chance(share: float) -> None:
    # 30 persons, five couples and one household of four, which none is near. Of 400 secrets a share
    # p takes 400·p give or take 20·√(p·(1 − p)), which is 10 at most: four and a half times that.
    # Rounded up, one more in 36 may be taken.
    sizes = [1] * 30 + [2] * 5 + [4]
    household = np.repeat(np.arange(36), sizes)
    donors = Donors.households(np.arange(len(household)), household)
    main = codes(len(household))
    drawn = words(400 * 36).reshape(400, 36)
    often = np.sum([taken(donors, main, own, share, WORTH) for own in drawn], axis=0)
    assert np.abs(often - 400 * share).max() < 45 + 400 / 36


def test_words_alone_decide() -> None:
    main = codes(500)
    assert (persons(main, 0.5) == persons(main, 0.5)).all()
    assert (persons(main, 0.5) != persons(main, 0.5, secret=2)).any()
