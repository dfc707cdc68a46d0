"""Tables that are written down together: one commit for all that wait, and each its own error."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import pytest

from discreet.errors import InternalError, LedgerUnavailable
from discreet.ledger import Database, Ledger, Status
from discreet.query import QuestionClass
from ledgers import ledger, of

FREE = ("sex", "band", "sex,band")
"""Classes that are not guarded: they are written down when they are made, and not before."""


def counted(kept: Ledger, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return a list that grows by one for each transaction that writes."""
    seen: list[str] = []
    writing = kept.database.writing

    @contextmanager
    def one_more(dataset: str) -> Iterator[Any]:
        seen.append(dataset)
        with writing(dataset) as transaction:
            yield transaction

    monkeypatch.setattr(kept.database, "writing", one_more)
    return seen


def until(true: Callable[[], bool]) -> None:
    end = monotonic() + 30
    while not true():
        assert monotonic() < end
        sleep(0.005)


def settle(
    kept: Ledger, name: str, record: Callable[[list[QuestionClass]], None] | None = None
) -> list[str]:
    return [one.name for one in kept.settle_all({of(name): Status.RELEASED}, record)]


@pytest.fixture
def kept(tmp_path: Path) -> Ledger:
    return ledger(Database.of(tmp_path / "state.db"))


class Held:
    """A record that is being written until it is let go, and then perhaps fails."""

    def __init__(self, fails: bool = False) -> None:
        self.begun, self.go, self.fails = threading.Event(), threading.Event(), fails

    def __call__(self, made: list[QuestionClass]) -> None:
        self.begun.set()
        assert self.go.wait(30)
        if self.fails:
            raise InternalError("no room")


def test_those_that_wait_are_written_down_at_once(
    kept: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen, held = counted(kept, monkeypatch), Held()
    with ThreadPoolExecutor(3) as pool:
        first = pool.submit(settle, kept, FREE[0], held)
        assert held.begun.wait(30)
        others = [pool.submit(settle, kept, name) for name in FREE[1:]]
        until(lambda: len(kept._queue) == 2)
        assert not any(one.done() for one in others)
        held.go.set()
        assert [one.result(30) for one in (first, *others)] == [[name] for name in FREE]
    assert len(seen) == 2  # one for the first, and one for the two that waited for it
    assert {entry.route.asked.name for entry in kept.entries()} == set(FREE)


def test_what_cannot_be_recorded_takes_no_other_with_it(kept: Ledger) -> None:
    held, bad = Held(), Held(fails=True)
    bad.go.set()
    with ThreadPoolExecutor(3) as pool:
        first = pool.submit(settle, kept, FREE[0], held)
        assert held.begun.wait(30)
        failing = pool.submit(settle, kept, FREE[1], bad)
        until(lambda: len(kept._queue) == 1)
        other = pool.submit(settle, kept, FREE[2])
        until(lambda: len(kept._queue) == 2)
        held.go.set()
        assert [first.result(30), other.result(30)] == [[FREE[0]], [FREE[2]]]
        with pytest.raises(InternalError, match="no room"):
            failing.result(30)
    assert {entry.route.asked.name for entry in kept.entries()} == {FREE[0], FREE[2]}


def test_what_was_recorded_is_recorded_once_though_another_fails(kept: Ledger) -> None:
    held, bad, lines = Held(), Held(fails=True), list[QuestionClass]()
    bad.go.set()
    with ThreadPoolExecutor(3) as pool:
        first = pool.submit(settle, kept, FREE[0], held)
        assert held.begun.wait(30)
        good = pool.submit(settle, kept, FREE[2], lines.extend)  # recorded before the other fails
        until(lambda: len(kept._queue) == 1)
        failing = pool.submit(settle, kept, FREE[1], bad)
        until(lambda: len(kept._queue) == 2)
        held.go.set()
        assert [first.result(30), good.result(30)] == [[FREE[0]], [FREE[2]]]
        with pytest.raises(InternalError, match="no room"):
            failing.result(30)
    assert lines == [of(FREE[2])]


def test_what_was_recorded_and_not_written_down_is_recorded_once(
    kept: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = list[QuestionClass]()
    with monkeypatch.context() as patched:
        patched.setattr(kept.database, "writing", _without_end(kept))
        for _ in range(2):
            with pytest.raises(LedgerUnavailable):
                settle(kept, FREE[0], lines.extend)
    assert settle(kept, FREE[0], lines.extend) == [FREE[0]]
    assert lines == [of(FREE[0])]
    # What has become of it otherwise is another line.
    assert kept.settle_all({of(FREE[0]): Status.REFUSED}, lines.extend) == [of(FREE[0])]
    assert lines == [of(FREE[0])] * 2


def _without_end(kept: Ledger) -> Callable[[str], Any]:
    """Return what gives transactions that cannot be ended."""
    writing = kept.database.writing

    @contextmanager
    def writes(dataset: str) -> Iterator[Any]:
        with writing(dataset) as transaction:
            yield transaction
            raise LedgerUnavailable("the disk is gone")

    return writes


def test_what_may_yet_fail_is_not_known(kept: Ledger) -> None:
    held = Held(fails=True)
    with ThreadPoolExecutor(2) as pool:
        failing = pool.submit(settle, kept, FREE[0], held)
        assert held.begun.wait(30)
        again = pool.submit(settle, kept, FREE[0])
        until(lambda: len(kept._queue) == 1)  # it waits, though it is in memory by now
        held.go.set()
        with pytest.raises(InternalError, match="no room"):
            failing.result(30)
        assert again.result(30) == [FREE[0]]  # and has to write it down itself
    assert settle(kept, FREE[0]) == []
