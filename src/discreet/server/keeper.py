"""What a server does besides answering: it reads every file again now and then."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from threading import Event
from time import sleep

from discreet.errors import Stopped
from discreet.server.log import Log
from discreet.service import Service

_REST = 0.02  # seconds of rest after every 4 MiB, so that questions hardly notice


class Keeper:
    """Compares the files of all stores with their checksums on a schedule."""

    def __init__(self, service: Service, log: Log, seconds: int) -> None:
        self.seconds = seconds
        self._service = service
        self._log = log
        self._stopping = Event()
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin; the first time is after a whole interval, for opening a store reads it all."""
        self._task = asyncio.create_task(self._run())

    async def stop(self) -> None:
        """End, in the middle of a file if need be."""
        self._stopping.set()
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task

    async def _run(self) -> None:
        while True:
            await asyncio.sleep(self.seconds or 60)
            if self.seconds:
                await self.verify()

    async def verify(self) -> None:
        """Read everything once; what is damaged is logged, and no answer from it is kept."""
        try:
            found = await asyncio.to_thread(self._service.catalogue.verify, self._rest)
        except Stopped:
            return
        except Exception as error:  # a disk that fails must not end the schedule
            self._log.trouble("verify", error)
            return
        for version, damage in found:
            self._log.trouble("damage", damage)
            self._service.cache.forget(version)

    def _rest(self) -> None:
        if self._stopping.is_set():
            raise Stopped("the server stops")
        sleep(_REST)
