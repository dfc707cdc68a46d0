"""Files that are there whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


@contextmanager
def written(path: Path, mode: int = 0o600, alone: bool = False) -> Iterator[BinaryIO]:
    """Give a file to write; it takes its name when all of it is on the disk, and not before.

    Where nobody else writes it (`alone`), it is meanwhile NAME.new, for the next one to clear away.
    """
    part = path.with_suffix(".new")
    if alone:
        part.unlink(missing_ok=True)
    else:
        part = path.with_name(f".{path.name[:100]}.{os.getpid()}.{os.urandom(4).hex()}.part")
    try:
        with os.fdopen(os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY, mode), "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)


def sync(path: Path) -> None:
    """Make a file durable, or the renames in a folder."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
