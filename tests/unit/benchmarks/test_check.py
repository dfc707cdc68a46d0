"""`make bench-check`: a ratio that falls by more than a fifth is told, and a short run of it."""

from __future__ import annotations

import sys
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
        for name in ("check", "tabulate", "report"):
            sys.modules.pop(name, None)


@pytest.mark.parametrize(("now", "told"), [(8.0, False), (7.99, True), (12.0, False)])
def test_four_fifths_of_the_ratio_on_file_is_the_least(check: Any, now: float, told: bool) -> None:
    found = {"scan": check.Ratio(now, now, now), "new": check.Ratio(1.0, 1.0, 1.0)}
    assert bool(check.fallen(found, {"scan": 10.0, "gone": 3.0})) is told


def test_a_ratio_is_the_median_over_the_turns(check: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    # Turns of 1 second for us and 1, 2, 9, 4 for them: of 2, 9 and 4, the first left out, 4.
    clock = iter([0, 1, 2, 10, 11, 13, 20, 21, 30, 40, 41, 45])
    monkeypatch.setattr(check, "process_time", lambda: next(clock))
    found = check.in_turns(lambda: None, lambda: None, turns=3)
    assert found.median == 4.0


@pytest.mark.slow
def test_no_scan_takes_more_cpu_than_duckdb(check: Any, tmp_path: Path) -> None:
    # On file they take 3 to 20 times less; the margin is for machines that are busy or unlike.
    store, _ = check.prepare(100_000, tmp_path)
    found = dict(check.ratios(store.open()))
    assert {name for name, ratio in found.items() if ratio.median < 0.3} == set()
