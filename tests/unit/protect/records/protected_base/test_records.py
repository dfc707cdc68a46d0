"""The secret of an edition: the same for the same records, another for any others."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from discreet.protect.keys import KeyMix
from discreet.protect.lookup import max_entropy
from discreet.protect.records.protected_base import Records
from discreet.protect.records.protected_base import records as module
from discreet.protect.records.protected_base.targets import Noise

SECRET = b"a secret of at least 16 bytes"


def records(rows: int = 50) -> Records:
    rng = np.random.default_rng(1)
    codes = [rng.integers(0, size, rows).astype(np.uint8) for size in (2, 9)]
    words = rng.integers(0, 2**63, rows).astype(np.uint64)
    return Records(codes, rng.integers(0, 4, rows), words)


def of_rows(given: Records, rows: np.ndarray) -> Records:
    return Records([column[rows] for column in given.codes], given.area[rows], given.words[rows])


def test_the_order_of_the_records_does_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    given = records()
    edition = given.edition(SECRET)
    assert len(edition) == 32
    monkeypatch.setattr(module, "_CHUNK", 7)  # nor in how many pieces they are read
    assert of_rows(given, np.random.default_rng(2).permutation(50)).edition(SECRET) == edition


def test_whoever_leaves_joins_moves_or_changes_makes_another_edition() -> None:
    given = records()
    codes, area = [column.copy() for column in given.codes], given.area.copy()
    codes[0][3] ^= 1
    area[3] ^= 1
    editions = [
        given.edition(SECRET),
        given.edition(SECRET + b"!"),
        of_rows(given, np.arange(49)).edition(SECRET),
        of_rows(given, np.append(np.arange(50), 0)).edition(SECRET),
        replace(given, codes=codes).edition(SECRET),
        replace(given, area=area).edition(SECRET),
    ]
    assert len(set(editions)) == len(editions)


def test_two_who_change_places_make_another_edition() -> None:
    given = records()
    swapped = given.area.copy()
    a, b = np.flatnonzero(given.area == 0)[0], np.flatnonzero(given.area == 1)[0]
    swapped[[a, b]] = swapped[[b, a]]
    assert replace(given, area=swapped).edition(SECRET) != given.edition(SECRET)


def exactly() -> Noise:
    return Noise(None, KeyMix(SECRET, "test"))


def test_columns_that_members_of_a_household_share() -> None:
    # Households of persons 0 and 3, of 1 and 2, and of 4 alone.
    household = np.array([0, 1, 1, 0, 2])
    codes = [np.array([1, 2, 2, 1, 3], np.uint8), np.array([1, 2, 2, 3, 1], np.uint8)]
    words = np.arange(5, dtype=np.uint64)
    assert Records(codes, np.zeros(5), words, household).of_households(exactly()) == {0}
    assert Records(codes, np.zeros(5), words).of_households(exactly()) == frozenset()
    # Of people who live alone nothing is shared.
    alone = Records(codes, np.zeros(5), words, np.arange(5))
    assert alone.of_households(exactly()) == frozenset()


def couples(mixed: int, alike: int) -> Records:
    """500 households of two: some mixed, some of two in the second category; others in the first.

    And 900 people who live alone.
    """
    code = np.zeros(1_900, np.uint8)
    code[: 2 * mixed : 2] = 1
    code[2 * mixed : 2 * (mixed + alike)] = 1
    household = np.append(np.repeat(np.arange(500), 2), np.arange(500, 1_400))
    words = np.arange(1_900, dtype=np.uint64)
    return Records([code], np.zeros(1_900), words, household)


@pytest.mark.parametrize(
    ("mixed", "alike", "shared"),
    [
        (0, 200, {0}),
        (1, 99, {0}),
        (2, 98, set()),
        # What hardly anybody is, and nobody with somebody else of the household, is not shared.
        (4, 0, set()),
        (0, 0, set()),  # nobody can be told apart
    ],
)
def test_members_may_differ_in_one_of_a_hundred_households(
    mixed: int, alike: int, shared: set[int]
) -> None:
    assert couples(mixed, alike).of_households(exactly()) == shared


def test_no_single_household_decides_what_is_shared() -> None:
    # Exactly one and two differ on either side of the limit; with noise each is found on both.
    for mixed, alike in ((1, 99), (2, 98)):
        noises = (Noise(max_entropy(5, 3.5), KeyMix(bytes([i] * 16), "test")) for i in range(60))
        found = [len(couples(mixed, alike).of_households(noise)) for noise in noises]
        assert {0, 1} == {*found}
