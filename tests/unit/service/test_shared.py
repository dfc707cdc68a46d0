"""What workers share: answers that are whole or not there, tallies, and buckets in common."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable
from threading import Thread

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import Busy
from discreet.server.clients import Buckets
from discreet.service.asked import File
from discreet.service.lanes import Lane
from discreet.service.shared import Answers, Seat, Shared, Tokens, Turn


def file(body: bytes, tag: str = "", link: str = "") -> File:
    return File(body, None, "text/csv", "a.csv", tag, True, link)


def named(number: int) -> bytes:
    return (number + 1).to_bytes(16, "big")


def in_another_process(work: Callable[[], None]) -> int:
    """Run some work in a process that ends with it; return how it ended."""
    pid = os.fork()
    if pid == 0:
        try:
            work()
            os._exit(0)
        except BaseException:
            os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def test_a_file_comes_back_as_it_was_kept_by_another_process() -> None:
    answers = Answers(100_000)
    kept = File(b"sex,count\n1,3\n", b"packed", "text/csv", "x.csv", "ab12", False, "table/meta")
    assert in_another_process(lambda: answers.put(named(1), kept)) == 0
    found = answers.get(named(1))
    assert found is not None
    assert vars(found) == vars(kept)
    assert answers.get(named(2)) is None


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 900)), max_size=80))
def test_the_oldest_are_written_over_and_nothing_false_is_found(
    puts: list[tuple[int, int]],
) -> None:
    answers, last = Answers(4_000), dict[int, bytes]()
    for number, size in puts:
        last[number] = bytes([number]) * size
        answers.put(named(number), file(last[number]))
        found = answers.get(named(number))
        assert found is not None
        assert found.body == last[number]
    for number, body in last.items():
        found = answers.get(named(number))
        assert found is None or found.body == body
    assert answers.used <= 4_000


def test_a_file_that_would_take_the_place_of_most_others_is_not_kept() -> None:
    answers = Answers(4_000)
    answers.put(named(1), file(b"x" * 1_000))  # more than a quarter with what is said of it
    assert answers.get(named(1)) is None
    answers.put(named(1), file(b"x" * 900))
    assert answers.get(named(1)) is not None


def test_what_is_torn_is_not_there() -> None:
    answers = Answers(10_000)
    answers.put(named(1), file(b"x" * 100))
    where = answers._memory.find(b"x" * 100)
    answers._memory[where + 50 : where + 51] = b"y"
    assert answers.get(named(1)) is None


def test_a_worker_that_is_killed_in_its_turn_keeps_nobody_waiting() -> None:
    answers = Answers(10_000)

    def killed() -> None:
        with answers._turn:
            os.kill(os.getpid(), signal.SIGKILL)

    assert in_another_process(killed) == -signal.SIGKILL
    answers.put(named(1), file(b"x"))
    assert answers.get(named(1)) is not None


def test_turns_of_several_threads_are_not_taken_for_a_deadlock() -> None:
    """The system looks at processes: each has one of two turns, and waits for the other's.

    But it is another thread that waits, so that both turns end. A turn that fails because of that
    must not be held for ever, by nobody.
    """
    one, two = Turn(), Turn()
    (ready, there), (go, gone) = os.pipe(), os.pipe()

    def hold(turn: Turn, until: Callable[[], object], wanted: Turn, took: list[int]) -> None:
        """Have a turn, and take the other in a second thread before that ends."""

        def want() -> None:
            with wanted:
                took.append(1)

        waiting = Thread(target=want)
        with turn:
            until()
            waiting.start()
            waiting.join(0.5)
        waiting.join(10)

    child = os.fork()
    if child == 0:
        took: list[int] = []

        def begin() -> None:
            os.write(there, b"x")
            os.read(go, 1)

        hold(two, begin, one, took)
        os._exit(0 if took else 1)
    took = []

    def both() -> None:
        os.read(ready, 1)
        os.write(gone, b"x")

    hold(one, both, two, took)
    assert took
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_a_bucket_is_one_for_all_workers() -> None:
    tokens = Tokens(100)
    mine, others = (Buckets(3, lambda: 5.0, "address", tokens) for _ in range(2))
    assert in_another_process(lambda: exit_unless(others.take("a", 30) == 0)) == 0
    assert others.take("a", 30) == 0
    # Two of three tokens are gone, one of them in a process that has ended.
    assert mine.take("a", 30) == 0
    assert mine.take("a", 30) == 2
    assert Buckets(3, lambda: 5.0, "account", tokens).take("a", 30) == 0, "of another kind"


def exit_unless(found: bool) -> None:
    if not found:
        raise AssertionError


def test_clients_beyond_the_room_take_the_place_of_the_one_seen_longest_ago() -> None:
    tokens = Tokens(8)
    for i in range(9):
        tokens.put(str(i), (1.0, float(i + 1)))
    assert tokens.get("0") is None
    assert [tokens.get(str(i)) for i in (1, 8)] == [(1.0, 2.0), (1.0, 9.0)]


def test_how_many_may_wait_is_counted_over_all_workers() -> None:
    shared = Shared(3, 10_000, 10)
    lane = Lane("light", 1, queue=5, seconds=9, seat=Seat(shared, 0))
    lane.running = 1
    Seat(shared, 1).tell("waiting_light", 2)
    Seat(shared, 2).tell("waiting_light", 3)
    with pytest.raises(Busy):
        asyncio.run(lane._turn())
    shared.clear(2)  # that worker has ended
    assert lane._in_all() == 2


def test_a_share_is_one_at_least() -> None:
    seat = Seat(Shared(3, 10_000, 10), 0)
    assert [seat.share(whole) for whole in (1, 3, 4, 200)] == [1, 1, 2, 67]
