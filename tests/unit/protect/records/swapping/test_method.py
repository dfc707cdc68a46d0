"""Record swapping: the pairs, what never changes, and why somebody was not swapped."""

from __future__ import annotations

from math import inf
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet import protect
from discreet.errors import ParameterError
from discreet.protect import RecordSwapping
from discreet.protect.records.swapping import (
    composition,
    in_small_cells,
    kernels,
    numbered,
    of_households,
)
from discreet.protect.records.swapping.households import combined

Ints = Any


class Town:
    """Households with members, areas in larger areas, and the keys of all."""

    def __init__(self, households: int, areas: int = 12, larger: int = 3, seed: int = 1) -> None:
        rng = np.random.default_rng(seed)
        self.households = households
        self.area = rng.integers(0, areas, households)
        self.larger = self.area * larger // areas
        members = rng.integers(1, 5, households)
        self.household = np.repeat(np.arange(households), members)
        self.sex = rng.integers(0, 2, len(self.household))
        self.age = rng.integers(0, 3, len(self.household))
        self.religion = rng.choice(6, len(self.household), p=[0.6, 0.3, 0.05, 0.03, 0.015, 0.005])
        self.keys = rng.integers(2**64, size=households, dtype=np.uint64)
        self.strict = composition(self.household, households, [(self.sex, 2), (self.age, 3)])
        self.loose = composition(self.household, households)

    def swap(self, method: RecordSwapping, **more: Any) -> protect.swapping.Swapped:
        return method.apply(self.area, self.larger, [self.strict, self.loose], self.keys, **more)

    def table(self, area: Ints, *columns: Ints) -> Ints:
        """Count the members by area and the other columns."""
        return _count(area[self.household], *columns)


def _count(*columns: Ints) -> Ints:
    shape = tuple(int(column.max()) + 1 for column in columns)
    return np.bincount(np.ravel_multi_index(columns, shape), minlength=int(np.prod(shape)))


@settings(max_examples=60, deadline=None)
@given(
    households=st.integers(1, 400),
    areas=st.integers(1, 12),
    rate=st.floats(0.01, 1),
    odds=st.sampled_from([1, 4, inf]),
    match_risk=st.booleans(),
    seed=st.integers(0, 1000),
)
def test_what_never_changes(
    households: int, areas: int, rate: float, odds: float, match_risk: bool, seed: int
) -> None:
    town = Town(households, areas, min(3, areas), seed)
    risky = of_households(
        town.household,
        households,
        in_small_cells(
            [(town.area[town.household], areas), (town.religion, 6)], len(town.household), 3
        ),
    )
    out = np.random.default_rng(seed + 1).random(households) < 0.1
    method = RecordSwapping(rate, odds, match_risk=match_risk)
    swapped = town.swap(method, at_risk=risky, left_out=out)
    area = swapped.exchange(town.area)
    moved = swapped.swapped

    assert (swapped.partner[swapped.partner] == np.arange(households)).all()
    # Nobody swapped stays in the area; everybody stays in the larger one.
    assert (area[moved] != town.area[moved]).all()
    assert (swapped.exchange(town.larger) == town.larger).all()
    # Nobody who is left out moves.
    assert not moved[out].any()
    # Partners agree on the profile that they were paired by.
    for profile, numbers in enumerate([town.strict, town.loose], int(match_risk)):
        pairs = swapped.profile == profile
        assert (numbers[pairs] == numbers[swapped.partner[pairs]]).all()
    # Every table of the larger area is as it was, and so is the number of members of every area.
    assert np.array_equal(
        town.table(town.larger, town.religion, town.sex),
        town.table(swapped.exchange(town.larger), town.religion, town.sex),
    )
    assert np.array_equal(
        np.bincount(area[town.household], minlength=areas),
        np.bincount(town.area[town.household], minlength=areas),
    )
    # The rate is met to one pair, or every household had its turn and the rest are accounted for.
    eligible = int((~out).sum())
    assert swapped.moved.sum() <= swapped.wanted.sum() <= rate * eligible + 1e-6
    assert swapped.wanted.sum() > rate * eligible - 2
    short = swapped.wanted > swapped.moved
    told = swapped.moved + swapped.alone + swapped.taken
    assert (told[short] == (swapped.households - swapped.left_out)[short]).all()


