"""The log: one JSON line per request, and one for each trouble. No figure, no question.

What was asked is not in it, nor who asked, nor how large the answer was: sizes depend on the
figures, and questions are the readers' business.
"""

from __future__ import annotations

import sys
import traceback
from datetime import UTC, datetime
from typing import Any, TextIO

import orjson

from discreet.errors import Damaged, Sealed


class Log:
    """Writes lines to a stream, standard error if none is given."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream

    def write(self, **facts: Any) -> None:
        """Write one line."""
        time = datetime.now(UTC).isoformat(timespec="milliseconds")
        line = orjson.dumps({"time": time, **facts}).decode()
        stream = self._stream or sys.stderr
        try:
            stream.write(line + "\n")
            stream.flush()
        except OSError:
            pass  # a log that cannot be written must not take the answers with it

    def trouble(self, event: str, error: BaseException, **facts: Any) -> None:
        """Write where an error came from, without its message, which might hold a figure.

        What is said of a damaged or sealed store names files, and what to do about them.
        """
        frames = traceback.extract_tb(error.__traceback__)
        where = [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in frames]
        cause = error.__cause__
        if isinstance(error, (Damaged, Sealed)):
            facts["message"] = str(error)
        self.write(
            event=event,
            level="error",
            error=type(error).__name__,
            cause=None if cause is None else type(cause).__name__,
            where=where[-12:],
            **facts,
        )
