"""How far a base is off: against counts of our own, of a handful of people."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.protect import KeyMix, ProtectedBase
from discreet.protect.records.protected_base import Areas
from discreet.protect.records.protected_base import errors as module
from discreet.protect.records.protected_base.errors import Side, chosen_tables, compare_tables
from discreet.protect.records.protected_base.ranges import WIDEST
from discreet.protect.records.protected_base.targets import Noise

SIZES = [2, 3]
NOISES = [Noise(None, KeyMix(b"a secret of at least 16 bytes", "n"))] * 3


def areas() -> Areas:
    """Four areas in two."""
    return Areas.nested([np.arange(4), np.arange(4) // 2], 1)


def sides() -> tuple[Side, Side]:
    """Ten people; in the base, one of the last area is in the area before."""
    area = np.array([0, 0, 0, 1, 1, 2, 2, 3, 3, 3])
    codes = [np.array([0, 0, 0, 1, 1, 0, 1, 1, 1, 1]), np.array([0, 1, 2, 0, 1, 2, 0, 1, 1, 1])]
    moved = area.copy()
    moved[9] = 2
    return Side(codes, area), Side(codes, moved)


def test_errors_by_level_and_order() -> None:
    true, base = sides()
    keys = np.ones(10, np.uint32)
    tables = [(0,), (0, 1)]
    found = compare_tables(true, base, keys, SIZES, areas(), tables, NOISES)
    # Smallest areas, first variable: cells with people are (0,0):3, (1,1):2, (2,0):1, (2,1):1 and
    # (3,1):3. The move makes (2,1) one more and (3,1) one less: 2 in 5 cells.
    one = found.errors(0, 1).as_dict()
    assert one["mean_count"] == 2
    assert one["mean_absolute"] == pytest.approx(0.4)
    assert one["small_exact"] == pytest.approx(0.6)
    # Both variables: nobody of the third area is (1,1), so that an empty cell is filled; of the
    # eight cells with people, (3,1,1) has one less. Of 24 cells 16 are empty.
    two = found.errors(0, 2).as_dict()
    assert two["mean_absolute"] == pytest.approx(1 / 8, abs=1e-3)
    assert two["empty_filled"] == pytest.approx(1 / 16, abs=1e-4)
    # The move was within a larger area.
    for level in (1, 2):
        assert found.errors(level, 2).absolute == 0


@pytest.mark.parametrize(
    ("room", "people"), [(24, [10, 10, 10]), (12, [5, 10, 10]), (6, [3, 5, 10])]
)
def test_so_many_areas_are_compared_as_there_is_room_for(
    monkeypatch: pytest.MonkeyPatch, room: int, people: list[int]
) -> None:
    # A table of six cells: room for four, two or one area of each level. The first four smallest
    # areas have 3, 2, 2 and 3 people, larger ones 5 and 5. Never more, however many smallest areas
    # a larger one has: their cells would fill the memory.
    monkeypatch.setattr(module, "MOST_CELLS", room)
    true, base = sides()
    found = compare_tables(true, base, np.ones(10, np.uint32), SIZES, areas(), [(0, 1)], NOISES)
    assert [found.errors(level, 2).people for level in range(3)] == people


def test_tables_too_large_to_count_are_not_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    # Of 2, 3 and 4 categories: the pairs have 6, 8 and 12 cells, and all three 24.
    monkeypatch.setattr(module, "MOST_CELLS", 8)
    found = chosen_tables([2, 3, 4], (3, 3, 3))
    assert found == [(0,), (1,), (2,), (0, 1), (0, 2)]


def test_the_share_that_ranges_hold() -> None:
    # Without noise a range is that of the distances themselves, and never less than one beside the
    # figure. All misses here are of one, so that all are held.
    true, base = sides()
    found = compare_tables(true, base, np.ones(10, np.uint32), SIZES, areas(), [(0,)], NOISES)
    assert found.held(0, NOISES[0]) == 1
    # Everybody of the last area moved: (2,1) is 4 and was 1, and the only one that is off by more.
    far = Side(true.codes, np.where(true.area == 3, 2, true.area))
    found = compare_tables(true, far, np.ones(10, np.uint32), SIZES, areas(), [(0,)], NOISES)
    found.distances[:] = 0
    found.distances[..., found.distances.shape[-1] // 2] = 100  # figures that are said to be true
    assert found.held(0, NOISES[0]) == pytest.approx(3 / 4)  # figures 3, 2, 1 and 4
    # By class, of figures 0 to 4. Of four that are 0 three were so; (3,1) had three people.
    by_class = found.held_by_class(0, 1, NOISES[0])
    assert by_class[:5] == [(3, 4), (1, 1), (1, 1), (1, 1), (0, 1)]
    assert sum(number for _, number in by_class) == 8


def test_noise_is_drawn_for_ranges_alone() -> None:
    # Else the base would have followed it, and how close it is to the truth could not be told.
    noise = ProtectedBase().noise(1, b"a secret of at least 16 bytes")
    true, base = sides()
    keys = np.arange(10, dtype=np.uint32)
    found = compare_tables(true, base, keys, SIZES, areas(), [(0,)], [noise] * 3).distances
    counts, sums = np.zeros((2, 4, 2), np.int32)
    np.add.at(counts, (true.area, true.codes[0]), 1)
    np.add.at(sums, (true.area, true.codes[0]), keys)
    figures = counts.copy()
    figures[2, 1], figures[3, 1] = 2, 2  # one of the last area is in the area before
    for own, same in ((noise.beside(), True), (noise, False)):
        apart = (figures - own.figures(counts, sums.view(np.uint32))).ravel() + WIDEST
        expected = np.bincount(apart, minlength=2 * WIDEST + 1)
        assert (found[0, 0].sum(axis=0) == expected).all() == same


def test_what_was_found_in_some_tables_and_in_others() -> None:
    # Of tables of one variable and of both, in turn; only the latter have a second order.
    true, base = sides()
    keys = np.ones(10, np.uint32)
    one, two, both = (
        compare_tables(true, base, keys, SIZES, areas(), tables, NOISES)
        for tables in ([(0,)], [(1,), (0, 1)], [(0,), (1,), (0, 1)])
    )
    for added in (one + two, two + one):
        assert (added.sums == both.sums).all()
        assert (added.distances == both.distances).all()
        assert (added.misses == both.misses).all()
