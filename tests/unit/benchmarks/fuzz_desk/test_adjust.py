"""The fuzzer of adjustment: a short run, and that it sees a proof that is none."""

from __future__ import annotations

import importlib.util
import sys
from dataclasses import replace
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

from discreet.desk.adjust import pattern

SCRIPT = Path(__file__).parents[4] / "benchmarks" / "fuzz_desk" / "adjust.py"
SPEC = importlib.util.spec_from_file_location("fuzz_desk_adjust", SCRIPT)
assert SPEC is not None
assert SPEC.loader is not None
fuzz = importlib.util.module_from_spec(SPEC)
sys.modules[SPEC.name] = fuzz
sys.path.insert(0, str(SCRIPT.parent))  # for what the tools share
SPEC.loader.exec_module(fuzz)


def test_forty_tables_hold() -> None:
    for case in islice(fuzz.cases(np.random.default_rng(21)), 40):
        assert fuzz.check(case) is None


def test_an_empty_cell_that_a_holding_can_compute_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    # Without contributors as attackers some holding comes too close in one of these tables.
    monkeypatch.setattr(pattern.Suppression, "watched", lambda *given: given[3])
    drawn = islice(fuzz.cases(np.random.default_rng(21)), 60)
    said = [fuzz.check(case) for case in drawn if isinstance(case, fuzz.Holes)]
    assert any(one and "knows cell" in one for one in said)


def test_a_false_proof_and_a_cell_short_in_silence_are_seen(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # One row (100, 100, 800), the first two sensitive by 10: opposite ways cost 20 in all.
    case = fuzz.Case(
        ((3, 3, 3, -1),), np.array([100.0, 100, 800, 1000]), np.array([1, 1, 0, 0], bool),
        np.full(4, 10.0), np.full(4, 10.0), np.ones(4, bool), np.zeros(4, bool),
        {"weight": "one", "margins": 1.0, "capacity": 1.0}, 1,
    )  # fmt: skip
    fuzz.check(case)
    assert fuzz.least_cost(case, 40.0, 0) == pytest.approx(20)
    adjust = fuzz.ControlledAdjustment.adjust
    for change, message in (([10, 10, -20, 0], "solved: 40"), ([9, -9, 0, 0], "in silence")):

        def wrong(self, *given, change=change, **named):
            found = adjust(self, *given, **named)
            cost = float(np.abs(change).sum())
            return replace(found, values=case.values + np.array(change), cost=cost)

        monkeypatch.setattr(fuzz.ControlledAdjustment, "adjust", wrong)
        with pytest.raises(AssertionError, match=message):
            fuzz.check(case)
