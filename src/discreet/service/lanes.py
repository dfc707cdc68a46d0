"""Work in threads, with bounds on how many run, how many wait, and how long they may take."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import TypeVar

from discreet.errors import Busy, Stopped, TooLong

Answer = TypeVar("Answer")


class Lane:
    """A bounded queue in front of a few threads.

    There are two: questions that a view answers do not wait behind those that read the records.
    """

    def __init__(self, name: str, workers: int, queue: int, seconds: float) -> None:
        self.queue = queue
        self.seconds = seconds
        self.waiting = 0
        self.running = 0
        self._free = asyncio.Semaphore(workers)
        self._pool = ThreadPoolExecutor(workers, thread_name_prefix=name)

    async def run(self, work: Callable[[Event], Answer]) -> Answer:
        """Return what the work returns; it is given an event that tells it to stop."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self.seconds
        if self._free.locked() and self.waiting >= self.queue:
            raise Busy
        self.waiting += 1
        try:
            async with asyncio.timeout_at(deadline):
                await self._free.acquire()
        except TimeoutError:
            raise Busy from None
        finally:
            self.waiting -= 1
        stop = Event()
        timer = loop.call_at(deadline, stop.set)
        self.running += 1
        try:
            return await loop.run_in_executor(self._pool, work, stop)
        except Stopped:
            raise TooLong("The question took too long and was stopped.") from None
        finally:
            stop.set()  # whoever asked is gone: nobody waits for what may still run
            timer.cancel()
            self.running -= 1
            self._free.release()

    def close(self) -> None:
        """Wait for the threads to finish."""
        self._pool.shutdown(wait=True)
