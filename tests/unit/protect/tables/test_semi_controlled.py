"""Rounding: semi-controlled by enumeration of its chances, small cells, the paper's form."""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import ParameterError
from discreet.protect import RandomRounding, SemiControlledRounding, SmallCellAdjustment


class Chosen:
    """A generator whose shift and order of cells are chosen, to enumerate all of them."""

    def __init__(self, order: Any, shift: int) -> None:
        self.order, self.shift = order, shift

    def random(self, size: int) -> Any:
        return np.array(self.order, float)

    def integers(self, low: int, high: int, size: int) -> Any:
        assert low <= self.shift < high
        return np.full(size, self.shift)


@pytest.mark.parametrize("base", [2, 3, 5])
@pytest.mark.parametrize("counts", [(1,), (1, 1, 2), (1, 4, 7, 2), (0, 3, 5, 8)])
def test_unbiased_and_on_a_neighbouring_multiple_in_every_case(
    base: int, counts: tuple[int, ...]
) -> None:
    method = SemiControlledRounding(base)
    sums = np.zeros(len(counts), int)
    cases = 0
    for order in permutations(range(len(counts))):
        for shift in range(base):
            released = method.draw(np.array(counts), Chosen(order, shift))  # type: ignore[arg-type]
            assert abs(int(released.sum()) - sum(counts)) < base
            assert not (released % base).any()
            assert (np.abs(released - counts) < base).all()
            sums += released
            cases += 1
    # Every case is as likely, so the mean is a fraction, and exactly the true count.
    assert [Fraction(int(total), cases) for total in sums] == list(counts)


def test_the_papers_form_does_what_the_paper_says() -> None:
    rng = np.random.default_rng(1)
    paper = SemiControlledRounding(3, form="paper")
    # A lone 1: nearest integer of 1/3 is 0, always down. Two 1s and a 2: 2/3 → 1 up, 2/3 → 1 up.
    assert all(paper.apply(np.array([1]), rng)[0] == 0 for _ in range(50))
    assert all(paper.apply(np.array([1, 1, 2]), rng).sum() == 6 for _ in range(50))
    # Only a bound is known: a cell's chances depend on the other cells.
    assert paper.effect(1).chances is None
    assert paper.effect(1).largest_change == 2


@settings(max_examples=50, deadline=None)
@given(
    counts=st.lists(st.lists(st.integers(0, 30), min_size=4, max_size=4), min_size=1, max_size=6),
    base=st.integers(2, 100),
    axis=st.sampled_from([None, 0, 1]),
    seed=st.integers(0, 1000),
)
def test_controlled_totals_are_within_the_base(
    counts: list[list[int]], base: int, axis: int | None, seed: int
) -> None:
    true = np.array(counts)
    released = SemiControlledRounding(base, axis).apply(true, np.random.default_rng(seed))
    others = {None: (0, 1), 0: 1, 1: 0}[axis]
    assert (np.abs(released.sum(axis=others) - true.sum(axis=others)) < base).all()
    assert not (released % base).any()


def test_each_residue_has_its_expected_number_of_round_ups() -> None:
    # 30 ones and 30 twos: 10 of the ones and 20 of the twos go up, in every draw.
    counts = np.array([1] * 30 + [2] * 30)
    for seed in range(20):
        released = SemiControlledRounding(3).apply(counts, np.random.default_rng(seed))
        assert (released[:30] == 3).sum() == 10
        assert (released[30:] == 3).sum() == 20


def test_which_cells_go_up_is_drawn_evenly() -> None:
    counts = np.array([1, 1, 1])
    ups = sum(
        SemiControlledRounding(3).apply(counts, np.random.default_rng(seed)) for seed in range(3000)
    )
    # 1,000 expected, standard deviation √(3000·2/9) = 26.
    assert (np.abs(np.asarray(ups) / 3 - 1000) < 5 * 26).all()


def test_small_cells_only() -> None:
    counts = np.array([0, 1, 2, 3, 4, 100])
    method = SmallCellAdjustment(3)
    np.testing.assert_array_equal(method.apply(counts, np.full(6, 0.5)), [0, 0, 3, 3, 4, 100])
    np.testing.assert_array_equal(method.apply(counts, np.full(6, 0.999)), [0, 3, 3, 3, 4, 100])
    np.testing.assert_allclose(method.transition().matrix(3)[1], [2 / 3, 0, 0, 1 / 3])


def test_rounding_up_happens_with_the_residue_over_the_base() -> None:
    counts = np.full(4, 7)  # residue 2 to base 5: up in 2/5 of the cases, from 3/5 on
    released = RandomRounding(5).apply(counts, np.array([0, 0.599, 0.601, 0.999]))
    np.testing.assert_array_equal(released, [5, 5, 10, 10])


@pytest.mark.parametrize("method", [RandomRounding, SmallCellAdjustment, SemiControlledRounding])
@pytest.mark.parametrize("base", [1, 101, 2.5, "3", True])
def test_bases_run_from_2_to_100(method: Any, base: Any) -> None:
    with pytest.raises(ParameterError, match=f"from 2 to 100. Got {base!r}"):
        method(base)


def test_unknown_forms_and_axes_are_refused() -> None:
    with pytest.raises(ParameterError, match=r"unbiased, paper\. Got fair"):
        SemiControlledRounding(3, form="fair")  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="axis must be below"):
        SemiControlledRounding(3, axis=2).apply(np.ones((2, 2), int), np.random.default_rng(1))
