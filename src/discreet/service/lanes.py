"""Work in threads, with bounds on how many run, how many wait, and how long they may take."""

from __future__ import annotations

import asyncio
import math
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from threading import Event, Lock
from time import perf_counter
from typing import Any, TypeVar

from discreet.errors import Busy, Stopped, TooLong
from discreet.service.shared import Seat

Answer = TypeVar("Answer")
_REQUEST: ContextVar[set[str] | None] = ContextVar("request", default=None)
_RECENT = 0.1  # weight of the last question in the mean of what questions take
_LATE = 0.01  # seconds for which an answer may be held back so that others go with it
_STUCK = 0.5  # seconds after which what waits for a thread is given another one…
_SPARE = 4  # …up to so many

Ahead = Callable[[Sequence[tuple[Any, Event]]], None]
"""What is done for several questions at once before each is answered: each with what stops it."""


def begin_request() -> None:
    """Let what follows in this task count as one request, which is turned away at once or never."""
    _REQUEST.set(set())


@dataclass(eq=False)
class _Item:
    """Work that waits for a thread, and what was found."""

    work: Callable[[Event], Any]
    ahead: Ahead | None
    given: Any
    future: asyncio.Future[Any]
    stop: Event = field(default_factory=Event)
    taken: bool = False
    found: Any = None
    error: BaseException | None = None

    def do(self) -> None:
        """Do the work."""
        try:
            self.found = self.work(self.stop)
        except BaseException as error:
            self.error = error

    def hand_over(self) -> None:
        """Give whoever waits what was found."""
        if self.future.done():
            return  # they are gone
        if self.error is None:
            self.future.set_result(self.found)
        else:
            self.future.set_exception(self.error)


