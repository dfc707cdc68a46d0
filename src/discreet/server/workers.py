"""Several worker processes on one socket: started, told to stop or to read settings, replaced.

The supervisor answers nothing and opens no store. It forks the workers, so that they have the
socket and the shared memory; the first one opens the stores alone, and with that compiles what has
to be compiled.
"""

from __future__ import annotations

import math
import os
import shutil
import signal
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from contextlib import suppress
from types import FrameType

from discreet.errors import ParameterError
from discreet.server.clients import MOST
from discreet.server.log import Log
from discreet.server.metrics import FOLDER
from discreet.server.settings import Settings
from discreet.service.shared import Seat, Shared

MOST_WORKERS = 256
_POLL = 0.05  # seconds between two looks at the workers
_STUCK = 60.0  # seconds after which a worker that stands still is ended and replaced
_SLOWEST = 60.0  # seconds after which a worker that keeps ending is started again, at most
_OVERTIME = 5.0  # seconds beyond `drain` and `grace` that a worker has to end
_HANDLED = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)

Work = Callable[[Seat, Settings], None]


class Supervisor:
    """Keeps `workers` processes at work until it is told to stop."""

    def __init__(
        self,
        work: Work,
        workers: int,
        settings: Settings,
        reread: Callable[[], Settings] | None,
    ) -> None:
        self._work = work
        self._settings = settings
        self._reread = reread
        self._shared = Shared(workers, settings.limits.common_bytes, MOST)
        self._log = Log()
        self._pids: dict[int, int] = {}  # by seat
        self._again: dict[int, float] = {}  # when an empty seat is taken again
        self._failures = [0] * workers
        self._told: list[int] = []

    def run(self, listening: Callable[[], None]) -> None:
        """Return when all workers have ended after SIGTERM; raise KeyboardInterrupt on Ctrl-C."""
        folder = tempfile.mkdtemp(prefix="discreet-")
        os.environ[FOLDER] = folder
        before = {number: signal.signal(number, self._tell) for number in _HANDLED}
        try:
            self._again = {0: 0.0}
            self._fill()
            listening()
            told = self._keep()
            self._stop(told)
        finally:
            for pid in self._pids.values():
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            for number, handler in before.items():
                signal.signal(number, handler)
            shutil.rmtree(folder, ignore_errors=True)
        if told == signal.SIGINT:
            raise KeyboardInterrupt

    def _tell(self, number: int, frame: FrameType | None) -> None:
        self._told.append(number)

    def _keep(self) -> int:
        """Keep the seats taken until a signal says to stop; return which."""
        begun = False
        while True:
            while self._told:
                number = self._told.pop(0)
                if number != signal.SIGHUP:
                    return number
                self._reload()
            if not begun and any(self._shared.tallies["ready"].known):
                begun = True
                self._again |= dict.fromkeys(range(1, self._shared.workers), 0.0)
            self._end_stuck()
            self._reap()
            self._fill()
            time.sleep(_POLL)

    def _reload(self) -> None:
        """Have all workers read the settings again; they say what is wrong with them."""
        if self._reread is not None:
            with suppress(ParameterError, OSError):
                self._settings = self._reread()
        self._signal(signal.SIGHUP)

    def _signal(self, number: int) -> None:
        for pid in self._pids.values():
            with suppress(ProcessLookupError):
                os.kill(pid, number)

    def _end_stuck(self) -> None:
        """End workers that have begun, and then have stood still for so long that none goes on."""
        seen, now = self._shared.tallies["seen"], time.monotonic()
        for seat, pid in self._pids.items():
            if now - seen.of(seat) > _STUCK:
                self._log.write(event="worker", level="error", worker=seat, status="stands still")
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
                self._shared.tallies["seen"].set(seat, math.nan)

    def _reap(self) -> None:
        """Notice workers that have ended; a seat that is left again and again is taken later."""
        for seat, status in self._ended():
            ready = self._shared.tallies["ready"].of(seat) == 1
            self._failures[seat] = 0 if ready else self._failures[seat] + 1
            wait = min(_SLOWEST, 2.0 ** (self._failures[seat] - 1)) if self._failures[seat] else 0.0
            self._again[seat] = time.monotonic() + wait
            self._shared.clear(seat)
            self._log.write(
                event="worker", level="error", worker=seat, status=status, again_in=wait
            )

    def _ended(self) -> list[tuple[int, int]]:
        """Return the seats whose workers have ended, with their exit status or minus the signal."""
        found = []
        for seat, pid in tuple(self._pids.items()):
            ended, status = os.waitpid(pid, os.WNOHANG)
            if ended:
                del self._pids[seat]
                found.append((seat, os.waitstatus_to_exitcode(status)))
        return found

    def _fill(self) -> None:
        now = time.monotonic()
        for seat in [seat for seat, when in self._again.items() if when <= now]:
            del self._again[seat]
            self._pids[seat] = self._fork(seat)

    def _fork(self, seat: int) -> int:
        """Start a worker; no signal is lost between its beginning and its own handlers."""
        parent = os.getpid()
        signal.pthread_sigmask(signal.SIG_BLOCK, _HANDLED)
        try:
            with warnings.catch_warnings():
                # The threads are those of the linear algebra, which knows about forks.
                warnings.simplefilter("ignore", DeprecationWarning)
                pid = os.fork()
            if pid == 0:
                self._become(seat, parent)
        finally:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, _HANDLED)
        return pid

    def _become(self, seat: int, parent: int) -> None:
        """Be a worker, in a group of its own: Ctrl-C in a terminal is for the supervisor."""
        status = 1
        try:
            os.setpgrp()
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            signal.signal(signal.SIGINT, signal.default_int_handler)
            # SIGHUP waits until the settings can be read again.
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM, signal.SIGINT})
            self._work(Seat(self._shared, seat, parent), self._settings)
            status = 0
        except KeyboardInterrupt:
            status = 0
        except SystemExit as error:
            status = error.code if isinstance(error.code, int) else 1
        except BaseException as error:
            Log(worker=seat).trouble("worker", error)
        finally:
            with suppress(OSError, ValueError):
                sys.stderr.flush()
            os._exit(status)

    def _stop(self, told: int) -> None:
        """Have all workers finish; those who take too long are killed."""
        self._again.clear()
        self._signal(told)
        end = time.monotonic() + self._settings.grace + self._settings.drain + _OVERTIME
        while self._pids and time.monotonic() < end:
            self._ended()
            while self._told:
                self._signal(self._told.pop(0))
            time.sleep(_POLL)
