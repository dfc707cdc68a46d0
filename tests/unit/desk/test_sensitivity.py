"""How much protection sensitive cells need, by each rule."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from discreet.desk.cells import RANKS, CellTable
from discreet.desk.sensitivity import (
    Dominance,
    Given,
    PriorPosterior,
    Threshold,
    required,
)
from discreet.errors import ParameterError
from discreet.risk.sensitivity import dominance, p_percent


def _cells(*contributions: tuple[float, ...], counts: bool = False) -> CellTable:
    """One dimension, without a total: the rules look at one cell at a time."""
    ranked = np.zeros((len(contributions), RANKS))
    for i, parts in enumerate(contributions):
        ranked[i, : len(parts)] = sorted(parts, reverse=True)
    codes = tuple(str(i) for i in range(len(contributions)))
    return CellTable(
        ("a",), (codes,), ((-1,) * len(codes),), np.array([sum(c) for c in contributions], float),
        counts, ranked, np.array([len(c) for c in contributions]),
    )  # fmt: skip


def test_p_percent_asks_for_what_the_second_largest_must_be_off() -> None:
    # (100, 50, 4): the rest is 4, 10% of 100 is 10, so 6 more are needed. (100, 50, 10): just safe.
    found = PriorPosterior(10).required(_cells((100, 50, 4), (100, 50, 10), (100,), (0,)))
    assert found.sensitive.tolist() == [True, False, True, False]
    assert found.upper.tolist() == [6, 0, 10, 0]
    assert found.lower.tolist() == found.upper.tolist()


def test_prior_knowledge_makes_the_rest_worth_less() -> None:
    # q = 50: everybody knows all to within a half; 10·100/50 − 10 = 10.
    found = PriorPosterior(10, 50).required(_cells((100, 50, 10)))
    assert found.upper.tolist() == [10]


def test_dominance_asks_for_as_much_as_would_dilute_the_largest() -> None:
    # (59, 40, 1) and (61, 20, 19) under (1, 60%): 61/0.6 − 100 = 1.67.
    found = Dominance(1, 60).required(_cells((59, 40, 1), (61, 20, 19)))
    assert found.sensitive.tolist() == [False, True]
    assert found.upper[1] == pytest.approx(61 / 0.6 - 100)


def test_counts_go_to_0_or_to_the_first_safe_count() -> None:
    cells = CellTable(("a",), (tuple("wxyz"),), ((-1,) * 4,), np.array([0.0, 1, 2, 3]), True)
    found = Threshold(3).required(cells)
    assert found.sensitive.tolist() == [False, True, True, False]
    assert found.lower.tolist() == [0, 1, 2, 0]
    assert found.upper.tolist() == [0, 2, 1, 0]


def test_few_contributors_to_a_magnitude_ask_for_a_share_of_it() -> None:
    found = Threshold(3, percent=20).required(_cells((50, 50), (50, 50, 50)))
    assert found.sensitive.tolist() == [True, False]
    assert found.upper.tolist() == [20, 0]


def test_several_rules_find_what_any_finds_and_ask_for_the_most() -> None:
    found = required(_cells((100, 50, 4), (10, 10, 10)), [PriorPosterior(10), Dominance(1, 20)])
    assert found.sensitive.tolist() == [True, True]
    assert found.upper.tolist() == [max(6, 500 - 154), 20]


def test_the_rules_agree_with_the_ones_on_whole_contributions() -> None:
    rng = np.random.default_rng(3)
    parts = [tuple(rng.pareto(1.0, rng.integers(1, RANKS + 1)).tolist()) for _ in range(200)]
    full = np.zeros((200, RANKS))
    for i, some in enumerate(parts):
        full[i, : len(some)] = some
    np.testing.assert_array_equal(
        PriorPosterior(15).required(_cells(*parts)).sensitive, p_percent(full, 15)
    )
    np.testing.assert_array_equal(
        Dominance(2, 85).required(_cells(*parts)).sensitive, dominance(full, 2, 85)
    )


def test_what_the_file_says() -> None:
    cells = CellTable(
        ("a",), (tuple("xyz"),), ((-1,) * 3,), np.array([50.0, 20, 0]), False,
        sensitive=np.array([True, False, True]), upper=np.array([np.nan, 3, np.nan]),
    )  # fmt: skip
    found = Given(10).required(cells)
    assert found.sensitive.tolist() == [True, False, False]
    assert (found.lower.tolist(), found.upper.tolist()) == ([5, 0, 0], [5, 0, 0])
    only = CellTable(
        ("a",), (tuple("xy"),), ((-1,) * 2,), np.array([50.0, 20]), False,
        upper=np.array([np.nan, 3]),
    )  # fmt: skip
    assert Given(10).required(only).sensitive.tolist() == [False, True]


def test_mistakes_are_explained() -> None:
    counts = CellTable(("a",), (("x",),), ((-1,),), np.array([1.0]), True)
    bare = CellTable(("a",), (("x",),), ((-1,),), np.array([1.0]), False)
    one = replace(bare, ranked=np.array([[0.6]]))  # of two contributions the larger alone is known
    for rule, cells, message in [
        (PriorPosterior(10), counts, "for magnitudes"),
        (PriorPosterior(10), bare, "the 2 largest contributions"),
        (PriorPosterior(10), one, "the 2 largest contributions"),
        (Dominance(2, 60), one, "the 2 largest contributions"),
        (Threshold(3), bare, "number of contributors"),
        (Given(), bare, "a rule is needed"),
    ]:
        with pytest.raises(ParameterError, match=message):
            rule.required(cells)
    with pytest.raises(ParameterError, match="at least one rule"):
        required(bare, [])
    for build, message in [
        (lambda: PriorPosterior(0), "p and q"),
        (lambda: Dominance(0, 50), "n must be"),
        (lambda: Dominance(1, 100), "k must be"),
        (lambda: Threshold(1), "minimum must be"),
        (lambda: Threshold(3, 0), "percent must be"),
        (lambda: Given(0), "percent must be"),
    ]:
        with pytest.raises(ParameterError, match=message):
            build()
