"""A protected base: what it keeps, what it never does, and that chance is only the secret's."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from numpy.typing import NDArray

from discreet.errors import ParameterError
from discreet.protect import KeyMix, ProtectedBase
from discreet.protect.records.protected_base import (
    Areas,
    Column,
    Design,
    Fitted,
    Records,
    Search,
    steps,
)
from discreet.protect.records.protected_base.areas import LEAST_PEOPLE
from discreet.protect.records.protected_base.donors import Donors
from discreet.protect.records.protected_base.fit import Fit, Unit
from discreet.protect.records.protected_base.method import part
from discreet.protect.records.protected_base.search import weigh, worth
from discreet.protect.records.protected_base.triples import MOST_CELLS, Triples
from discreet.protect.records.protected_base.uses import Off, Uses

SECRET = b"a secret of at least 16 bytes"
SIZES = (2, 4, 3, 5)
SHORT = Search(alone=4, together=(2, 2), fitting=8, polishing=4)


def areas() -> Areas:
    """Twelve areas in four, in two."""
    return Areas.nested([np.arange(12), np.arange(12) // 3, np.arange(12) // 6], 2)


def people(number: int = 6_000, seed: int = 1) -> Records:
    """People whose variables hang together, and differ between areas; nobody of 0 is 3."""
    rng = np.random.default_rng(seed)
    area = rng.integers(0, 12, number)
    first = rng.integers(0, 2, number)
    second = np.minimum(rng.poisson(0.5 + first + area / 12), 3)
    third = np.where(first == 0, rng.integers(0, 2, number), rng.integers(0, 3, number))
    fourth = np.minimum(rng.poisson(third + (area == 3)), 4)
    codes = [x.astype(np.uint8) for x in (first, second, third, fourth)]
    words = KeyMix(SECRET, "records").words(np.arange(number).astype(np.uint64))
    return Records(codes, area, words)


def design() -> Design:
    return Design.of([Column(size) for size in SIZES])


@pytest.fixture(scope="module")
def fitted() -> tuple[Records, Fitted]:
    records = people()
    return records, ProtectedBase(search=SHORT).apply(records, areas(), design(), SECRET)


def counts(
    codes: list[NDArray[np.uint8]], area: NDArray[np.int64], table: tuple[int, ...], level: int
) -> NDArray[np.int64]:
    of = areas().of[level]
    found = np.zeros((int(of.max()) + 1, *(SIZES[i] for i in table)), np.int64)
    np.add.at(found, (of[area], *(codes[i] for i in table)), 1)
    return found


def of_base(records: Records, fitted: Fitted) -> list[NDArray[np.uint8]]:
    return [column[fitted.donor] for column in records.codes]


def test_without_noise_and_with_all_donors_nothing_is_off() -> None:
    # Twelve people in each of two areas; the records themselves are a base without a residual.
    rng = np.random.default_rng(4)
    codes = [rng.integers(0, size, 24).astype(np.uint8) for size in (2, 3, 2)]
    words = KeyMix(SECRET, "records").words(np.arange(24).astype(np.uint64))
    records = Records(codes, np.repeat([0, 1], 12), words)
    search = Search(lift=0, hot=400, cold=1, fitting=300, polishing=100, homing=True, plain=True)
    method = ProtectedBase(1.0, search=search)
    tables = Design.of([Column(size) for size in (2, 3, 2)])
    found = method.apply(records, Areas.nested([np.arange(2), np.zeros(2)], 1), tables, SECRET)
    assert np.bincount(found.area).tolist() == [12, 12]
    assert not found.residuals.any()


def test_figures_come_close(fitted: tuple[Records, Fitted]) -> None:
    records, found = fitted
    base = of_base(records, found)
    for table in combinations(range(4), 2):
        for level in range(4):
            off = counts(base, found.area, table, level) - counts(
                list(records.codes), records.area, table, level
            )
            # The noise alone, of variance 3.5 or 4.5, is off by 1.5 to 1.7 on average.
            assert np.abs(off).mean() < 4, (table, level)


def test_all_tables_add_up(fitted: tuple[Records, Fitted]) -> None:
    records, found = fitted
    base = of_base(records, found)
    whole = counts(base, found.area, (0, 1, 2, 3), 0)
    for table in combinations(range(4), 2):
        left = tuple(i + 1 for i in range(4) if i not in table)
        assert (whole.sum(axis=left) == counts(base, found.area, table, 0)).all()
        inner = counts(base, found.area, table, 0)
        for level in (1, 2, 3):
            outer = np.zeros_like(counts(base, found.area, table, level))
            np.add.at(outer, areas().of[level], inner)
            assert (outer == counts(base, found.area, table, level)).all()


def test_what_nobody_of_the_larger_area_is_nobody_is(fitted: tuple[Records, Fitted]) -> None:
    records, found = fitted
    everything = (0, 1, 2, 3)
    true = counts(list(records.codes), records.area, everything, 2)
    base = counts(of_base(records, found), found.area, everything, 2)
    assert ((base > 0) <= (true > 0)).all()
    assert (areas().of[2][found.area] == areas().of[2][records.area[found.donor]]).all()


def test_donors_are_a_share_of_the_records(fitted: tuple[Records, Fitted]) -> None:
    # Rounded up in each of two larger areas.
    records, found = fitted
    assert len(np.unique(found.donor)) <= ProtectedBase().share * len(records.area) + 2


def test_donors_are_used_alike(fitted: tuple[Records, Fitted]) -> None:
    # Drawn at random, they would be used twice with a variance of as much.
    records, found = fitted
    free = ProtectedBase(search=replace(SHORT, even=0)).apply(records, areas(), design(), SECRET)
    spread = [np.bincount(one.donor)[np.unique(one.donor)].var() for one in (found, free)]
    assert spread[0] < spread[1]
    assert len(np.unique(found.donor)) > len(np.unique(free.donor))


def test_a_unit_takes_its_share_of_what_is_off() -> None:
    # Of 7 among three units 2.33, of 1 a third: rounded.
    off = np.array([7, -7, 1, 0], np.int32)
    assert part(off, 3).tolist() == [2, -2, 0, 0]
    assert part(off, 1).tolist() == off.tolist()


def test_neither_order_nor_threads_matter(fitted: tuple[Records, Fitted]) -> None:
    records, found = fitted
    order = np.random.default_rng(9).permutation(len(records.area))
    shuffled = Records([c[order] for c in records.codes], records.area[order], records.words[order])
    for given, back, threads in ((records, np.arange(len(order)), 1), (shuffled, order, 3)):
        method = ProtectedBase(search=SHORT)
        again = method.apply(given, areas(), design(), SECRET, threads=threads)
        assert (back[again.donor] == found.donor).all()
        assert (again.area == found.area).all()


def test_another_secret_is_another_base(fitted: tuple[Records, Fitted]) -> None:
    records, found = fitted
    other = ProtectedBase(search=SHORT).apply(records, areas(), design(), SECRET[::-1])
    assert len(other.donor) != len(found.donor) or (other.donor != found.donor).mean() > 0.5


def a_fit(members: int, top: int = 0) -> tuple[Fit, NDArray[np.int32]]:
    """A unit of six areas with targets of chance, and the codes of its donors.

    Donors are persons, or households of one to so many members, who have much in common.
    """
    rng = np.random.default_rng(6)
    tables, unit = design(), Unit(areas(), np.array([top]))
    household = np.repeat(np.arange(80), rng.integers(1, members + 1, 80))
    homes = np.stack([rng.integers(0, s, 80) for s in SIZES], 1).astype(np.int32)
    own = np.stack([rng.integers(0, s, len(household)) for s in SIZES], 1).astype(np.int32)
    alike = rng.random(own.shape) < 0.7
    donors = Donors.households(np.arange(len(household)), household)
    codes = np.where(alike, homes[household], own)[donors.rows]
    sizes = np.sort(donors.sizes[rng.integers(0, 80, (6, 20))], axis=1).ravel()
    targets = rng.integers(0, 6, (int(unit.first[3]), tables.size)).astype(np.int32)
    triples = rng.integers(0, 9, int(Triples(tables).offsets[-1])).astype(np.int32)
    levels = np.split(targets, unit.first[1:3])
    uses = Uses.alike(donors, sizes, levels[2][0], triples)
    home = rng.integers(0, 6, 80).astype(np.int32)
    state = np.array([5], np.uint64)
    fit = Fit(unit, tables, uses, np.arange(0, 121, 20), sizes, home, levels, state)
    fit.place()
    return fit, codes


def test_residuals_are_kept_up_to_date() -> None:
    fit, codes = a_fit(1, top=1)
    kept, first = fit.residuals(codes), fit.slots.copy()
    fit.search(SHORT, SHORT.temperatures, codes, kept)
    assert (fit.slots != first).any()
    assert (kept == fit.residuals(codes)).all()


@pytest.mark.parametrize("members", [1, 4])
def test_who_is_at_home_stays_there_and_nobody_comes(members: int) -> None:
    fit, codes = a_fit(members)
    area = np.repeat(np.arange(6), 20)
    first, was = fit.slots.copy(), fit.home[fit.slots] == area
    fit.search(SHORT, SHORT.temperatures, codes, fit.residuals(codes))
    assert (fit.slots != first).sum() > 20
    assert was.any()
    assert (fit.slots[was] == first[was]).all()
    assert ((fit.home[fit.slots] == area) == was).all()


def test_in_few_areas_one_comes_home_for_each_that_leaves(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("discreet.protect.records.protected_base.fit.FEW_AREAS", 7)
    fit, codes = a_fit(1)
    area = np.repeat(np.arange(6), 20)
    first, was = fit.slots.copy(), fit.home[fit.slots] == area
    off = fit.residuals(codes)
    fit.search(SHORT, SHORT.temperatures, codes, off)
    now = fit.home[fit.slots] == area
    assert (fit.slots[was] != first[was]).any()
    assert np.bincount(area, now).tolist() == np.bincount(area, was).tolist()
    assert (off == fit.residuals(codes)).all()


def test_targets_are_kept_small() -> None:
    # A cell of the larger area has more people than two bytes hold. Of smallest areas all cells but
    # the first hold no more than a byte, and are most of what is kept while other units have their
    # turn.
    tables, unit = design(), Unit(areas(), np.array([0]))
    levels = [np.full((n, tables.size), 255, np.int32) for n in (6, 2)]
    levels[0][3, 0] = 256
    levels.append(np.full((1, tables.size), 2**16, np.int32))
    ones, wide = np.ones(6, np.int64), np.full(9, 300, np.int32)
    uses = Uses.alike(Donors.persons(np.arange(5)), ones, levels[2][0], wide)
    home, state = np.zeros(5, np.int32), np.array([5], np.uint64)
    fit = Fit(unit, tables, uses, np.arange(7), ones, home, levels, state)
    assert [cells.small.shape[1] for cells in fit.kept] == [tables.size - 1, tables.size, 0]
    assert [cells.large.itemsize for cells in fit.kept] == [2, 1, 4]
    assert uses.triples.itemsize == 2
    assert (fit.targets == np.concatenate(levels)).all()
    uses.settle()
    assert uses.cells.nbytes == uses.triples.nbytes == 0


@pytest.mark.parametrize("members", [1, 4])
def test_exchanges_without_heat_never_lose(members: int) -> None:
    # By the plain sum of weighted squares, which the search itself never computes.
    fit, codes = a_fit(members)
    search, donors = Search(lift=0, hot=1e-9, cold=1e-9), fit.uses.donors
    weights = np.array([weigh(fit.design, level) for level in search.levels(2)])
    level = np.searchsorted(fit.unit.first[1:4], np.arange(len(fit.targets)), side="right")
    off, uses = fit.residuals(codes), np.bincount(fit.slots, minlength=len(donors))
    forbidden = fit.kinds == 1
    costs = []
    for _ in range(5):
        near = int((weights[level] * off.astype(np.int64) ** 2).sum())
        there = (off + fit.targets)[: len(forbidden)][forbidden].sum()
        costs.append(near + 2 * int(search.tilts[1]) * int(there))
        fit.search(search, search.temperatures[:1], codes, off)
        assert (donors.sizes[fit.slots] == fit.sizes).all()
        # Every donor stays in use as often as it was: the larger area keeps its figures.
        assert (np.bincount(fit.slots, minlength=len(donors)) == uses).all()
    assert costs == sorted(costs, reverse=True)
    assert costs[-1] < costs[0]


@pytest.mark.parametrize("members", [1, 4])
def test_uses_are_moved_where_nothing_is_lost(members: int) -> None:
    # By the plain sum of weighted squares again: of the unit, of an area between it and the whole,
    # which counts three times, of the whole, and of uses.
    fit, codes = a_fit(members)
    rng, uses, tables = np.random.default_rng(7), fit.uses, fit.design
    triples, search = Triples(tables), Search(top=(2400, 120, 24), even=0.03)
    one, more = search.large(tables)
    assert one.tolist() == [514, 120, 24]  # 2,400 · 3 / 14: a column is in three pairs
    even = round(0.03 * int(worth(tables, one, len(triples.columns))[0]))
    rest = Off(
        rng.integers(-9, 9, (2, tables.size)).astype(np.int32),
        rng.integers(-9, 9, int(triples.offsets[-1])).astype(np.int32),
    )
    top, around = (weigh(tables, level).astype(np.int64) for level in (one, more))
    costs, sizes = [], np.bincount(uses.donors.sizes, uses.times)
    for _ in range(4):
        own, wide = uses.tally(tables, triples, codes)
        cost = (top * (own - uses.cells) ** 2).sum()
        cost += (around * (3 * rest.cells[0] ** 2 + rest.cells[1] ** 2)).sum()
        cost += (search.top[2] * (wide - uses.triples.astype(np.int64)) ** 2).sum()
        cost += (search.around[2] * rest.triples.astype(np.int64) ** 2).sum()
        costs.append(int(cost + even * (uses.times**2).sum()))
        change = uses.balance(search, 1, tables, triples, codes, fit.state, rest)
        rest = Off(rest.cells + change.cells, rest.triples + change.triples)
        assert (uses.times >= 0).all()
        assert (np.bincount(uses.donors.sizes, uses.times) == sizes).all()
    assert costs == sorted(costs, reverse=True)
    assert costs[-1] < costs[0]


def test_donors_needed_are_used_alike_at_first() -> None:
    # Seven uses of three donors of one person, and two of two households of two.
    donors = Donors.households(np.arange(7), np.array([0, 1, 2, 3, 3, 4, 4]))
    none = np.zeros(1, np.int32)
    uses = Uses.alike(donors, np.array([1] * 7 + [2] * 2), none, none)
    assert uses.times.tolist() == [3, 2, 2, 1, 1]
    assert uses.copies.tolist() == [0, 0, 0, 1, 1, 2, 2, 3, 4]


def test_what_two_records_share() -> None:
    # The slow twin looks at every table. Records that differ in column 0 share the three tables of
    # one other column, the three of two and the one of three.
    tables, triples = design(), len(Triples(design()).columns)
    weights = (100, 10, 1)
    found = worth(tables, weights, triples)
    every = [t for order in (1, 2, 3) for t in combinations(range(4), order)]
    assert found[1] == sum(weights[len(t) - 1] for t in every if 0 not in t) == 331
    assert found[0] == sum(weights[len(t) - 1] for t in every)
    assert found[4] == 0
    # Of a column with a coarser one, and of one with very many categories, one table each.
    columns = [Column(size) for size in SIZES] + [Column(31), Column(9, 1, np.zeros(9, np.uint32))]
    more = Design.of(columns)
    assert worth(more, weights, triples).tolist() == found.tolist() == [464, 331, 210, 100, 0, 100]
    codes = np.array([[1, 2, 0, 4, 30, 8]], np.int32)
    assert more.bytes_of(codes).tolist() == codes.tolist()


def in_households(seed: int = 2) -> Records:
    """People of `people` in households of up to five, each in one area."""
    records, rng = people(seed=seed), np.random.default_rng(seed)
    order = np.argsort(records.area, kind="stable")
    area = records.area[order]
    cut = (rng.random(len(order)) < 0.45) | (np.diff(area, prepend=-1) > 0)
    number = np.cumsum(cut) - 1
    place = np.arange(len(order)) - np.flatnonzero(cut)[number]
    household = np.unique(number * 10_000 + place // 5, return_inverse=True)[1]
    found = np.empty(len(order), np.int64)
    found[order] = household
    return Records(records.codes, records.area, records.words, found)


def test_households_are_searched_for_longer_and_lift_large_cells_more() -> None:
    search = Search().of_households()
    assert (search.lift, search.fitting, search.polishing) == (12.0, 80, 40)
    assert (search.temperatures[0], search.temperatures[-1]) == pytest.approx((2000, 20))

    def bias(records: Records, lift: float) -> float:
        method = ProtectedBase(search=replace(SHORT, lift_households=lift))
        found = method.apply(records, areas(), design(), SECRET)
        true, base = (
            counts(codes, area, (1, 3), 0)
            for codes, area in (
                (list(records.codes), records.area),
                (of_base(records, found), found.area),
            )
        )
        return float((base - true)[true > 5].mean())

    # Persons as donors know nothing of it; of households large cells have more people by it.
    assert bias(in_households(), 40.0) > bias(in_households(), 0.0)
    assert bias(people(), 40.0) == bias(people(), 0.0)


def test_households_are_copied_whole() -> None:
    records = in_households()
    found = ProtectedBase(search=SHORT).apply(records, areas(), design(), SECRET)
    assert records.household is not None
    assert found.household is not None
    true = np.bincount(records.household)
    for home in range(int(found.household.max()) + 1):
        members = found.donor[found.household == home]
        (copied,) = np.unique(records.household[members])
        assert len(members) == len(np.unique(members)) == true[copied]
        assert len(np.unique(found.area[found.household == home])) == 1
    # As many people as without households, for the targets are the same.
    alone = Records(records.codes, records.area, records.words)
    persons = ProtectedBase(search=SHORT).apply(alone, areas(), design(), SECRET)
    assert (np.bincount(found.area) == np.bincount(persons.area)).all()
    sizes = np.bincount(np.bincount(found.household), minlength=6)
    assert np.abs(sizes - np.bincount(true, minlength=6)).max() < 60  # of some 2,700
    base = of_base(records, found)
    for table in combinations(range(4), 2):
        off = counts(base, found.area, table, 0) - counts(
            list(records.codes), records.area, table, 0
        )
        assert np.abs(off).mean() < 6, table


def test_households_depend_on_no_order() -> None:
    records = in_households()
    order = np.random.default_rng(9).permutation(len(records.area))
    assert records.household is not None
    renamed = np.random.default_rng(8).permutation(int(records.household.max()) + 1)
    shuffled = Records(
        [c[order] for c in records.codes],
        records.area[order],
        records.words[order],
        renamed[records.household[order]],
    )
    method = ProtectedBase(search=SHORT)
    found = method.apply(records, areas(), design(), SECRET, threads=1)
    again = method.apply(shuffled, areas(), design(), SECRET, threads=3)
    assert (order[again.donor] == found.donor).all()
    assert (again.area == found.area).all()


@pytest.mark.parametrize(
    ("numbers", "people", "held", "expected"),
    [
        # One more, and one household of two must grow: 2 + 2 + 3 = 7.
        ([0, 0, 3, 0], 7, [0, 0, 1, 1], [0, 0, 2, 1]),
        # Five people without donors of size 2: households of 1 and 3 alone.
        ([0, 0, 9, 0], 5, [0, 1, 0, 1], [0, 2, 0, 1]),
        # Nothing of odd size: one person is left out.
        ([0, 0, 2, 0], 5, [0, 0, 1, 0], [0, 0, 2, 0]),
        ([0, 0, 0], 0, [0, 1, 1], [0, 0, 0]),
    ],
)
def test_households_for_a_number_of_people(
    numbers: list[int], people: int, held: list[int], expected: list[int]
) -> None:
    found = np.array(numbers, np.int64)
    steps.house(found, people, np.array(held, bool), np.array([3], np.uint64))
    assert found.tolist() == expected


def test_households_keep_the_number_of_people() -> None:
    rng = np.random.default_rng(5)
    for _ in range(300):
        numbers = rng.integers(0, 9, 7) * (np.arange(7) > 0)
        held = np.array([False, True, *(rng.random(5) < 0.6)])
        people = int(rng.integers(0, 150))
        steps.house(numbers, people, held, rng.integers(0, 2**63, 1).astype(np.uint64))
        assert (numbers >= 0).all()
        assert not numbers[~held].any()
        assert numbers @ np.arange(7) == people


def test_tables_of_three_columns() -> None:
    # The slow twin counts each table by itself, and adds keys modulo 2^32.
    rng = np.random.default_rng(8)
    codes = np.stack([rng.integers(0, s, 70) for s in SIZES], 1).astype(np.int32)
    keys = rng.integers(0, 2**32, 70, np.uint32)
    triples = Triples(design())
    assert triples.columns.tolist() == [list(t) for t in combinations(range(4), 3)]
    counts, sums = [], []
    for table in combinations(range(4), 3):
        count = np.zeros([SIZES[i] for i in table], np.int64)
        total = np.zeros_like(count)
        np.add.at(count, tuple(codes[:, i] for i in table), 1)
        np.add.at(total, tuple(codes[:, i] for i in table), keys.astype(np.int64))
        counts.append(count.ravel())
        sums.append(total.ravel() % 2**32)
    assert (triples.tally(codes) == np.concatenate(counts)).all()
    assert (triples.added(codes, keys) == np.concatenate(sums)).all()


def test_tables_of_three_columns_as_far_as_there_is_room() -> None:
    # Six columns of 30 make 20 tables of 27,000 cells, of which 19 are below 2^19 = 524,288.
    # A column of more than 30, and one that has a coarser one, are in none.
    columns = [Column(30)] * 6 + [Column(31), Column(30, 0, np.zeros(30, np.uint32))]
    triples = Triples(Design.of(columns, [(0, 1, 2)]))
    assert triples.columns.max() == 5
    assert len(triples.columns) == 19
    assert triples.offsets[-1] <= MOST_CELLS
    assert [0, 1, 2] not in triples.columns.tolist()  # fitted in every area already


def test_small_areas_share_donors() -> None:
    of = Areas.nested([np.arange(5), np.arange(5), np.array([0, 0, 0, 1, 1])], 1)
    least = LEAST_PEOPLE
    units = of.units(np.array([least, least - 1, least, least - 1, 5]))
    # The second joins the first; the last two have only each other.
    assert [unit.tolist() for unit in units] == [[0, 1], [2], [3, 4]]


@pytest.mark.parametrize(
    ("people", "small"),
    [
        ([250, 250, 1_999], [1]),  # one smallest area, all of whose copies are at home
        ([250, 249, 2_000], [0]),
        ([250, 250, 2_000], []),
        ([1_999, 0, 0], [0]),
        ([2_000, 0, 0], []),
    ],
)
def test_units_of_few_people(people: list[int], small: list[int]) -> None:
    of = Areas.nested([np.arange(3), np.array([0, 0, 1]), np.array([0, 0, 1])], 1)
    assert [unit.tolist() for unit in of.too_small(np.array(people))] == [[one] for one in small]


def test_without_areas_people_must_be_as_many_as_in_two() -> None:
    whole = Areas.nested((), 0)
    assert len(whole.too_small(np.array([499]))) == 1
    assert not whole.too_small(np.array([500]))


@pytest.mark.parametrize("share", [0, -0.1, 0.81, 1, 1.5])
def test_share(share: float) -> None:
    # With all records as donors the base of a larger area is the records.
    with pytest.raises(ParameterError, match="share"):
        ProtectedBase(share=share)
    assert ProtectedBase(share=0.8).share == 0.8


@pytest.mark.parametrize("name", ["variance", "variance_smallest"])
@pytest.mark.parametrize("value", [-2, 0, 0.99])
def test_noise_has_a_floor(name: str, value: float) -> None:
    with pytest.raises(ParameterError, match=rf"^{name} must be a number from 1 to .* Got {value}"):
        ProtectedBase(**{name: value})
    ProtectedBase(**{name: 1})


@pytest.mark.parametrize("bound", [-1, 0, 1])
def test_a_bound_at_which_there_is_such_noise(bound: int) -> None:
    # At most 1 has a variance of at most 2/3, and 2 one of at most (1 + 4) · 2/5 = 2.
    with pytest.raises(ParameterError, match="bound must be an integer of at least 2"):
        ProtectedBase(bound=bound)
    ProtectedBase(bound=2, variance=2, variance_smallest=2)
