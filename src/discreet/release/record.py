"""The custodian's record of a release: exact risk and utility, never public."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from discreet.errors import InternalError


@dataclass(frozen=True)
class Record:
    """What was decided on a question, with the exact figures it would be wrong to publish."""

    question: str
    totals: str
    tier: str
    data_version: str
    policy_version: str
    verdict: str
    cells: int
    risk_before: float | None
    risk_after: float | None
    risk_public: float | None
    utility: dict[str, float | None]
    withheld: tuple[str, ...]

    def as_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return asdict(self)


def append(path: Path, record: Record) -> None:
    """Add a record to the log, one line; a release that cannot be recorded is not made."""
    line = json.dumps({"time": datetime.now(UTC).isoformat(timespec="seconds"), **record.as_dict()})
    try:
        handle = os.open(path, os.O_APPEND | os.O_CREAT | os.O_WRONLY, 0o600)
        try:
            written = os.write(handle, line.encode() + b"\n")
        finally:
            os.close(handle)
    except OSError as error:
        raise InternalError("the release could not be recorded, so it was not made") from error
    if written != len(line.encode()) + 1:
        raise InternalError("the release could not be recorded whole, so it was not made")