class Lane:
    """A bounded queue in front of a few threads.

    There are two: questions that a view answers do not wait behind those that read the records.
    Whoever would wait for longer than `wait` seconds is turned away at once, and told when to come
    back: a late answer helps nobody, and makes the next one later still. A request that was let in
    once goes before others, or what was done for it would be lost.

    As many questions are worked on at a time as there are `workers`, each by a thread; or, where
    that is said, by fewer `threads`: one then takes all that wait for it, and what can be done for
    several at once is. Threads of one process take turns, so that more of them answer no more; only
    if one is stuck, waiting for a database say, another goes on with the rest.

    Of several worker processes each has threads and a line of its own (`seat`); how many may wait
    is counted over all of them.
    """

    def __init__(
        self,
        name: str,
        workers: int,
        queue: int,
        seconds: float,
        wait: float | None = None,
        seat: Seat | None = None,
        threads: int | None = None,
    ) -> None:
        self.running = 0
        self.shed = 0
        self._name = name
        self._threads = threads
        self._lock = Lock()
        self._todo: deque[_Item] = deque()
        self._threads_at_work = 0
        self._seat = seat
        self._line: deque[asyncio.Future[bool]] = deque()
        self._mean = 0.0
        self._pool: ThreadPoolExecutor | None = None
        self.resize(workers, queue, seconds, seconds if wait is None else wait)

    def resize(self, workers: int, queue: int, seconds: float, wait: float) -> None:
        """Have other bounds from now on; what runs is finished as it began."""
        many = workers if self._threads is None else min(workers, max(self._threads, _SPARE))
        before, self._pool = self._pool, ThreadPoolExecutor(many, thread_name_prefix=self._name)
        self._usual, self._most = min(many, self._threads or many), many
        self.workers, self.queue, self.seconds, self.wait = workers, queue, seconds, wait
        if before is not None:
            before.shutdown(wait=False)

    @property
    def waiting(self) -> int:
        """How many wait."""
        return len(self._line)

    def expected(self) -> float:
        """Return the seconds that one more question would probably wait."""
        if self.running < self.workers:
            return 0.0
        return self._mean * (len(self._line) + 1) / self.workers

    async def run(
        self, work: Callable[[Event], Answer], ahead: Ahead | None = None, given: Any = None
    ) -> Answer:
        """Return what the work returns; it is given an event that tells it to stop.

        First `ahead` is called with what was `given`, for all at once that wait and have the same.
        Whether it succeeds is of no matter to the work, which does what is left to do.
        """
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self.seconds
        await self._turn()
        item = _Item(work, ahead, given, loop.create_future())
        timer = loop.call_at(deadline, item.stop.set)
        begin = loop.time()
        self._todo.append(item)
        stuck = loop.call_later(_STUCK, self._begin, loop, item)
        try:
            self._begin(loop)
            found: Answer = await item.future
            return found
        except Stopped:
            raise TooLong("The question took too long and was stopped.") from None
        finally:
            item.stop.set()  # whoever asked is gone: nobody waits for what may still run
            timer.cancel()
            stuck.cancel()
            self._mean += _RECENT * (loop.time() - begin - self._mean)
            self._leave()

    def _begin(self, loop: asyncio.AbstractEventLoop, stuck: _Item | None = None) -> None:
        """Have a thread do what is to be done, unless enough do; one more for what is stuck."""
        most = self._usual if stuck is None else self._most
        with self._lock:
            if self._threads_at_work >= most or (stuck is not None and stuck.taken):
                return
            self._threads_at_work += 1
        assert self._pool is not None
        self._pool.submit(self._work, loop)

    def _work(self, loop: asyncio.AbstractEventLoop) -> None:
        """Do what is to be done until nothing is left."""
        while True:
            with self._lock:
                many = len(self._todo) if self._threads else min(1, len(self._todo))
                items = [self._todo.popleft() for _ in range(many)]
                if not items:
                    self._threads_at_work -= 1
                    return
                for item in items:
                    item.taken = True
            self._do(items, loop)

    def _do(self, items: Sequence[_Item], loop: asyncio.AbstractEventLoop) -> None:
        groups: dict[Ahead, list[tuple[Any, Event]]] = {}
        for item in items:
            if item.ahead is not None:
                groups.setdefault(item.ahead, []).append((item.given, item.stop))
        for ahead, given in groups.items():
            with suppress(Exception):  # then each does it for itself, and tells what is wrong
                ahead(given)
        done, since = list[_Item](), perf_counter()
        for item in items:
            item.do()
            done.append(item)
            if item is items[-1] or perf_counter() - since > _LATE:
                with suppress(RuntimeError):  # the loop is closed: nobody waits
                    loop.call_soon_threadsafe(_hand_over, done)
                done, since = [], perf_counter()

    async def _turn(self) -> None:
        """Wait until there is a thread, or raise `Busy`."""
        let_in = _REQUEST.get()
        if let_in:
            await self._stand(True, self.seconds)
            return
        if self.running < self.workers and not self._line:
            self.running += 1
        else:
            expected = self.expected()
            if self._in_all() >= self.queue or expected > self.wait:
                raise self._busy(expected)
            await self._stand(False, min(self.wait, self.seconds))
        if let_in is not None:
            let_in.add(self._name)

    async def _stand(self, first: bool, seconds: float) -> None:
        """Stand in line, at its front or at its end, for so many seconds at most."""
        if self.running < self.workers:
            self.running += 1
            return
        loop = asyncio.get_running_loop()
        turn: asyncio.Future[bool] = loop.create_future()
        (self._line.appendleft if first else self._line.append)(turn)
        self._tell()
        timer = loop.call_later(seconds, self._give_up, turn)
        try:
            reached = await turn
        except asyncio.CancelledError:
            if turn.cancelled():
                with suppress(ValueError):  # passed over by now
                    self._line.remove(turn)
                self._tell()
            elif turn.result():  # the place was just reached
                self._leave()
            raise
        finally:
            timer.cancel()
        if not reached:
            raise self._busy(self.expected())

    def _give_up(self, turn: asyncio.Future[bool]) -> None:
        """Leave the line: it took too long."""
        if not turn.done():
            self._line.remove(turn)
            self._tell()
            turn.set_result(False)

    def _leave(self) -> None:
        """Make room for whoever is next."""
        self.running -= 1
        while self._line and self.running < self.workers:
            turn = self._line.popleft()
            if not turn.done():
                self.running += 1
                turn.set_result(True)
        self._tell()

    def _tell(self) -> None:
        """Let the other workers know how many wait here."""
        if self._seat is not None:
            self._seat.tell(f"waiting_{self._name}", len(self._line))

    def _in_all(self) -> float:
        """Return how many wait, in all workers."""
        own = len(self._line)
        return own if self._seat is None else own + sum(self._seat.others(f"waiting_{self._name}"))

    def _busy(self, expected: float) -> Busy:
        self.shed += 1
        return Busy(max(1, math.ceil(expected)))

    def close(self) -> None:
        """Wait for the threads to finish."""
        if self._pool is not None:
            self._pool.shutdown(wait=True)


def _hand_over(items: Sequence[_Item]) -> None:
    for item in items:
        item.hand_over()
