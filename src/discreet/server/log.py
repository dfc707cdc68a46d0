"""The log: one JSON line per request, and one for each trouble. No figure, no question.

What was asked is not in it, nor who asked, nor how large the answer was: sizes depend on the
figures, and questions are the readers' business.
"""

from __future__ import annotations

import json
import logging
import sys
import threading
import traceback
from datetime import UTC, datetime
from typing import Any, TextIO

import orjson

from discreet.errors import Damaged, RecordsUnreachable, Sealed


class Log:
    """Writes lines to a stream, standard error if none is given; one of several workers says so."""

    def __init__(self, stream: TextIO | None = None, worker: int | None = None) -> None:
        self._stream = stream
        self._who = {} if worker is None else {"worker": worker}

    def write(self, **facts: Any) -> None:
        """Write one line."""
        facts = {"time": datetime.now(UTC).isoformat(timespec="milliseconds"), **self._who, **facts}
        try:
            line = orjson.dumps(facts).decode()
        except TypeError:  # a name of a file that is no text, say
            line = json.dumps(facts, default=repr)
        stream = self._stream or sys.stderr
        try:
            stream.write(line + "\n")
            stream.flush()
        except (OSError, ValueError):
            pass  # a log that cannot be written must not take the answers with it

    def capture(self) -> None:
        """Write what other packages, warnings and threads have to say as lines of this log."""
        root = logging.getLogger()
        root.handlers[:] = [_Lines(self)]
        logging.captureWarnings(True)
        for name in ("uvicorn", "uvicorn.error", "uvicorn.access", "asyncio"):
            logger = logging.getLogger(name)
            logger.handlers.clear()
            logger.propagate = True
        threading.excepthook = lambda told: self.trouble("thread", _of(told.exc_value))
        sys.unraisablehook = lambda told: self.trouble("unraisable", _of(told.exc_value))

    def trouble(self, event: str, error: BaseException, **facts: Any) -> None:
        """Write where an error came from, without its message, which might hold a figure.

        What is said of a damaged or sealed store, or of records that are not there, names files,
        and what to do about them.
        """
        error.logged = True  # type: ignore[attr-defined]
        frames = traceback.extract_tb(error.__traceback__)
        where = [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in frames]
        cause = error.__cause__
        if isinstance(error, (Damaged, Sealed)):
            facts["message"] = str(error)
        if isinstance(error, RecordsUnreachable):
            facts["message"] = f"{error.what} cannot be used: {error.reason}"
        self.write(
            event=event,
            level="error",
            error=type(error).__name__,
            cause=None if cause is None else type(cause).__name__,
            where=where[-12:],
            **facts,
        )


def _of(error: BaseException | None) -> BaseException:
    return RuntimeError() if error is None else error


class _Lines(logging.Handler):
    """Records of the standard library's logging as lines; what they say might hold a figure."""

    def __init__(self, log: Log) -> None:
        super().__init__(logging.WARNING)
        self._log = log

    def emit(self, record: logging.LogRecord) -> None:
        """Write one line."""
        error = record.exc_info[1] if record.exc_info else None
        if getattr(error, "logged", False):
            return
        if error is not None:
            self._log.trouble("log", error, logger=record.name)
        else:
            place = f"{record.pathname}:{record.lineno}"
            level = record.levelname.lower()
            self._log.write(event="log", level=level, logger=record.name, where=[place])
