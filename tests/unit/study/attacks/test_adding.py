"""How to add an attack, as docs/attacks.md says it: at most 30 lines, and it finds a fault."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

import discreet as dc
from attacked import Server
from discreet.policy import Bound, Over
from discreet.study.attacks import Finding, Target, Verdict, finding
from discreet.study.attacks.finding import READING, Clock, Tally, tried
from discreet.study.attacks.target import by
from discreet.study.attacks.unions import wanted

PAGE = Path(__file__).parents[4] / "docs" / "attacks.md"


@dataclass
class Forgetful(Server):
    """Fault: a table has other noise in another order of its variables."""

    def ask(self, by: str, where: str | None, totals: str) -> Any:
        return Server(self.population, salt=hash_of(by)).ask(by, where, totals)


def hash_of(text: str) -> int:
    return sum(ord(letter) * 7**i for i, letter in enumerate(text))


@pytest.fixture
def attack(monkeypatch: pytest.MonkeyPatch) -> Any:
    section = PAGE.read_text(encoding="utf-8").partition("## Add an attack")[2]
    (code,) = re.findall(r"```python\n(.*?)```", section, re.S)
    assert len(code.splitlines()) <= 30
    names = {
        "dataclass": dataclass, "ClassVar": ClassVar, "np": np, "Target": Target,
        "Finding": Finding, "Tally": Tally, "Clock": Clock, "READING": READING, "by": by,
        "wanted": wanted, "__name__": __name__,
    }  # fmt: skip
    exec(compile(code, str(PAGE), "exec"), names)
    monkeypatch.setitem(finding.BOUNDS, "twice", Bound(Over.READING, 0.05))  # type: ignore[attr-defined]
    return names["Twice"]()


def test_the_attack_of_the_page_finds_the_fault_it_is_after(
    attack: Any, census: dc.Population
) -> None:
    found = tried(attack, Forgetful(census).target(), np.random.default_rng(1), 600)
    assert found.verdict is Verdict.BEYOND, found


def test_and_nothing_where_the_same_question_has_the_same_answer(
    attack: Any, census: dc.Population
) -> None:
    found = tried(attack, Server(census).target(), np.random.default_rng(1), 600)
    assert found.verdict is Verdict.WITHIN
    assert found.reading == found.attack
