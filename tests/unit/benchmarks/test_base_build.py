"""A build is told stage by stage, and told as refused where it was."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[3] / "benchmarks"))
    yield importlib.import_module("base_build")
    for name in ("base_build", "censuses", "report"):
        sys.modules.pop(name, None)


def test_the_most_memory_of_each_stage_is_kept(
    module: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken = iter([1.0, 3.0, 2.0, 5.0])
    monkeypatch.setattr(module, "resident", lambda: {"VmRSS": next(taken), "RssAnon": 0.5})
    watch = module.Watch()
    watch.tell("reading", 0, None)  # 1 GiB until here
    watch.tell("polishing: off by 3.1", 0, 2)  # 3 at the end of reading
    watch.tell("polishing: off by 2.9", 1, 2)
    watch.look()
    most = {name: stage["VmRSS"] for name, stage in watch.stages.items()}
    assert most == {"starting": 1.0, "reading": 3.0, "polishing": 5.0}


def test_memory_is_that_of_this_process(module: ModuleType) -> None:
    # Resident memory has that of the process alone and that of mapped files, such as its program.
    now = module.resident()
    assert 0 < now["RssAnon"] < now["VmRSS"] < 64


def test_a_refusal_is_told(module: ModuleType) -> None:
    assert module.verdict({"refused": ""}) == "It was accepted."
    assert module.verdict({"refused": "too far off."}) == "The base was refused: too far off."
