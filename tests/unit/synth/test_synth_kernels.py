"""The random generator, the draws from tables, and independence of blocks and threads."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.synth import households, kernels, origins, tables, work
from discreet.synth.geography import lay_out
from discreet.synth.shares import chances, thresholds
from discreet.synth.writer import blocks, draw


def test_the_generator_is_splitmix64():
    # The first outputs for seed 1234567 as they are widely published, e.g. on Rosetta Code.
    expected = [
        6457827717110365317,
        3203168211198807973,
        9817491932198370423,
        4593380528125082431,
        16408922859458223821,
    ]
    state = np.array([1234567], dtype=np.uint64)
    assert [int(kernels._next(state)) for _ in expected] == [value >> 33 for value in expected]


@given(
    st.lists(st.floats(0, 100), min_size=1, max_size=12).filter(lambda w: sum(w) > 1e-3),
    st.integers(0, 2**31 - 1),
)
def test_thresholds_never_give_a_category_of_weight_zero(weights, u):
    row = thresholds(weights)[0]
    drawn = int(np.searchsorted(row, u, side="right"))  # the naive twin of the kernel's search
    assert drawn < len(weights)
    assert weights[drawn] > 0


def test_drawn_shares_are_those_of_the_table():
    row = thresholds([5, 0, 3, 2])[0]
    state = np.array([99], dtype=np.uint64)
    draws = 100_000
    found = np.bincount([kernels._scan(state, row, 0) for _ in range(draws)], minlength=4)
    expected = np.array([0.5, 0, 0.3, 0.2])
    # Five standard deviations of a binomial count.
    assert (abs(found - draws * expected) <= 5 * np.sqrt(draws * expected * (1 - expected))).all()


@pytest.mark.parametrize("weights", [[], [0, 0], [1, -1]])
def test_thresholds_refuse_what_is_no_distribution(weights):
    with pytest.raises(ValueError, match="weights"):
        thresholds([weights])


def test_chances_refuse_what_is_no_probability():
    with pytest.raises(ValueError, match="between 0 and 1"):
        chances([1.5])


def test_every_table_has_the_rows_the_kernel_counts_on():
    bank = tables.bank()
    rows = np.diff([*bank.layout[:, 0], len(bank.values)]) // bank.layout[:, 1]
    ages, classes = 101, 5
    assert rows[kernels.KIND] == households.AGE_CLASSES
    assert rows[kernels.FIRST_AGE] == len(households.KINDS)
    assert rows[kernels.COUPLE] == 2 * ages
    assert rows[kernels.UNPARTNERED] == 2 * 2 * ages
    assert rows[kernels.TENURE] == 3 * 3 * classes * ages
    assert rows[kernels.BIRTH] == 19 * 5
    assert rows[kernels.CITIZENSHIP] == 17 * 5
    assert rows[kernels.RELIGION] == origins.RELIGION_AREA_CLASSES * 19 * 5
    assert rows[kernels.EDUCATION] == 2 * classes * ages
    assert rows[kernels.ACTIVITY] == 2 * 9 * 2 * classes * ages
    assert rows[kernels.OCCUPATION] == 2 * 9 * len(work.OCCUPATION_AGE_STARTS)
    assert rows[kernels.TRAVEL] == 3 * 12 * 2
    assert rows[kernels.HEALTH] == 2 * classes * ages
    widths = {
        kernels.AGE_GAP: 23,
        kernels.MOTHER_AT_BIRTH: 29,  # 17 to 45
        kernels.TENURE: 4,
        kernels.BIRTH: 17,
        kernels.CITIZENSHIP: 5,
        kernels.RELIGION: 9,
        kernels.EDUCATION: 9,
        kernels.ACTIVITY: 5,
        kernels.OCCUPATION: 12,
        kernels.TRAVEL: 10,
        kernels.HEALTH: 5,
    }
    assert {table: bank.layout[table, 1] for table in widths} == widths


@pytest.mark.parametrize("threads", [1, 2, 4])
@pytest.mark.parametrize("size", [3_000, 20_000])
def test_people_depend_on_neither_threads_nor_blocks(threads, size):
    geography = lay_out(40_000, 8)
    whole = draw(geography, 8, 0, geography.size)
    parts = list(blocks(geography, 8, threads, size))
    assert len(parts) > 1
    assert np.array_equal(np.concatenate([p.columns for p in parts], axis=1), whole.columns)
    assert np.array_equal(np.concatenate([p.oa for p in parts]), whole.oa)
    before = np.cumsum([0, *(p.households for p in parts)])
    joined = np.concatenate([p.household + b for p, b in zip(parts, before, strict=False)])
    assert np.array_equal(joined, whole.household)
    assert before[-1] == whole.households


def test_another_seed_gives_other_people():
    geography = lay_out(2_000, 1)
    one, other = draw(geography, 1, 0, geography.size), draw(geography, 2, 0, geography.size)
    assert not np.array_equal(one.columns, other.columns)
