"""The files of views: one for each, or one for several that were built together.

The file of a view is called after its levels and has its cells, eight bytes each, and a checksum of
the cells, the name and the version. A file of several is called after all the levels of its
views, the last one twice, as no view is. It has them one after the other, each as in a file of its
own, then the names of these files, a checksum of the names and in eight bytes their length.

No file stays open: there may be thousands.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from math import prod
from pathlib import Path

import numpy as np

from discreet.errors import Damaged
from discreet.files import written
from discreet.population import Schema, Version
from discreet.tabulate.engine import Words

Key = tuple[str, ...]
"""The levels of a view, in the order of the schema."""

Place = tuple[Path, int | None]
"""The file of a view, and where in a file of several it begins."""

_ENDING = ".u64"
_DIGEST = 16  # bytes of a checksum
_LENGTH = 8  # bytes of the length of the names
_SIZES = "sizes"  # of the levels, which a schema remembers for the views


def file_of(folder: Path, key: Key) -> Path:
    """Return the file of a view, or of several that have these levels together."""
    return folder / (".".join(key) + _ENDING)


def found(folder: Path | None, version: Version) -> Iterator[tuple[Key, Place]]:
    """Yield the views in a folder with the size they should have, the least recently used first.

    Another process may evict one at any moment: it is not there, and no error.
    """
    if folder is None or not folder.is_dir():
        return
    there = []
    for path in folder.glob(f"*{_ENDING}"):
        with suppress(FileNotFoundError):
            there.append((path.stat(), path))
    for stat, path in sorted(there, key=lambda one: one[0].st_mtime_ns):
        key = _key(path.name)
        if _several(key):
            with suppress(OSError, Damaged):
                yield from _inner(version, path)
        elif stat.st_size == _bytes(version.schema, key):
            yield key, (path, None)


def read(version: Version, key: Key, place: Place) -> Words:
    """Return the cells of a view, or raise `Damaged` if they do not have their checksum."""
    path, begin = place
    if begin is None:
        raw = path.read_bytes()
    else:
        with path.open("rb") as file:
            file.seek(begin)
            raw = file.read(_bytes(version.schema, key))
    cells = _checked(version, path, file_of(path.parent, key).name, memoryview(raw))
    return cells.reshape([len(version.schema.find(name)[1]) for name in key])


def cells_of(version: Version, path: Path) -> Words:
    """Return all cells in a file, or raise `Damaged` if one lacks its checksum."""
    key = _key(path.name)
    views = _inner(version, path) if _several(key) else [(key, (path, None))]
    return np.concatenate([read(version, *view).ravel() for view in views])


def save(version: Version, folder: Path, key: Key, packed: Words) -> Path | None:
    """Write a view to a file of its own and return it, if that can be done."""
    return _save(file_of(folder, key), _parts(version, key, packed))


def save_many(
    version: Version, folder: Path, of: Key, views: Sequence[tuple[Key, Words]]
) -> list[tuple[Key, Place]]:
    """Write several views to one file and return where they are; nowhere if it cannot be done."""
    target, begin = file_of(folder, (*of, of[-1])), 0
    places: list[tuple[Key, Place]] = []
    for key, packed in views:
        places.append((key, (target, begin)))
        begin += packed.nbytes + _DIGEST
    names = "\n".join(file_of(folder, key).name for key, _ in views).encode()
    length = len(names).to_bytes(_LENGTH, "little")
    pieces = [piece for view in views for piece in _parts(version, *view)]
    saved = _save(target, [*pieces, names, _digest(version, target.name, names), length])
    return [] if saved is None else places


def _save(target: Path, pieces: list[bytes | memoryview]) -> Path | None:
    with suppress(OSError):
        target.parent.mkdir(mode=0o700, exist_ok=True)
        with written(target, durable=False) as file:  # a crash costs the view, not the truth
            file.writelines(pieces)
        return target
    return None


def _parts(version: Version, key: Key, packed: Words) -> list[bytes | memoryview]:
    cells = packed.data.cast("B")
    return [cells, _digest(version, ".".join(key) + _ENDING, cells)]


def _several(key: Key) -> bool:
    return key[-2:-1] == key[-1:]


def _inner(version: Version, path: Path) -> list[tuple[Key, Place]]:
    """Return the views in a file of several, or raise `Damaged` if it is none."""
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - _LENGTH))
        length = min(size, int.from_bytes(file.read(_LENGTH), "little"))
        file.seek(max(0, size - _LENGTH - _DIGEST - length))
        names, digest = file.read(length), file.read(_DIGEST)
    if digest != _digest(version, path.name, names):
        raise _damaged(path)
    views: list[tuple[Key, Place]] = []
    begin = 0
    for key in map(_key, names.decode().splitlines()):
        views.append((key, (path, begin)))
        begin += _bytes(version.schema, key)
    return views


def _checked(version: Version, path: Path, name: str, raw: memoryview) -> Words:
    if len(raw) % 8 or raw[-_DIGEST:] != _digest(version, name, raw[:-_DIGEST]):
        raise _damaged(path)
    return np.frombuffer(raw[:-_DIGEST], np.uint64)


def _damaged(path: Path) -> Damaged:
    return Damaged(f"{path} does not have its checksum. Remove it: it will be built again.")


def _key(name: str) -> Key:
    return tuple(name.removesuffix(_ENDING).split("."))


def _bytes(schema: Schema, key: Key) -> int:
    """Return the bytes of a view with its checksum."""
    sizes: dict[str, int] = schema.memo.setdefault(_SIZES, {})
    for name in key:
        if name not in sizes:
            sizes[name] = len(schema.find(name)[1])
    return 8 * prod(map(sizes.__getitem__, key)) + _DIGEST


def _digest(version: Version, name: str, cells: bytes | memoryview) -> bytes:
    """Return the checksum of a view: of this version, under this name, with these cells."""
    said = f"{version.manifest.get('checksum')} {name}\n".encode()
    hashed = hashlib.blake2b(said, digest_size=_DIGEST)
    hashed.update(cells)
    return hashed.digest()
