"""The custodian's record of a release: exact risk and utility, never public."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from discreet.errors import Damaged, InternalError
from discreet.release import measures
from discreet.release.steps import Judged

ORIGINAL = "original records"
PROTECTED = "protected records"
"""What risk and utility of a record are measured from: a build may have altered the records."""

_CHECKSUM = "checksum"


@dataclass(frozen=True)
class Record:
    """What was decided on a complete table, with exact figures it would be wrong to publish."""

    question: str
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
    measured_from: str = PROTECTED
    # What was applied to this very table, and what decided on it.
    method: str = ""
    gate: str = ""
    multiplier: float | tuple[float, float] | None = None

    @classmethod
    def of(cls, found: Judged) -> Record:
        """Return the record of a table, whether it is released or refused."""
        making, areas = found.making, found.making.question.areas
        tier, true, inner = making.applied, found.true, found.figures
        rate = making.swap_rate
        measured = measures.Measures(None, None, {})
        if found.measured:
            measured = measures.measured(true, inner, tier, rate)
        return cls(
            making.question.canonical,
            making.tier.id,
            making.version.id,
            making.policy.version,
            "released" if found.code is None else str(found.code),
            making.of.cells,
            measured.before,
            measured.after,
            found.bound,
            measured.utility,
            () if areas is None else tuple(areas.dimension.codes[i] for i in found.missing),
            PROTECTED if making.version.manifest.get("protected_beforehand") else ORIGINAL,
            tier.protection.method,
            tier.risk.gate.value if tier.risk == making.tier.risk else "none",
            found.multiplier,
        )

    def as_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return dict(vars(self))


def append(path: Path, *records: Record) -> None:
    """Add records to the log, a line each; a release that cannot be recorded is not made.

    Lines are there whole, all of them, or not at all: what a full disk leaves of them is cut off
    again, so that the next one begins on a line of its own.
    """
    time = datetime.now(UTC).isoformat(timespec="seconds")
    lines = "".join(_line({"time": time, **record.as_dict()}) for record in records).encode()
    try:
        handle = os.open(path, os.O_APPEND | os.O_CREAT | os.O_RDWR, 0o600)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            end = os.fstat(handle).st_size
            if end and os.pread(handle, 1, end - 1) != b"\n":
                lines = b"\n" + lines  # a process was killed in the middle of a line
            try:
                whole = os.write(handle, lines) == len(lines)
            except OSError:
                os.ftruncate(handle, end)
                raise
            if not whole:
                os.ftruncate(handle, end)
        finally:
            os.close(handle)
    except OSError as error:
        raise InternalError("the release could not be recorded, so it was not made") from error
    if not whole:
        raise InternalError("the release could not be recorded whole, so it was not made")


def _line(said: dict[str, Any]) -> str:
    text = json.dumps(said)
    return f'{text[:-1]}, "{_CHECKSUM}": "{_digest(text)}"}}\n'


def verify(path: Path) -> int:
    """Return how many records a log holds; raise `Damaged` where a line is not as it was written.

    Lines of older programs have no checksum.
    """
    lines = path.read_bytes().splitlines()
    for number, line in enumerate(lines, 1):
        if not _is_whole(line):
            raise Damaged(f"line {number} of {path} is damaged. Put the file back from a backup.")
    return len(lines)


def _is_whole(line: bytes) -> bool:
    try:
        said = json.loads(line)
        mark = said.pop(_CHECKSUM, None)
    except (ValueError, AttributeError, RecursionError):
        return False
    known = {"time", *Record.__dataclass_fields__}
    return {"time", "question", "verdict"} <= set(said) <= known and mark in (None, _checksum(said))


def _checksum(said: dict[str, Any]) -> str:
    return _digest(json.dumps(said))


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()
