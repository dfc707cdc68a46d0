"""Targets of a protected base: steps of one that end, and figures that fit together."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from numpy.typing import NDArray

from discreet.protect import KeyMix
from discreet.protect.lookup import max_entropy
from discreet.protect.records.protected_base import Column, Design
from discreet.protect.records.protected_base.steps import apportion, transport
from discreet.protect.records.protected_base.targets import Maker, Noise, Targets, likeliest_total

SECRET = b"a secret of at least 16 bytes"


def state(word: int = 1) -> NDArray[np.uint64]:
    return np.array([word], np.uint64)


def test_margins_that_no_table_has() -> None:
    # Why tables are not reconciled one by one: these three margins agree with each other, yet the
    # nearest table of counts misses them by 3 in all.
    ab, ac, bc = ([1, 0, 0, 1], [0, 1, 1, 0], [1, 0, 0, 1])
    misses = []
    for cells in product(range(3), repeat=8):
        table = np.reshape(cells, (2, 2, 2))
        found = [table.sum(axis=2), table.sum(axis=1), table.sum(axis=0)]
        pairs = zip(found, (ab, ac, bc), strict=True)
        misses.append(sum(np.abs(f.ravel() - m).sum() for f, m in pairs))
    assert min(misses) == 3


@pytest.mark.parametrize("word", range(20))
def test_apportion(word: int) -> None:
    figures = np.array([5, 3, 0])
    apportion(figures, 7, state(word))
    assert figures.tolist() in ([4, 3, 0], [5, 2, 0])  # one step, on a populated figure


def test_apportion_fills_only_where_nothing_is() -> None:
    figures = np.array([0, 2, 0])
    apportion(figures, 9, state())
    assert figures.tolist() == [0, 9, 0]
    figures = np.zeros(3, np.int64)
    apportion(figures, 4, state())
    assert figures.sum() == 4


@pytest.mark.parametrize("word", range(20))
def test_transport(word: int) -> None:
    figures = np.array([[3, 0], [1, 2]])
    transport(figures, np.array([2, 4]), np.array([3, 3]), state(word))
    assert figures.sum(axis=1).tolist() == [2, 4]
    assert figures.sum(axis=0).tolist() == [3, 3]
    assert (figures >= 0).all()


@pytest.mark.parametrize("word", range(200))
def test_transport_always_ends(word: int) -> None:
    rng = np.random.default_rng(word)
    n, m = rng.integers(1, 7, 2)
    figures = rng.poisson(rng.choice([0.3, 3]), (n, m))
    wanted = rng.poisson(rng.choice([0.3, 3]), (n, m))  # a table with the sums that are asked for
    rows, columns = wanted.sum(axis=1), wanted.sum(axis=0)
    transport(figures, rows.copy(), columns.copy(), state(word))
    assert (figures.sum(axis=1) == rows).all()
    assert (figures.sum(axis=0) == columns).all()
    assert (figures >= 0).all()


def test_nobody_stays_nobody_and_the_same_people_have_the_same_figure() -> None:
    noise = Noise(max_entropy(5, 3), KeyMix(SECRET, "n"))
    found = noise.figures(np.array([[0, 7, 7]], np.int32), np.array([[3, 9, 9]], np.uint32))
    assert found[0, 0] == 0
    assert found[0, 1] == found[0, 2]


def test_the_number_of_all_people_is_what_all_tables_say() -> None:
    # 100 people, whose own figure says 105. Columns of two and of one cell with people, 99 in all
    # and 101: (105 + 99/2 + 101/1)/(1 + 1/2 + 1/1) = 102.2. A column without people says nothing.
    design = Design.of([Column(3), Column(2), Column(1)], most=1)
    noisy = np.array([40, 0, 59, 0, 101, 0], np.int32)
    assert likeliest_total(105, noisy, design) == 102


def test_parts_fit_the_whole() -> None:
    # Two variables; the first also by its finest categories, two to a main one.
    columns = (Column(3), Column(2), Column(6, 0, np.arange(6, dtype=np.uint32) // 2))
    design = Design.of(columns)
    assert design.tables == ((0,), (1,), (2,), (0, 1))
    rng = np.random.default_rng(2)
    maker = Maker(design, KeyMix(SECRET, "t"))
    whole = maker.whole(40, rng.integers(0, 20, (1, design.size)).astype(np.int32))
    noisy = rng.integers(0, 8, (4, design.size)).astype(np.int32)
    parts = maker.parts(0, np.arange(4), np.array([9, 9, 9, 9]), noisy, whole, 0)

    def table(found: Targets, number: int) -> NDArray[np.int32]:
        own = found.cells[:, design.offsets[number] : design.offsets[number + 1]]
        return own.reshape(len(own), *design.shapes[number])

    assert parts.people.sum() == whole.people[0]
    for number in range(3):
        assert (table(parts, number).sum(axis=0) == table(whole, number)[0]).all()
        assert (table(parts, number).sum(axis=1) == parts.people).all()
    assert (table(parts, 2).reshape(4, 3, 2).sum(axis=2) == table(parts, 0)).all()
    assert (table(parts, 3).sum(axis=2) == table(parts, 0)).all()
    assert (table(parts, 3).sum(axis=1) == table(parts, 1)).all()
