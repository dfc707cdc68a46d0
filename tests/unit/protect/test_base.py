"""One chance for every method, and what no method may do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from discreet import protect
from discreet.errors import InternalError, ParameterError
from discreet.protect import Chance, KeyMix, Method, plain_uniforms, table_generator

SECRET = b"sixteen bytes and more"
COUNTS = np.array([[1, 2, 4], [0, 7, 5]])
KEYS = np.array([[11, 2, 83], [0, 7, 95]])


def test_a_cellwise_method_is_drawn_by_the_mixed_keys() -> None:
    method = protect.RandomRounding(3)
    chance = Chance.keyed(SECRET, b"sex by age", KEYS)
    expected = method.apply(COUNTS, KeyMix(SECRET).uniforms(KEYS))
    np.testing.assert_array_equal(method.apply(COUNTS, chance), expected)
    again = method.apply(COUNTS, Chance.keyed(SECRET, b"another question", KEYS))
    np.testing.assert_array_equal(again, expected)


def test_a_purpose_or_a_modulus_makes_other_uniforms() -> None:
    method = protect.Sampling(0.5)
    large = COUNTS + 1000
    other = Chance.keyed(SECRET, b"q", KEYS, "input-perturbation 0")
    expected = method.apply(large, KeyMix(SECRET, "input-perturbation 0").uniforms(KEYS))
    np.testing.assert_array_equal(method.apply(large, other), expected)
    plain = Chance.keyed(SECRET, b"q", KEYS, modulus=100)
    expected = method.apply(large, plain_uniforms(KEYS, 100))
    np.testing.assert_array_equal(method.apply(large, plain), expected)


def test_a_table_wise_method_is_drawn_by_the_question() -> None:
    method = protect.SemiControlledRounding(3)
    chance = Chance.keyed(SECRET, b"sex by age", KEYS)
    expected = method.apply(COUNTS, table_generator(SECRET, b"sex by age"))
    for _ in range(2):  # the same question, the same answer for ever
        np.testing.assert_array_equal(method.apply(COUNTS, chance), expected)


def test_a_generator_serves_every_method() -> None:
    method = protect.RandomRounding(3)
    expected = method.apply(COUNTS, np.random.default_rng(5).random(COUNTS.shape))
    np.testing.assert_array_equal(method.apply(COUNTS, np.random.default_rng(5)), expected)


def test_keys_of_another_table_are_refused() -> None:
    with pytest.raises(ParameterError, match="shape of the counts"):
        protect.RandomRounding(3).apply(COUNTS, Chance.keyed(SECRET, b"q", KEYS[0]))
    with pytest.raises(ParameterError, match="uniforms or a numpy generator"):
        protect.RandomRounding(3).apply(COUNTS, "chance")  # type: ignore[arg-type]


class _Zeros(Method):
    cellwise = True

    def draw(self, counts: Any, uniforms: Any) -> Any:
        return counts - 1


def test_what_is_no_count_is_not_released() -> None:
    with pytest.raises(InternalError, match="0 or more"):
        _Zeros().apply(COUNTS, np.full(COUNTS.shape, 0.5))


def test_a_method_says_nothing_that_it_does_not_know() -> None:
    effect = _Zeros().effect(2)
    assert (effect.chances, effect.largest_change, effect.multiplier) == (None, None, None)
    assert not _Zeros().keeps(2).unbiased
    assert not _Zeros().public


def test_impossible_cells_cannot_be_kept_where_all_is_dealt_anew() -> None:
    with pytest.raises(ParameterError, match="cannot keep structural zeros"):
        protect.SameMargins().apply(COUNTS, np.random.default_rng(1), COUNTS == 0)


def test_counts_beyond_int64_are_refused() -> None:
    with pytest.raises(ParameterError, match="below 2\\^63"):
        protect.RandomRounding(3).apply(np.array([2**63], np.uint64), np.array([0.5]))
