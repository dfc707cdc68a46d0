from __future__ import annotations

from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet.errors import ParameterError
from discreet.policy import AttackRules
from discreet.study.attacks.finding import Clock, Finding, Share, tried
from discreet.study.attacks.reading import Reading
from discreet.study.attacks.running import Invented, Own, run
from discreet.study.attacks.splits import Splits
from discreet.study.attacks.target import Target
from discreet.study.attacks.unions import AreaUnions


@dataclass(frozen=True)
class Draws:
    """An attack that finds a random share, or is interrupted."""

    id: str = "unions"
    name: str = "draws"
    about: str = ""
    stop: bool = False

    def run(self, target: Target, rng: np.random.Generator, clock: Clock) -> Finding:
        if self.stop:
            raise KeyboardInterrupt
        return Finding(self.name, Share.of(int(rng.integers(1000)), 1000), Share.of(0, 1))


@dataclass(frozen=True)
class Nobody:
    """A source of targets that attackers do not look at."""

    def target(self, seed: int) -> Target:
        nothing: Any = None
        return Target(nothing, nothing, 10, nothing, nothing)


def values(source: Any, attacks: Any, *seeds: int, workers: int = 1) -> list[float]:
    found, out = run(source, attacks, AttackRules(seeds=seeds, seconds=600), workers)
    assert not out
    return [finding.attack.value for finding in found]


def test_a_report_can_be_had_again_from_its_seed() -> None:
    attacks = [Draws(), Draws("margins", "others")]
    first, again, other = (values(Nobody(), attacks, seed) for seed in (1, 1, 2))
    assert first == again != other
    # Each attack has draws of its own, whatever stands before it.
    assert first[0] != first[1]
    assert values(Nobody(), attacks[::-1], 1) == first[::-1]


def test_seeds_are_pooled() -> None:
    one, two = (values(Nobody(), [Draws()], seed)[0] for seed in (1, 2))
    assert values(Nobody(), [Draws()], 1, 2) == [pytest.approx((one + two) / 2)]


def test_ctrl_c_keeps_what_was_found() -> None:
    attacks = [Draws(name="one"), Draws("margins", "two", stop=True), Draws("leaver", "three")]
    found, out = run(Nobody(), attacks, AttackRules())
    assert [f.name for f in found] == ["one"]
    assert out == ("two", "three")


def test_what_is_told_is_how_many_are_done() -> None:
    told: list[tuple[int, int | None]] = []
    run(
        Nobody(), [Draws(), Draws("margins")], AttackRules(seeds=(1, 2)), 1,
        lambda stage, done, total: told.append((done, total)),
    )  # fmt: skip
    assert told == [(1, 4), (2, 4), (3, 4), (4, 4)]


def test_what_was_not_begun_in_time_is_not_run(monkeypatch: pytest.MonkeyPatch) -> None:
    # The clock: the start, and a look before each attack; the second look is after the end.
    times = iter([0.0, 1.0, 1_000.0])
    monkeypatch.setattr("discreet.study.attacks.running.time", lambda: next(times))
    found, out = run(Nobody(), [Draws(), Draws("margins", "late")], AttackRules())
    assert [f.name for f in found] == ["draws"]
    assert out == ("late",)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [Own, Invented])
def test_any_number_of_processes_finds_the_same(kind: Any, census_store: Path) -> None:
    attacks = [Reading(tables=2), AreaUnions(unions=3, cells=50), Splits(splits=3)]
    one = run(kind(census_store), attacks, AttackRules(seconds=600))
    assert one == run(kind(census_store), attacks, AttackRules(seconds=600), workers=2)
    assert [f.tries > 0 for f in one[0]] == [True] * 3


def test_a_busy_machine_finds_the_same(census_store: Path) -> None:
    # A minute passes between any two looks at the clock: an attack still tries all that it tries.
    target, minutes = Target.open(census_store), count(step=60)
    quick, slow = (
        tried(Reading(tables=3), target, np.random.default_rng(1), 3600, now=now)
        for now in (lambda: 0, lambda: next(minutes))
    )
    assert quick == slow
    assert not slow.short
    short = tried(Reading(tables=3), target, np.random.default_rng(1), 0, now=minutes.__next__)
    assert short.short
    assert 0 < short.tries < slow.tries


def test_bounds_are_those_of_the_policy() -> None:
    rules = AttackRules(bounds={"unions": 0.9})
    assert run(Nobody(), [Draws()], rules)[0][0].most == 0.9


def test_a_mistake_in_a_process_is_told(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="is not a store"):
        run(Own(tmp_path), [Draws()], AttackRules(), workers=1)
