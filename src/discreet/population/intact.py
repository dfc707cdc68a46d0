"""Files that are still as they were written: checksums, and a look before every use.

Columns are mapped into memory. Reading a mapped file that somebody has cut short would end the
process, and one that was written over would give false figures. A look at size and time before
and after each use costs a microsecond.
"""

from __future__ import annotations

import hashlib
import os
import weakref
from collections.abc import Callable, Iterable
from pathlib import Path
from threading import Lock
from typing import Any

from discreet.errors import Damaged

DIGEST = 16
"""Bytes of a checksum."""

_PART = 2**22  # bytes that are read at a time

Pause = Callable[[], None]
"""Called between parts of a file, by which work in the background makes room for others."""


def checksum(path: Path, pause: Pause | None = None) -> str:
    """Return the BLAKE2b checksum of a file."""
    with path.open("rb") as file:
        return checksum_of(file, pause)


def checksum_of(file: Any, pause: Pause | None = None) -> str:
    """Return the BLAKE2b checksum of what can be read from a file."""
    hashed = hashlib.blake2b(digest_size=DIGEST)
    while part := file.read(_PART):
        hashed.update(part)
        if pause is not None:
            pause()
    return hashed.hexdigest()


class Guard:
    """Notices that a file was written to since it was opened.

    The files are held open: one that was removed, or that another one took the place of, is as it
    was to whoever has it mapped.
    """

    def __init__(self, paths: Iterable[Path] = ()) -> None:
        self._known: list[tuple[Path, int, tuple[int, int]]] = []
        weakref.finalize(self, _close, self._known)
        for path in paths:
            file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            self._known.append((path, file, _marks(file)))
        self.wrong: Path | None = None
        self.whole = False  # every file was compared with its checksum
        self.elsewhere: object = None  # the files of records elsewhere, as they were then
        self.comparing = Lock()

    def check(self) -> None:
        """Raise `Damaged` if a file was written to, or was found to be damaged."""
        for path, file, known in self._known:
            try:
                same = _marks(file) == known
            except OSError:
                same = False
            if not same:
                self.condemn(path)
                break
        if self.wrong is not None:
            raise Damaged(f"{self.wrong} was changed after it was opened. Nothing is read from it.")

    def condemn(self, path: Path) -> None:
        """Let nothing more be read: this file is damaged."""
        self.wrong = path


def _marks(file: int) -> tuple[int, int]:
    """Return by what a file is seen to have been written to."""
    found = os.fstat(file)
    return found.st_size, found.st_mtime_ns


def _close(known: list[tuple[Path, int, tuple[int, int]]]) -> None:
    for _, file, _ in known:
        os.close(file)
