"""What methods say of themselves: multipliers, bounds, and what they do not know."""

from __future__ import annotations

import numpy as np
import pytest

from discreet import protect
from discreet.errors import ParameterError
from discreet.protect import lookup
from discreet.protect.base import Effect, Multiplier
from discreet.protect.registry import METHODS, example


@pytest.mark.parametrize("base", [2, 3, 5, 10])
def test_rounding_leaves_one_remainder_in_base(base: int) -> None:
    # Of the remainders 0…b−1 only 0 stays, always: 1/b; 0.33 in print for 3 [Shlomo2015, §5.2].
    for rounding in (
        protect.RandomRounding(base),
        protect.SemiControlledRounding(base),
        protect.SemiControlledRounding(base, form="paper"),
        protect.ControlledRounding(base),
    ):
        multiplier = rounding.effect(2).multiplier
        assert multiplier is not None
        assert multiplier.of([1, 4, 7, 1000]) == pytest.approx(1 / base)
    assert round(1 / 3, 2) == 0.33


def test_the_printed_matrix_has_the_printed_multipliers() -> None:
    for exact in (False, True):
        multiplier = protect.StochasticPerturbation.published(exact).effect(2).multiplier
        assert multiplier is not None
        assert (multiplier.small, multiplier.large) == (0.75, 0.9)
        assert multiplier.of([0, 0, 6]) == 0.75
        assert multiplier.of([7, 0]) == 0.9
        # Two small and one large figure; zeros do not count: (2·0.75 + 0.9)/3.
        assert multiplier.of([1, 6, 7, 0]) == pytest.approx(0.8)


def test_the_multiplier_of_another_matrix_is_its_mean_diagonal() -> None:
    # Counts 1 to 6 stay with 0.5, 0.5, 1, 1, 1, 1, larger ones with 1.
    matrix = np.eye(4)
    matrix[1, 1:3] = matrix[2, 1:3] = 0.5
    multiplier = protect.StochasticPerturbation(matrix).effect(1).multiplier
    assert multiplier is not None
    assert multiplier.small == pytest.approx(5 / 6)
    assert multiplier.large == 1


def test_cell_keys_are_read_at_small_counts_and_in_the_last_row() -> None:
    look = lookup.max_entropy(5, 3)
    multiplier = protect.CellKeyPerturbation(look).effect(1).multiplier
    assert multiplier is not None
    stays = [look.matrix[min(i, 5), min(i, 5)] for i in range(1, 7)]
    assert multiplier.small == pytest.approx(sum(stays) / 6)
    assert multiplier.large == pytest.approx(look.matrix[-1, len(look.matrix) - 1])
    # "23% of large counts and 39% of ones stay" (docs/methods.md): small ones lie between.
    assert round(multiplier.large, 2) == 0.23
    assert multiplier.large < multiplier.small < 0.39


@pytest.mark.parametrize(
    "small",
    [protect.SmallCellAdjustment(3), protect.SmallCountRounding(3), protect.CountAdjustment(3)],
)
def test_what_changes_small_counts_alone_takes_nothing_off_a_table_without_them(
    small: protect.SmallCellAdjustment,
) -> None:
    multiplier = small.effect(2).multiplier
    assert multiplier is not None
    assert multiplier.of([0, 4, 100]) == 1
    assert multiplier.of([0, 3, 3]) == pytest.approx(1 / 3)
    assert multiplier.of([3, 4]) == pytest.approx(2 / 3)


def test_sampling_keeps_its_fraction_and_must_say_so() -> None:
    effect = protect.Sampling(0.25).effect(2)
    assert effect.multiplier is not None
    assert effect.multiplier.of([1, 100]) == 0.25
    assert effect.chances is not None
    assert effect.transition is None
    assert effect.largest_change is None
    assert "a share of 0.25 of the records" in effect.told


def test_controlled_rounding_knows_its_chances_up_to_two_dimensions() -> None:
    rounding = protect.ControlledRounding(3)
    assert rounding.effect(2).transition is not None
    assert rounding.effect(2).largest_change == 2
    assert rounding.effect(3).chances is None
    # One multiple further away at most: below 2·3.
    assert rounding.effect(3).largest_change == 5


def test_a_method_says_which_tables_it_does_not_take() -> None:
    with pytest.raises(ParameterError, match="order must be 1"):
        protect.SameMargins().effect(1)
    with pytest.raises(ParameterError, match="axis must be below"):
        protect.SemiControlledRounding(3, axis=1).effect(1)


def test_nothing_is_known_of_a_table_with_the_same_margins() -> None:
    effect = protect.SameMargins().effect(2)
    assert (effect.chances, effect.largest_change, effect.multiplier) == (None, None, None)


def test_every_method_of_the_registry_says_what_it_does() -> None:
    for name in METHODS:
        assert isinstance(example(name).effect(2), Effect)


def test_changing_nothing_leaves_everything() -> None:
    effect = Effect.none()
    assert effect.largest_change == 0
    assert effect.multiplier == Multiplier(1.0, 1.0, "nothing is changed")
