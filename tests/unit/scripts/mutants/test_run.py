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
