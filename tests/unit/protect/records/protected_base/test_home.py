"""Copies of people stand where these live as often as by chance, no more and no less."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from discreet.protect import KeyMix, ProtectedBase
from discreet.protect.records.protected_base import (
    Areas,
    Column,
    Design,
    Fitted,
    Records,
    Search,
    home,
)
from discreet.protect.records.protected_base.home import AtHome, alone, at_home, rare

SECRET = b"a secret of at least 16 bytes"
SHORT = Search(alone=2, together=(1, 1), fitting=12, polishing=6)


def words(number: int) -> NDArray[np.uint64]:
    return KeyMix(SECRET, "records").words(np.arange(number).astype(np.uint64))


@pytest.fixture(params=[2**20, 2, 1])
def some_at_a_time(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Records and copies are looked at so many at a time, which changes nothing."""
    monkeypatch.setattr(home, "_CHUNK", request.param)


@pytest.mark.usefixtures("some_at_a_time")
def test_who_is_alone_with_a_pattern() -> None:
    # (0, 1) is there twice, (1, 0) and (1, 1) once each; in another order of columns they differ.
    codes = [np.array([0, 1, 0, 1], np.uint8), np.array([1, 0, 1, 1], np.uint8)]
    records = Records(codes, np.zeros(4, np.int64), words(4))
    assert alone(records).tolist() == [False, True, False, True]


@pytest.mark.usefixtures("some_at_a_time")
def test_shares_by_hand() -> None:
    # Areas 0, 1 and 2 share donors, 3 and 4 among themselves. Persons 0 to 4 live in areas 0 to 4;
    # person 5 has the pattern of person 0, so that neither is alone, and lives in 1.
    codes = [np.array([0, 1, 2, 3, 4, 0], np.uint8)]
    records = Records(codes, np.array([0, 1, 2, 3, 4, 1]), words(6))
    areas = Areas.nested([np.arange(5), np.array([0, 0, 1, 2, 2]), np.array([0, 0, 0, 1, 1])], 2)
    units = (np.array([0]), np.array([1]))
    donor = np.array([1, 2, 1, 0, 3, 3, 5])
    placed = np.array([0, 0, 1, 2, 3, 4, 2])
    found = at_home(records, areas, Fitted(donor, placed, units, np.zeros((4, 3))))
    # Copies of 1, 2, 1, 3 and 3: at home are the second of 1 and the first of 3. The first unit has
    # five places, of which area 1 has one and area 2 two; the second has one in area 3, of two.
    assert found[0] == AtHome(5, 2, pytest.approx(1 / 5 + 2 / 5 + 1 / 5 + 1 / 2 + 1 / 2))
    # Of the areas between, 0 has three places of five and 1 two; 2 has all of the second unit. Who
    # lives in 1 is at home in 0 as well.
    assert found[1] == AtHome(5, 4, pytest.approx(3 / 5 + 2 / 5 + 3 / 5 + 1 + 1))
    assert found[0].as_dict() == {"share": 0.4, "by_chance": 0.36, "copies": 5}


@pytest.mark.usefixtures("some_at_a_time")
def test_households_count_once_and_among_those_of_their_size() -> None:
    # Household 0 of persons 0 and 1 lives in area 0, household 1 of person 2 in area 1. Only person
    # 1 is alone, and with them their household.
    codes = [np.array([0, 1, 0], np.uint8)]
    records = Records(codes, np.array([0, 0, 1]), words(3), np.array([0, 0, 1]))
    areas = Areas.nested([np.arange(2), np.zeros(2)], 1)
    donor, placed = np.array([0, 1, 0, 1, 2, 2]), np.array([0, 0, 1, 1, 1, 1])
    household = np.array([0, 0, 1, 1, 2, 3])
    fitted = Fitted(donor, placed, (np.array([0]),), np.zeros((3, 3)), household=household)
    # Of two copies one is at home, and of the two places for two people one is there.
    assert at_home(records, areas, fitted) == [AtHome(2, 1, 1.0)]


def people(areas: int, number: int = 5_000) -> Records:
    """People of one larger area, each smallest area of which has a category of its own.

    Many have it, so that figures of an area fit best with those who live there.
    """
    rng = np.random.default_rng(3)
    area = rng.integers(0, areas, number)
    own = np.where(rng.random(number) < 0.5, area, rng.integers(0, areas, number))
    codes = [own, *(rng.integers(0, size, number) for size in (10, 12, 8))]
    return Records([c.astype(np.uint8) for c in codes], area, words(number))


def in_pairs(records: Records) -> Records:
    """Households of two in one area, as far as there are two."""
    order = np.argsort(records.area, kind="stable")
    area = records.area[order]
    place = np.arange(len(area)) - np.searchsorted(area, area)
    found = np.empty(len(area), np.int64)
    found[order] = np.unique(area * len(area) + place // 2, return_inverse=True)[1]
    return Records(records.codes, records.area, records.words, found)


@pytest.mark.parametrize("households", [False, True])
@pytest.mark.parametrize("areas", [3, 10])
def test_donors_are_at_home_as_often_as_by_chance(areas: int, households: bool) -> None:
    records = in_pairs(people(areas)) if households else people(areas)
    of = Areas.nested([np.arange(areas), np.zeros(areas)], 1)
    design = Design.of([Column(size) for size in (areas, 10, 12, 8)])
    found = []
    for homing in (False, True):
        method = ProtectedBase(search=replace(SHORT, homing=homing))
        fitted = method.apply(records, of, design, SECRET)
        found.append(at_home(records, of, fitted)[0])
    kept, free = found
    error = (kept.by_chance * (1 - kept.by_chance) / kept.copies) ** 0.5
    assert kept.by_chance - 4 * error < kept.share < kept.by_chance + 4 * error
    assert free.share > 1.3 * free.by_chance


def test_who_has_a_rare_category() -> None:
    # Of 1,000 people 2 have category 1 of the first column, and 3 category 2 of the second: fewer
    # than 3 of 1,000 are rare.
    first, second = np.zeros((2, 1_000), np.uint8)
    first[:2], second[1:4] = 1, 2
    records = Records([first, second], np.zeros(1_000, np.int64), words(1_000))
    assert np.flatnonzero(rare(records)).tolist() == [0, 1]
    assert np.flatnonzero(rare(Records([second[:999]], first[:999], words(999)))).tolist() == []


@pytest.mark.parametrize("few", [3, 6])
def test_rare_people_are_at_home_as_often_as_by_chance(
    few: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Three areas, in each of which some 70 people have one of seven categories that are only there.
    # Where one came home for each that leaves, these did.
    monkeypatch.setattr("discreet.protect.records.protected_base.fit.FEW_AREAS", few)
    records, rng = people(3), np.random.default_rng(5)
    seldom = np.where(rng.random(5_000) < 0.04, 1 + 7 * records.area + rng.integers(0, 7, 5_000), 0)
    records = replace(records, codes=[*records.codes, seldom.astype(np.uint8)])
    of = Areas.nested([np.arange(3), np.zeros(3)], 1)
    design = Design.of([Column(size) for size in (3, 10, 12, 8, 22)])
    fitted = ProtectedBase(search=SHORT).apply(records, of, design, SECRET)
    found = at_home(records, of, fitted, rare(records))[0]
    assert found.copies > 150
    error = (found.by_chance * (1 - found.by_chance) / found.copies) ** 0.5
    off = (found.share - found.by_chance) / error
    assert abs(off) < 4 if few == 3 else off > 4
