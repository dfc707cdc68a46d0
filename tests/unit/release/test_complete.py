"""Complete tables that processes have in common: made once, and the same to all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from threading import Event

import numpy as np
import pytest

from discreet.errors import QueryRefused
from discreet.ledger import Database, Ledgers
from discreet.policy import Policy
from discreet.population import Version
from discreet.query import Question, QuestionClass
from discreet.release import Release, Releaser
from discreet.release.complete import Tables
from discreet.release.formats import to_bytes
from discreet.table import CountTable
from discreet.tabulate import ScanEngine
from populations import ask
from wirings import LENIENT, SECRET, public


class Common:
    """What two releasers have in common, as the workers of a server do."""

    def __init__(self) -> None:
        self.kept: dict[bytes, bytes] = {}

    def found(self, name: bytes) -> bytes | None:
        return self.kept.get(name)

    def keep(self, name: bytes, *parts: bytes) -> None:
        self.kept[name] = b"".join(parts)


class Counting:
    """An engine that remembers what it was asked for."""

    def __init__(self, version: Version) -> None:
        self.engine, self.asked = ScanEngine(version, threads=1), list[str]()

    def tabulate(self, question: Question, stop: Event | None = None) -> CountTable:
        self.asked.append(question.canonical)
        return self.engine.tabulate(question, stop)


def two(version: Version, rules: Policy, common: Common, folder: Path) -> list[Releaser]:
    """Return two releasers, each as in a process of its own, on one state."""
    return [
        Releaser(
            version, Counting(version), rules, SECRET,
            Ledgers(version, rules, SECRET, Database.of(folder / "state.db")),
            folder / "records", tables=Tables(common=common),
        )
        for _ in range(2)
    ]  # fmt: skip


def asked(releaser: Releaser) -> Sequence[str]:
    assert isinstance(releaser.engine, Counting)
    return releaser.engine.asked


def written(release: Release) -> bytes:
    return to_bytes(release, "csv") + to_bytes(release, "json-stat")


def test_a_table_that_another_process_released_is_not_made_again(
    version: Version, tmp_path: Path
) -> None:
    first, second = two(version, public(), Common(), tmp_path)
    question = ask(version, "a,b")
    made = first.release(question, "protected")
    assert len(asked(first)) == 4  # the table, two totals and everybody
    again = second.release(question, "protected")
    assert asked(second) == []
    assert written(again) == written(made)
    assert made.record is not None
    assert again.record is None
    assert len((tmp_path / "records").read_bytes().splitlines()) == 4


def test_after_a_restart_one_process_makes_a_table_for_all(
    version: Version, tmp_path: Path
) -> None:
    two(version, public(), Common(), tmp_path)[0].release(ask(version, "a"))
    first, second = two(version, public(), Common(), tmp_path)
    for one in (first, second):
        one.ledgers.of(one.policy.tier(None)).outlook(
            QuestionClass.of(ask(version, "a"))
        )  # reads the state
    assert written(first.release(ask(version, "a"))) == written(second.release(ask(version, "a")))
    assert [asked(first), asked(second)] == [["by=a"], []]


def test_what_is_refused_or_withheld_in_part_is_kept_from_others(
    version: Version, tmp_path: Path
) -> None:
    strict = LENIENT | {"minimum_population": 10**6}
    common = Common()
    first, second = two(version, public(counts=strict), common, tmp_path)
    for one in (first, second):
        with pytest.raises(QueryRefused, match="Not available"):
            one.release(ask(version, "a,b"))
    assert common.kept == {}
    assert asked(second) == asked(first)


def test_another_version_of_data_or_policy_has_tables_of_its_own(
    version: Version, tmp_path: Path
) -> None:
    common = Common()
    first, second = two(version, public(), common, tmp_path)
    first.release(ask(version, "a"))
    other = replace(second, policy=replace(second.policy, version="u"))
    other.release(ask(version, "a"))
    assert asked(second) == ["by=a"]


def test_what_has_not_the_size_of_a_table_is_none(version: Version, tmp_path: Path) -> None:
    common = Common()
    first, second = two(version, public(), common, tmp_path)
    made = first.release(ask(version, "a"))
    common.kept = {name: raw[:-8] for name, raw in common.kept.items()}
    again = second.release(ask(version, "a"))
    assert np.array_equal(again.table.values, made.table.values)
    assert asked(second) == ["by=a"]


def test_a_table_of_others_that_is_not_written_down_is_recorded(
    version: Version, tmp_path: Path
) -> None:
    """An older state was put back: what it lacks is measured and recorded once more."""
    common = Common()
    (tmp_path / "new").mkdir()
    first, _ = two(version, public(), common, tmp_path)
    first.release(ask(version, "a"))
    later, _ = two(version, public(), common, tmp_path / "new")
    later.release(ask(version, "a"))
    lines = [(folder / "records").read_text() for folder in (tmp_path, tmp_path / "new")]
    assert [line.count("risk_before") for line in lines] == [1, 1]


def test_a_quiet_releaser_offers_nothing(version: Version, tmp_path: Path) -> None:
    common = Common()
    first, _ = two(version, public(), common, tmp_path)
    first.quiet.release(ask(version, "a"))
    assert common.kept == {}
