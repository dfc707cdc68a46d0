"""The ready-made rules of a redesign, on either side of their boundaries."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from discreet.desk.redesign.model import Finding
from discreet.desk.redesign.rules import (
    AllOf,
    MeanCell,
    RiskBefore,
    SmallestCount,
    SmallShare,
    TableBuilder,
    ZeroShare,
    criterion,
)
from discreet.errors import ParameterError
from discreet.risk import before
from discreet.table import Dimension

HALF = np.array([1, 2, 9, 9])
EVEN = np.array([[40, 60], [50, 50]])


def _judge(rule: Any, counts: Any) -> Finding:
    values = np.asarray(counts)
    dimensions = tuple(
        Dimension(name, name, name, tuple(map(str, range(size))), tuple(map(str, range(size))))
        for name, size in zip("ab", values.shape, strict=False)
    )
    verdict = rule(values, dimensions)
    assert isinstance(verdict, Finding)
    return verdict


@pytest.mark.parametrize(
    ("rule", "counts", "passes"),
    [
        (SmallestCount(3), [0, 3, 4], True),
        (SmallestCount(3), [0, 2, 4], False),
        (SmallestCount(2), [0, 2, 4], True),
        # As floats 0.29 · 100 is 28.999999999999996, and 0.1 · 30 is 3.0000000000000004.
        (SmallShare(0.29), [1] * 29 + [9] * 71, True),
        (SmallShare(0.29), [1] * 30 + [9] * 70, False),
        (ZeroShare(0.29), [0] * 29 + [9] * 71, True),
        (ZeroShare(0.29), [0] * 30 + [9] * 70, False),
        (MeanCell(0.1), [3] + [0] * 29, True),
        (MeanCell(0.1), [3] + [0] * 30, False),
        (TableBuilder(0.29, 0.29), [1] * 29 + [9] * 71, True),
        (TableBuilder(0.29, 0.29), [1] * 30 + [9] * 70, False),
        (SmallShare(0.5), HALF, True),  # two of four: the limit itself passes
        (SmallShare(0.49), HALF, False),
        (ZeroShare(0.5), [0, 5], True),
        (ZeroShare(0.49), [0, 5], False),
        (MeanCell(5), [4, 6], True),
        (MeanCell(5), [4, 5], False),
        (RiskBefore(float(before(EVEN))), EVEN, True),
        (RiskBefore(float(before(EVEN)) - 1e-9), EVEN, False),
        # ABS: more than a quarter ones, or more than half ones and twos, of the populated cells.
        (TableBuilder(), [1, 3, 3, 3, 0, 0], True),
        (TableBuilder(), [1, 1, 3, 3, 3, 0], False),
        (TableBuilder(), [2, 2, 3, 3, 0], True),
        (TableBuilder(), [2, 2, 2, 3, 3], False),
    ],
)
def test_a_rule_at_its_boundary(rule: Any, counts: Any, passes: bool) -> None:
    verdict = _judge(rule, counts)
    assert verdict.passed is passes
    assert verdict.score is not None
    assert (verdict.score == 0) is passes
    assert bool(verdict.reason) is not passes


def test_a_verdict_names_the_cells_that_fail() -> None:
    verdict = _judge(SmallestCount(3), [[0, 1], [2, 9]])
    assert verdict.cells == ("a 0, b 1", "a 1, b 0")
    assert verdict.failing == 2
    # Two of the three populated cells.
    assert verdict.score == pytest.approx(2 / 3)


@given(
    arrays(np.int64, (4, 3), elements=st.integers(0, 4)),
    st.sampled_from([SmallestCount(3), MeanCell(2)]),
)
def test_a_failure_that_stays_is_there_in_every_finer_table(counts: Any, rule: Any) -> None:
    if not counts.any():
        counts[0, 0] = 1
    for coarse in (
        counts.sum(0, keepdims=True),
        counts.sum(1, keepdims=True),
        counts.reshape(2, 2, 3).sum(1),
    ):
        verdict = _judge(rule, coarse)
        if not verdict.passed:
            assert verdict.stays
            assert not _judge(rule, counts).passed


def test_several_rules_must_all_pass_and_their_reasons_are_joined() -> None:
    both = AllOf((SmallShare(0.1), ZeroShare(0.1)))
    verdict = _judge(both, [0, 1, 9])
    assert verdict.reason == "33.3% of the cells are 1 to 2; 33.3% of the cells are zero"
    assert verdict.score == pytest.approx(2 * (1 / 3 - 0.1))
    assert not verdict.stays
    assert _judge(AllOf((SmallestCount(3), ZeroShare(0.1))), [0, 1, 9]).stays
    assert _judge(both, [9, 9]).passed
    with pytest.raises(ParameterError, match="must have a rule"):
        AllOf(())


def test_a_plain_rule_among_others_has_no_score() -> None:
    verdict = _judge(AllOf((lambda counts, dimensions: False, SmallestCount(3))), [1, 9])
    assert verdict.score is None


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("smallest=5", SmallestCount(5)),
        (" small = 0.2", SmallShare(0.2)),
        ("zeros=0.5", ZeroShare(0.5)),
        ("mean=2.5", MeanCell(2.5)),
        ("risk=0.15", RiskBefore(0.15)),
        ("tablebuilder", TableBuilder()),
        ("tablebuilder=0.1,0.2", TableBuilder(0.1, 0.2)),
    ],
)
def test_a_rule_is_read_from_its_name(text: str, rule: Any) -> None:
    assert criterion(text).rules == (rule,)
