"""Work in threads, with bounds on how many run, how many wait, and how long they may take."""

from __future__ import annotations

import asyncio
import math
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar
from threading import Event
from typing import TypeVar

from discreet.errors import Busy, Stopped, TooLong
from discreet.service.shared import Seat

Answer = TypeVar("Answer")
_REQUEST: ContextVar[set[str] | None] = ContextVar("request", default=None)
_RECENT = 0.1  # weight of the last question in the mean of what questions take


def begin_request() -> None:
    """Let what follows in this task count as one request, which is turned away at once or never."""
    _REQUEST.set(set())


class Lane:
    """A bounded queue in front of a few threads.

    There are two: questions that a view answers do not wait behind those that read the records.
    Whoever would wait for longer than `wait` seconds is turned away at once, and told when to come
    back: a late answer helps nobody, and makes the next one later still. A request that was let in
    once goes before others, or what was done for it would be lost.

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
    ) -> None:
        self.running = 0
        self.shed = 0
        self._name = name
        self._seat = seat
        self._line: deque[asyncio.Future[None]] = deque()
        self._mean = 0.0
        self._pool: ThreadPoolExecutor | None = None
        self.resize(workers, queue, seconds, seconds if wait is None else wait)

    def resize(self, workers: int, queue: int, seconds: float, wait: float) -> None:
        """Have other bounds from now on; what runs is finished as it began."""
        before, self._pool = self._pool, ThreadPoolExecutor(workers, thread_name_prefix=self._name)
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

    async def run(self, work: Callable[[Event], Answer]) -> Answer:
        """Return what the work returns; it is given an event that tells it to stop."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self.seconds
        await self._turn()
        stop = Event()
        timer = loop.call_at(deadline, stop.set)
        begin = loop.time()
        try:
            return await loop.run_in_executor(self._pool, work, stop)
        except Stopped:
            raise TooLong("The question took too long and was stopped.") from None
        finally:
            stop.set()  # whoever asked is gone: nobody waits for what may still run
            timer.cancel()
            self._mean += _RECENT * (loop.time() - begin - self._mean)
            self._leave()

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
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        (self._line.appendleft if first else self._line.append)(turn)
        self._tell()
        try:
            await asyncio.wait({turn}, timeout=seconds)
        except asyncio.CancelledError:
            self._give_up(turn)
            raise
        if not turn.done():
            self._give_up(turn)
            raise self._busy(self.expected())

    def _give_up(self, turn: asyncio.Future[None]) -> None:
        """Leave the line, or the place in front of it if it was just reached."""
        if turn.done():
            self._leave()
        else:
            self._line.remove(turn)
            self._tell()

    def _leave(self) -> None:
        """Make room for whoever is next."""
        self.running -= 1
        while self._line and self.running < self.workers:
            self.running += 1
            self._line.popleft().set_result(None)
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
