"""Files: written whole or not at all, read within bounds."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryFile
from typing import BinaryIO

from discreet.errors import ParameterError

OPEN = 0o666
"""The mode of what may be published: whoever the user's umask lets in may read it."""

MOST_BYTES = 2**29
"""The largest file that is read, unpacked: a table of a million cells has at most 200 MiB."""


@contextmanager
def written(
    path: Path, mode: int = 0o600, alone: bool = False, durable: bool = True
) -> Iterator[BinaryIO]:
    """Give a file to write; it takes its name when all of it is on the disk, and not before.

    Its owner alone can read it, unless `mode` says that it may be published (`OPEN`).
    Where nobody else writes it (`alone`), it is meanwhile NAME.new, for the next one to clear away.
    One that is not `durable` may be damaged after a crash of the machine: its reader must notice.
    Otherwise a link stays one, and its target is written; what is no file, such as a pipe or a
    device, stays what it is, and all is written into it at the end.
    """
    if not alone:
        path = Path(os.path.realpath(path))
        if path.exists() and not path.is_file():
            with _poured(path) as file:
                yield file
            return
    part = path.with_suffix(".new")
    if alone:
        part.unlink(missing_ok=True)
    else:
        part = path.with_name(f".{path.name[:100]}.{os.getpid()}.{os.urandom(4).hex()}.part")
    try:
        with os.fdopen(os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY, mode), "wb") as file:
            yield file
            file.flush()
            if durable:
                os.fsync(file.fileno())
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)


@contextmanager
def _poured(path: Path) -> Iterator[BinaryIO]:
    """Give a file to write, which goes into a pipe or a device once it is whole."""
    with TemporaryFile() as file:
        yield file
        file.seek(0)
        with os.fdopen(os.open(path, os.O_WRONLY), "wb") as out:
            shutil.copyfileobj(file, out)


def sync(path: Path) -> None:
    """Make a file durable, or the renames in a folder."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def read_bytes(path: Path, most: int = MOST_BYTES) -> bytes:
    """Return what is in a file, which must be a file and not too large to be one of ours."""
    try:
        found = path.stat()
    except OSError as error:
        raise ParameterError(f"'{path}' must be a readable file. {error.strerror}.") from None
    except ValueError:  # a name that no file can have
        raise ParameterError(f"{str(path)!r} must be the name of a readable file.") from None
    if not stat.S_ISREG(found.st_mode):
        raise ParameterError(f"'{path}' must be a file. It is a folder or a device.")
    bounded(path.name, found.st_size, most)
    try:
        return path.read_bytes()
    except OSError as error:
        raise ParameterError(f"'{path}' must be a readable file. {error.strerror}.") from None


def bounded(name: str, size: int, most: int = MOST_BYTES, what: str = "bytes") -> None:
    """Raise if a file is larger than any of ours, before it takes the memory of the machine."""
    if size > most:
        raise ParameterError(f"'{name}' must have at most {most:,} {what}. It has {size:,}.")