def test_tables_of_the_strict_profile_are_kept_by_area() -> None:
    """Partners agree on sex by age: those counts stay in every area."""
    town = Town(2000)
    swapped = RecordSwapping(0.2).apply(town.area, town.larger, [town.strict], town.keys)
    area = swapped.exchange(town.area)
    assert swapped.moved.sum() > 300
    assert np.array_equal(
        town.table(town.area, town.sex, town.age), town.table(area, town.sex, town.age)
    )
    assert not np.array_equal(town.table(town.area, town.religion), town.table(area, town.religion))


def test_the_same_keys_the_same_swap_and_few_changes_few_other_pairs() -> None:
    town = Town(3000)
    first = town.swap(RecordSwapping(0.1))
    again = town.swap(RecordSwapping(0.1))
    assert np.array_equal(first.partner, again.partner)
    # The order of the households does not matter.
    order = np.random.default_rng(3).permutation(town.households)
    other = RecordSwapping(0.1).apply(
        town.area[order], town.larger[order], [town.strict[order], town.loose[order]],
        town.keys[order],
    )  # fmt: skip
    assert np.array_equal(order[other.partner], first.partner[order])
    # Without ten of the households nearly all the others have the partner that they had.
    kept = np.arange(10, town.households)
    fewer = RecordSwapping(0.1).apply(
        town.area[kept], town.larger[kept], [town.strict[kept], town.loose[kept]], town.keys[kept]
    )
    same = kept[fewer.partner] == first.partner[kept]
    assert same.mean() > 0.99


def test_turns_and_partners_are_spread_evenly() -> None:
    """Each of 40 alike households in 4 areas moves in 1 of 4 draws, with any of the 30 others."""
    area = np.repeat(np.arange(4), 10)
    rng = np.random.default_rng(5)
    draws = 4000
    seen = np.zeros((40, 40))
    for _ in range(draws):
        keys = rng.integers(2**64, size=40, dtype=np.uint64)
        nobody = np.zeros(40, int)
        partner = RecordSwapping(0.25, odds=1).apply(area, nobody, [nobody], keys).partner
        seen[np.arange(40), partner] += partner != np.arange(40)
    elsewhere = area[:, None] != area[None, :]
    assert not seen[~elsewhere].any()
    assert seen.sum() == draws * 10
    expected = draws * 10 / (40 * 30)
    # 1,200 pairs of places of mean 33: 5 standard deviations allow for all of them.
    assert np.abs(seen[elsewhere] - expected).max() < 5 * np.sqrt(expected)


def test_odds() -> None:
    """With odds 4 and a tenth at risk, about 4 times as many of them initiate."""
    town = Town(20_000, areas=60)
    risky = np.random.default_rng(2).random(town.households) < 0.1
    even = town.swap(RecordSwapping(0.1, odds=1), at_risk=risky)
    four = town.swap(RecordSwapping(0.1, odds=4), at_risk=risky)
    first = town.swap(RecordSwapping(0.1), at_risk=risky)
    share = [s.at_risk_moved.sum() / risky.sum() for s in (even, four, first)]
    # Half of those who move had a turn (5% of all), half are partners. Turns with odds 4: the
    # share of turns that go to the tenth at risk is 4/13 (a little less once some have gone), so
    # 0.05·(4/13)/0.1 = 0.154 of them, and 0.05 as partners.
    assert share[0] == pytest.approx(0.1, abs=0.015)
    assert share[1] == pytest.approx(0.2, abs=0.02)
    # All turns go to them: 0.05/0.1 initiate, and of the rest 0.05 are partners.
    assert share[2] == pytest.approx(0.5, abs=0.06)


