"""The list of faults fits the program: each can be put in, and says something else there."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[4]
sys.path.insert(0, str(ROOT / "scripts" / "mutants"))
import run  # noqa: E402

FAULTS = run.faults()
SOURCE = ROOT / "src" / "discreet"


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: f"{fault.module}: {fault.what}")
def test_a_fault_can_be_put_in(fault: run.Fault) -> None:
    text = fault.into(SOURCE)
    compile(text, fault.module, "exec")
    assert text != (SOURCE / fault.module).read_text("utf-8")
    assert all((ROOT / test).exists() for test in fault.tests)


def test_there_are_enough_and_each_has_a_name() -> None:
    names = [(fault.module, fault.what) for fault in FAULTS]
    assert len(set(names)) == len(names) >= 150
    assert set(run.equivalent()) <= set(names)
    assert all(run.equivalent().values())


def test_a_fault_that_can_no_longer_be_put_in_is_told() -> None:
    gone = run.Fault("release/pipeline.py", "a line that was removed", "no such line", "pass")
    moved = run.Fault("release/gone.py", "a module that was removed", "x", "y")
    assert run.stale(FAULTS) == []
    assert [text.partition(":")[0] for text in run.stale([gone, *FAULTS, moved])] == [
        gone.module,
        moved.module,
    ]


def test_what_was_noticed_is_kept_until_the_module_changes(tmp_path: Path) -> None:
    source, kept = tmp_path / "src", tmp_path / "var" / "results.jsonl"
    source.mkdir()
    (source / "a.py").write_text("one\ntwo\n")
    seen, missed = run.Fault("a.py", "seen", "one", "1"), run.Fault("a.py", "missed", "two", "2")
    results = run.Results(kept, source)
    results.keep(run.Result(seen, True, 1.5))
    results.keep(run.Result(missed, False, 2.5))
    again = run.Results(kept, source)
    assert again.noticed(seen) == run.Result(seen, True, 1.5)
    assert again.noticed(missed) is None
    (source / "a.py").write_text("one\ntwo\nthree\n")
    assert again.noticed(seen) is None
