"""A lane: nobody waits for longer than is stated, and no place in it is lost."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Coroutine
from contextvars import Context
from typing import Any

import pytest

from discreet.errors import Busy
from discreet.service.lanes import Lane, begin_request


def run(work: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(work, 30))


def held(gate: threading.Event) -> Any:
    def work(stop: threading.Event) -> str:
        gate.wait(20)
        return "done"

    return work


def test_who_would_wait_too_long_is_turned_away_at_once() -> None:
    async def story() -> None:
        gate, lane = threading.Event(), Lane("test", workers=2, queue=100, seconds=30, wait=2)
        lane._mean = 1.0  # seconds that questions took of late
        running = [asyncio.create_task(lane.run(held(gate))) for _ in range(2)]
        await asyncio.sleep(0)
        # Of those who wait the first is expected to for 1 × 1 / 2 seconds, the fourth for 2.
        waiting = [asyncio.create_task(lane.run(held(gate))) for _ in range(4)]
        await asyncio.sleep(0)
        assert (lane.running, lane.waiting) == (2, 4)
        begin = time.monotonic()
        with pytest.raises(Busy) as busy:
            await lane.run(held(gate))
        assert time.monotonic() - begin < 1, "without waiting"
        assert busy.value.retry_after == 3  # 1 × 5 / 2 = 2.5 seconds, rounded up
        assert lane.shed == 1
        gate.set()
        assert await asyncio.gather(*running, *waiting) == ["done"] * 6
        assert (lane.running, lane.waiting) == (0, 0)
        lane.close()

    run(story())


def test_nobody_waits_longer_than_is_stated_whatever_was_expected() -> None:
    async def story() -> None:
        gate, lane = threading.Event(), Lane("test", workers=1, queue=100, seconds=30, wait=0.1)
        first = asyncio.create_task(lane.run(held(gate)))
        await asyncio.sleep(0)
        with pytest.raises(Busy):
            await lane.run(held(gate))  # nothing is known of how long questions take
        assert (lane.running, lane.waiting) == (1, 0)
        gate.set()
        assert await first == "done"
        assert await lane.run(held(gate)) == "done", "the place is free again"
        lane.close()

    run(story())


def test_who_goes_away_leaves_their_place() -> None:
    async def story() -> None:
        gate, lane = threading.Event(), Lane("test", workers=1, queue=100, seconds=30)
        first = asyncio.create_task(lane.run(held(gate)))
        second, third = (asyncio.create_task(lane.run(held(gate))) for _ in range(2))
        await asyncio.sleep(0)
        second.cancel()
        await asyncio.sleep(0)
        assert lane.waiting == 1
        gate.set()
        assert await asyncio.gather(first, third) == ["done", "done"]
        # One who is cancelled in the moment in which it is their turn.
        gate.clear()
        first = asyncio.create_task(lane.run(held(gate)))
        late = asyncio.create_task(lane.run(held(gate)))
        await asyncio.sleep(0)
        turn = lane._line[0]
        lane._leave()
        assert turn.done()
        late.cancel()
        lane.running += 1  # the first one has not left: this is only as if
        gate.set()
        await asyncio.gather(first, late, return_exceptions=True)
        assert (lane.running, lane.waiting) == (0, 0)
        lane.close()

    run(story())


def test_what_was_let_in_once_is_not_turned_away_halfway() -> None:
    """A table that was counted is written before another one is counted."""

    async def story() -> None:
        gate, lane = threading.Event(), Lane("test", workers=1, queue=100, seconds=30, wait=2)
        order: list[str] = []

        def named(name: str) -> Any:
            def work(stop: threading.Event) -> None:
                gate.wait(20)
                order.append(name)

            return work

        async def asked() -> None:
            begin_request()
            # In a task of its own, as where several readers ask the same.
            await asyncio.create_task(lane.run(named("counted")))
            gate.clear()
            for _ in range(2):
                one = asyncio.create_task(lane.run(named("other")), context=Context())
                later.append(one)
            await asyncio.sleep(0)
            lane._mean = 100.0  # whoever comes now is turned away…
            with pytest.raises(Busy):
                await asyncio.create_task(other())
            written = asyncio.create_task(lane.run(named("written")))  # …but not this one
            await asyncio.sleep(0)
            gate.set()
            await written

        async def other() -> None:
            begin_request()
            await lane.run(named("never"))

        later: list[asyncio.Task[None]] = []
        gate.set()
        await asyncio.create_task(asked())
        await asyncio.gather(*later)
        assert order == ["counted", "other", "written", "other"]
        lane.close()

    run(story())


def test_other_bounds_hold_from_the_next_question_on() -> None:
    async def story() -> None:
        gate, lane = threading.Event(), Lane("test", workers=1, queue=100, seconds=30)
        running = [asyncio.create_task(lane.run(held(gate))) for _ in range(3)]
        await asyncio.sleep(0)
        assert (lane.running, lane.waiting) == (1, 2)
        lane.resize(workers=3, queue=100, seconds=30, wait=30)
        running.append(asyncio.create_task(lane.run(held(gate))))
        gate.set()
        assert await asyncio.gather(*running) == ["done"] * 4
        lane.close()

    run(story())


def test_one_thread_takes_all_that_wait_and_makes_ready_for_all_at_once() -> None:
    async def story() -> None:
        gate = threading.Event()
        lane = Lane("test", workers=8, queue=100, seconds=30, threads=1)
        seen: list[list[Any]] = []
        threads: set[int] = set()

        def ahead(given: Any) -> None:
            seen.append([one for one, _ in given])
            threads.add(threading.get_ident())

        def named(name: str) -> Any:
            def work(stop: threading.Event) -> str:
                threads.add(threading.get_ident())
                assert not stop.is_set()
                return name

            return work

        first = asyncio.create_task(lane.run(held(gate), ahead, "first"))
        while not seen:
            await asyncio.sleep(0.001)
        others = [asyncio.create_task(lane.run(named(n), ahead, n)) for n in "abc"]
        alone = asyncio.create_task(lane.run(named("alone")))
        await asyncio.sleep(0)
        assert (lane.running, lane.waiting) == (5, 0)
        gate.set()
        assert await asyncio.gather(first, *others, alone) == ["done", *"abc", "alone"]
        assert seen == [["first"], ["a", "b", "c"]]
        assert len(threads) == 1
        lane.close()

    run(story())


def test_what_fails_for_all_or_for_one_fails_for_nobody_else() -> None:
    async def story() -> None:
        gate = threading.Event()
        lane = Lane("test", workers=8, queue=100, seconds=30, threads=1)

        def ahead(given: Any) -> None:
            raise ValueError("for all")

        def fails(stop: threading.Event) -> None:
            raise KeyError("for one")

        first = asyncio.create_task(lane.run(held(gate)))
        await asyncio.sleep(0)
        works = [lambda stop: "a", fails, lambda stop: "b"]
        others = [asyncio.create_task(lane.run(work, ahead, 0)) for work in works]
        gone = asyncio.create_task(lane.run(lambda stop: "gone", ahead, 0))
        await asyncio.sleep(0)
        gone.cancel()
        gate.set()
        found = await asyncio.gather(first, *others, gone, return_exceptions=True)
        assert found[:2] + found[3:4] == ["done", "a", "b"]
        assert isinstance(found[2], KeyError)
        assert isinstance(found[4], asyncio.CancelledError)
        assert (lane.running, lane.waiting) == (0, 0)
        lane.close()

    run(story())


def test_who_is_passed_over_while_they_go_away_takes_no_place() -> None:
    async def story() -> None:
        gate, lane = threading.Event(), Lane("test", workers=1, queue=100, seconds=30)
        first = asyncio.create_task(lane.run(held(gate)))
        going, staying = (asyncio.create_task(lane.run(held(gate))) for _ in range(2))
        await asyncio.sleep(0)
        going.cancel()  # not yet told when the place is free
        lane._leave()
        lane.running += 1  # the first one has not left: this is only as if
        gate.set()
        found = await asyncio.gather(first, going, staying, return_exceptions=True)
        assert found[0] == found[2] == "done"
        assert isinstance(found[1], asyncio.CancelledError)
        assert (lane.running, lane.waiting) == (0, 0)
        lane.close()

    run(story())


def test_a_thread_that_is_stuck_does_not_keep_the_others_waiting() -> None:
    async def story() -> None:
        gate = threading.Event()
        lane = Lane("test", workers=8, queue=100, seconds=30, threads=1)
        stuck = asyncio.create_task(lane.run(held(gate)))
        await asyncio.sleep(0.05)
        others = [asyncio.create_task(lane.run(lambda stop: "done")) for _ in range(3)]
        assert await asyncio.gather(*others) == ["done"] * 3
        assert not stuck.done()
        gate.set()
        assert await stuck == "done"
        lane.close()
        assert lane._threads_at_work == 0

    run(story())