def test_those_at_risk_are_paired_with_each_other() -> None:
    """All are alike: everybody at risk has a partner at risk but for an odd one a larger area."""
    town = Town(20_000, areas=60)
    risky = np.random.default_rng(2).random(town.households) < 0.1
    alike = np.zeros(town.households, int)
    swapped = RecordSwapping(1, only_at_risk=True, match_risk=True).apply(
        town.area, town.larger, [alike], town.keys, at_risk=risky
    )
    assert swapped.swapped[risky].all()
    assert (swapped.swapped & ~risky).sum() <= 3


def test_only_those_at_risk() -> None:
    town = Town(5000)
    risky = np.random.default_rng(2).random(town.households) < 0.02
    swapped = town.swap(RecordSwapping(1, only_at_risk=True), at_risk=risky)
    assert swapped.swapped[risky].all()
    initiators = swapped.swapped & (risky | risky[swapped.partner])
    assert np.array_equal(initiators, swapped.swapped)
    assert swapped.shortfall == 0


def test_why_somebody_has_no_partner() -> None:
    """Areas 0 and 1: profile 7 lives in area 0 only; of profile 8 one lives in 0, two in 1."""
    area = np.array([0, 0, 0, 1, 1])
    profile = np.array([7, 7, 8, 8, 8])
    nobody = np.zeros(5, int)
    keys = np.arange(5, dtype=np.uint64)
    swapped = RecordSwapping(1).apply(area, nobody, [profile], keys)
    assert swapped.wanted.tolist() == [4]
    assert swapped.moved.tolist() == [2]
    assert swapped.alone.tolist() == [2]
    assert swapped.taken.tolist() == [1]
    assert swapped.shortfall == 2
    # With a second profile that all share, those of 7 find partners.
    easier = RecordSwapping(1).apply(area, nobody, [profile, nobody], keys)
    assert easier.shortfall == 0
    assert sorted(easier.profile[easier.swapped].tolist()) in ([0, 0, 1, 1], [1, 1, 1, 1])


