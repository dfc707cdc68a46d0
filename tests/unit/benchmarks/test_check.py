"""`make bench-check`: a ratio that falls by more than a fifth is told, and a short run of it."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest

BENCHMARKS = Path(__file__).parents[3] / "benchmarks"


@pytest.fixture(scope="module")
def check() -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(BENCHMARKS))
        import check as module

        yield module
        for name in ("check", "tabulate", "building", "report"):
            sys.modules.pop(name, None)


@pytest.mark.parametrize(("now", "told"), [(8.0, False), (7.99, True), (12.0, False)])
def test_four_fifths_of_the_ratio_on_file_is_the_least(check: Any, now: float, told: bool) -> None:
    found = {"scan": check.Ratio(now, now, now), "new": check.Ratio(1.0, 1.0, 1.0)}
    assert bool(check.fallen(found, {"scan": 10.0, "gone": 3.0})) is told


def clock(work: list[float]) -> Any:
    """Return a clock that passes so many seconds each time something is done."""
    told = [moment for i, taken in enumerate(work) for moment in (100 * i, 100 * i + taken)]
    return iter(told).__next__


def test_a_ratio_is_the_median_over_the_turns(check: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    # Turns of 1 second for us and 1, 2, 9, 4 for them: of 2, 9 and 4, the first left out, 4.
    monkeypatch.setattr(check, "process_time", clock([1, 1, 1, 2, 1, 9, 1, 4]))
    monkeypatch.setattr(check, "FEW", 1)
    pair = check.Pair("scan", lambda: None, lambda: None, 1)
    assert check.in_turns([pair], turns=3)["scan"].median == 4.0


def test_in_a_turn_those_who_find_the_caches_cold_do_not_count(
    check: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    # In each of four turns we take 5, 1 and 2 seconds, and they 50, 8 and 6: 8 over 2 is 4.
    monkeypatch.setattr(check, "process_time", clock([5, 1, 2, 50, 8, 6] * 4))
    monkeypatch.setattr(check, "FEW", 3)
    pair = check.Pair("scan", lambda: None, lambda: None, 3)
    assert check.in_turns([pair], turns=3) == {"scan": check.Ratio(4.0, 4.0, 4.0)}


def test_each_has_a_turn_before_one_has_the_next(check: Any) -> None:
    done: list[str] = []
    pairs = [check.Pair(name, partial(done.append, name), lambda: None, 1) for name in "ab"]
    check.in_turns(pairs, turns=2)
    assert "".join(done) == "ababab"


@pytest.mark.slow
def test_no_scan_takes_more_cpu_than_duckdb(check: Any, tmp_path: Path) -> None:
    # On file they take 3 to 20 times less; the margin is for machines that are busy or unlike.
    store = check.Store(check.prepare(100_000, tmp_path))
    found = check.ratios(store.open())
    assert {name for name, ratio in found.items() if ratio.median < 0.3} == set()
