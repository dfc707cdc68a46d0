"""Faults, one at a time: the n-th operation on a folder fails, and all before and after it work.

As SQLite is tested [https://sqlite.org/testing.html, section 3]: a program is run again and again,
each time with the next of its operations failing, until a run has no operation left to fail. An
operation is an open, read, write, sync, truncation, look at a file, rename, link, removal, new
folder, change of mode, mapping into memory, or the making of an array.
"""

from __future__ import annotations

import builtins
import errno
import io
import os
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

_AUDITED = {
    "open", "os.rename", "os.remove", "os.rmdir", "os.mkdir", "os.link", "os.chmod", "os.listdir",
    "os.scandir", "os.truncate",
}  # fmt: skip
_ARRAYS = ("empty", "zeros", "full", "concatenate", "ascontiguousarray", "frombuffer")


class Faults:
    """Counts operations, and lets the one of a number fail; 0 for none."""

    def __init__(self, folder: Path, at: int) -> None:
        self.folder = str(folder)
        self.at = at
        self.seen: Counter[str] = Counter()
        self.struck = ""

    def step(self, kind: str) -> None:
        """Count one operation, or fail."""
        self.seen[kind] += 1
        if sum(self.seen.values()) == self.at:
            self.struck = kind
            if kind == "array":
                raise MemoryError("injected")
            code = errno.ENOSPC if kind in ("write", "os.mkdir") else errno.EIO
            raise OSError(code, f"injected into {kind}")

    def concerns(self, path: object) -> bool:
        """Whether a path or a descriptor is in the folder."""
        try:
            if isinstance(path, int):
                path = os.readlink(f"/proc/self/fd/{path}")
            return os.fsdecode(path).startswith(self.folder)  # type: ignore[arg-type]
        except (OSError, TypeError):
            return False


_now: list[Faults] = []


def _audit(event: str, arguments: tuple[object, ...]) -> None:
    if _now and event in _AUDITED and arguments and _now[0].concerns(arguments[0]):
        _now[0].step(event)


class _File:
    """A file whose reads, writes and flushes are operations."""

    def __init__(self, file: Any, faults: Faults) -> None:
        self._file = file
        self._faults = faults

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._file, name)
        kind = {"read": "read", "readinto": "read", "write": "write", "flush": "write"}.get(name)
        if kind is None or (name == "flush" and not self._file.writable()):
            return found

        def counted(*given: Any) -> Any:
            self._faults.step(kind)
            return found(*given)

        return counted

    def __enter__(self) -> _File:
        return self

    def __exit__(self, *given: object) -> None:
        self._file.close()

    def __iter__(self) -> Iterator[Any]:
        return iter(self._file)


@contextmanager
def failing(folder: Path, at: int) -> Iterator[Faults]:
    """Let an operation on a folder fail within the block."""
    if not getattr(sys, "_discreet_faults", False):
        sys.addaudithook(_audit)  # it cannot be taken away again
        sys._discreet_faults = True  # type: ignore[attr-defined]
    faults = Faults(folder, at)
    plain = {name: getattr(os, name) for name in ("fsync", "stat", "write", "ftruncate", "pread")}
    arrays = {name: getattr(np, name) for name in _ARRAYS}
    opening = builtins.open

    def opened(file: Any, *given: Any, **more: Any) -> Any:
        found = opening(file, *given, **more)
        return _File(found, faults) if faults.concerns(file) else found

    def patched(name: str) -> Any:
        def call(target: Any, *given: Any, **more: Any) -> Any:
            if faults.concerns(target):
                faults.step(name)
            # What survives a power cut is not seen here: the disk is spared.
            return None if name == "fsync" else plain[name](target, *given, **more)

        return call

    def made(name: str) -> Any:
        def call(*given: Any, **more: Any) -> Any:
            if "discreet" in sys._getframe(1).f_globals.get("__name__", ""):
                faults.step("array")
            return arrays[name](*given, **more)

        return call

    for name in plain:
        setattr(os, name, patched(name))
    for name in arrays:
        setattr(np, name, made(name))
    builtins.open = io.open = opened  # type: ignore[assignment]
    _now.append(faults)
    try:
        yield faults
    finally:
        _now.clear()
        builtins.open = io.open = opening
        for name, function in (*plain.items(),):
            setattr(os, name, function)
        for name, function in arrays.items():
            setattr(np, name, function)
