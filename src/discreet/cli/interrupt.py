"""Ctrl-C at any moment: the work is left in good order, and no traceback is printed.

A KeyboardInterrupt that is raised within an import can be printed or lost by the package that is
being imported, and one raised within a finaliser is always lost. So an import is finished first,
and what was lost is raised again a moment later.
"""

from __future__ import annotations

import atexit
import os
import signal
import sys
import threading

from discreet.cli import STOPPED

TYPE_CHECKING = False  # as little as possible is imported before Ctrl-C is minded
if TYPE_CHECKING:
    from types import FrameType
    from typing import Any, Self

_MOMENT = 0.01  # seconds


class Interrupts:
    """What Ctrl-C does while a command runs; `asked` says whether it was pressed."""

    def __init__(self) -> None:
        self.asked = False
        self.leaving = False

    def __enter__(self) -> Self:
        self._unraisable = sys.unraisablehook
        # Whoever starts a program in the background may have told it to ignore Ctrl-C.
        ignored = signal.getsignal(signal.SIGINT) in (signal.SIG_IGN, None)
        if threading.current_thread() is threading.main_thread() and not ignored:
            signal.signal(signal.SIGALRM, _again)
            signal.signal(signal.SIGINT, self._interrupted)
            sys.unraisablehook = self._lost
            atexit.register(_end)
        try:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        except KeyboardInterrupt:  # it waited for this, and `__exit__` is not called
            self.leaving = True
            raise
        return self

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        """Raise KeyboardInterrupt for whatever an interrupted package has made of it."""
        # The handler stays: the interpreter may still wait for threads.
        sys.unraisablehook = self._unraisable
        if isinstance(error, SystemExit):
            # This is how typer ends a command on Ctrl-C; one that stops by itself has said so.
            cause = getattr(error.__context__, "__cause__", None)
            self.leaving = isinstance(cause, KeyboardInterrupt)
        elif error is not None:
            self.leaving = self.asked or isinstance(error, KeyboardInterrupt)
        if self.leaving:
            # What a finaliser makes of half-done work, such as half a file, is no news.
            sys.unraisablehook = lambda what: None
            raise KeyboardInterrupt from None

    def _interrupted(self, number: int, frame: FrameType | None) -> None:
        if _ending(frame):  # only the wait for other threads is left
            os.write(2, b"" if self.leaving else STOPPED.encode())
            os._exit(130)
        if self.leaving:
            return
        self.asked = True
        if _importing(frame):
            signal.setitimer(signal.ITIMER_REAL, _MOMENT)
        else:
            raise KeyboardInterrupt

    def _lost(self, what: sys.UnraisableHookArgs) -> None:
        if issubclass(what.exc_type, KeyboardInterrupt):
            signal.setitimer(signal.ITIMER_REAL, _MOMENT)
        elif not (self.asked or self.leaving):
            self._unraisable(what)


def _again(number: int, frame: FrameType | None) -> None:
    # Whoever minds Ctrl-C by now: a server has a handler of its own.
    signal.raise_signal(signal.SIGINT)


def _end() -> None:
    # The work is done, and the last moments of the interpreter would die of either signal.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.setitimer(signal.ITIMER_REAL, 0)


def _ending(frame: FrameType | None) -> bool:
    """Whether the interpreter is on its way out; the main thread is alive when that begins."""
    last: Any = getattr(threading, "_shutdown", None)
    while frame is not None:
        if last is not None and frame.f_code is last.__code__:
            return True
        frame = frame.f_back
    return not threading.main_thread().is_alive()


def _importing(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            return True
        frame = frame.f_back
    return False