@settings(max_examples=150, deadline=None)
@given(st.integers(1, 25), st.integers(1, 4), st.integers(0, 10_000))
def test_the_kernel_is_its_naive_twin(n: int, areas: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    area = rng.integers(0, areas, n)
    profiles = np.stack([rng.integers(0, 5, n), rng.integers(0, 2, n)])
    ring, aim = (rng.integers(2**64, size=n, dtype=np.uint64) for _ in range(2))
    turns = rng.permutation(n)
    wanted = int(rng.integers(0, n // 2 + 1))
    partner, _, reason = kernels.pair(area, profiles, ring, aim, turns, wanted)

    expected: dict[int, int] = {}
    why = dict.fromkeys(range(n), 0)
    for h in turns.tolist():
        if len(expected) == 2 * wanted:
            break
        if h in expected:
            continue
        for k in range(2):
            alike = [o for o in range(n) if profiles[k, o] == profiles[k, h] and area[o] != area[h]]
            free = sorted((int(ring[o]), o) for o in alike if o not in expected)
            if free:
                _, found = min((ring < int(aim[h]), (ring, o)) for ring, o in free)[1]
                expected[h], expected[found] = found, h
                why[found] = 0
                break
        else:
            somebody = any(
                profiles[k, o] == profiles[k, h] and area[o] != area[h]
                for k in range(2)
                for o in range(n)
            )
            why[h] = kernels.TAKEN if somebody else kernels.ALONE
    assert {h: int(o) for h, o in enumerate(partner) if o >= 0} == expected
    assert reason.tolist() == [why[h] for h in range(n)]


def test_composition_is_the_members_by_category() -> None:
    household = np.array([0, 0, 1, 1, 2, 2, 3])
    sex = np.array([0, 1, 1, 0, 0, 0, 0])
    numbers = composition(household, 4, [(sex, 2)])
    assert numbers[0] == numbers[1]
    assert len(set(numbers.tolist())) == 3
    size = composition(household, 4)
    assert size[0] == size[1] == size[2] != size[3]


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 1000), st.sampled_from([3, 70, 400]))
def test_composition_is_exact(seed: int, categories: int) -> None:
    """Equal numbers if and only if the sorted lists of the members' categories are equal."""
    rng = np.random.default_rng(seed)
    household = np.repeat(np.arange(60), rng.integers(1, 4, 60))
    codes = rng.integers(0, categories, len(household)) // rng.integers(1, 30)
    numbers = composition(household, 60, [(codes, categories)])
    lists = [tuple(sorted(codes[household == h].tolist())) for h in range(60)]
    assert len({(n, c) for n, c in zip(numbers.tolist(), lists, strict=True)}) == len(set(lists))
    assert len(set(numbers.tolist())) == len(set(lists))


def test_combinations_beyond_64_bits_stay_exact() -> None:
    rng = np.random.default_rng(1)
    columns = [rng.integers(0, 50_000, 300) for _ in range(9)]
    columns = [np.concatenate([c, c]) for c in columns]  # every combination twice
    numbers, size = combined([(c, 50_000) for c in columns], 600)
    assert np.array_equal(numbers[:300], numbers[300:])
    assert len(np.unique(numbers)) == 300
    assert numbers.max() < size


def test_combinations_that_64_bits_would_take_for_one_are_told_apart() -> None:
    """The first column counts 2^64 each: in 64 bits it would be lost, and the two the same."""
    same = np.zeros(2, np.int64)
    numbers, _ = combined([(np.array([0, 1]), 2**32), (same, 2**32), (same, 2**32)], 2)
    assert numbers[0] != numbers[1]


def test_small_cells_are_below_the_limit() -> None:
    cells = np.array([0, 1, 1, 2, 2, 2])
    assert in_small_cells([(cells, 3)], 6, 3).tolist() == [True, True, True, False, False, False]
    assert in_small_cells([(cells, 3)], 6, 2).tolist() == [True] + [False] * 5


def test_households_are_numbered_by_their_ids() -> None:
    household, ids = numbered(np.array([30, 30, 10, 30, 20], np.uint64))
    assert household.tolist() == [2, 2, 0, 2, 1]
    assert ids.tolist() == [10, 20, 30]
    assert len(numbered(np.empty(0, np.uint64))[0]) == 0


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"rate": 0}, "rate must be above 0 and at most 1. Got 0."),
        ({"rate": 1.1}, "rate must be above 0 and at most 1. Got 1.1."),
        ({"rate": 0.1, "odds": 0.5}, "odds must be at least 1. Got 0.5."),
        ({"rate": 0.1, "odds": float("nan")}, "odds must be at least 1. Got nan."),
    ],
)
def test_bad_parameters(options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ParameterError) as caught:
        RecordSwapping(**options)
    assert str(caught.value) == sentence


def test_bad_input_is_refused() -> None:
    area, keys = np.array([0, 1]), np.array([1, 2], np.uint64)
    method = RecordSwapping(0.5)
    with pytest.raises(ParameterError, match="profiles must have at least one"):
        method.apply(area, area, [], keys)
    with pytest.raises(ParameterError, match="larger must be a list of 2 integers"):
        method.apply(area, area[:1], [area], keys)
    with pytest.raises(ParameterError, match="random numbers of type uint64"):
        method.apply(area, area, [area], area)
    with pytest.raises(ParameterError, match="a list of 2 values that are true or false"):
        method.apply(area, area, [area], keys, at_risk=[1, 0])
    with pytest.raises(ParameterError, match="only_at_risk needs at_risk"):
        RecordSwapping(0.5, only_at_risk=True).apply(area, area, [area], keys)
    with pytest.raises(ParameterError, match="list of integers"):
        method.apply(area * 0.5, area, [area], keys)
