"""The file formats of releases, one file each, which writes a release and reads it back.

A writer takes a `Release` and nothing else. An installed package adds a format by an entry point
of the group `discreet.formats` that names a `Format`.
"""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import BinaryIO
from urllib.parse import quote

from discreet.errors import ParameterError, unknown
from discreet.files import OPEN, read_bytes, written
from discreet.plugins import extended
from discreet.release.formats import (
    csv,
    csv_layout,
    html,
    json_stat,
    parquet,
    px,
    sdmx_csv,
    sdmx_ml,
    xlsx,
)
from discreet.release.formats.base import Format, Found, Public
from discreet.release.formats.csvw import CSVW, description
from discreet.release.formats.tidy import sidecar

_BUILT_IN = (json_stat, csv, csv_layout, xlsx, px, sdmx_csv, sdmx_ml, parquet, html)
FORMATS: dict[str, Format] = extended(
    "discreet.formats", {module.FORMAT.name: module.FORMAT for module in _BUILT_IN}
)
"""The formats by name, in the order of help texts."""


def named(name: str) -> Format:
    """Return a format by name, or complain with the choices."""
    if name not in FORMATS:
        raise unknown("format", name, FORMATS)
    return FORMATS[name]


def file_name(stem: str, format: str) -> str:
    """Return the name of a file; formats that share an ending say which they are."""
    chosen = named(format)
    first = next(one for one in FORMATS.values() if one.suffix == chosen.suffix)
    return f"{stem}{chosen.suffix}" if chosen is first else f"{stem}-{format}{chosen.suffix}"


def with_beside(ending: str) -> list[str]:
    """Return the formats with a file of this ending beside theirs, such as `.meta.json`."""
    return [one.name for one in FORMATS.values() if ending in one.beside]


def write_to(release: Public, file: BinaryIO, format: str) -> None:
    """Write a release to an open file, in pieces."""
    named(format).write_to(release, file)


def to_bytes(release: Public, format: str) -> bytes:
    """Return a release as a file in memory; for tables whose size is known to be small."""
    buffer = io.BytesIO()
    write_to(release, buffer, format)
    return buffer.getvalue()


def write(
    release: Public, path: str | os.PathLike[str], format: str, csvw: bool = False
) -> list[Path]:
    """Write a release to a file and what belongs beside it; return the files, the table first.

    With `csvw` a CSV file has its columns and their types beside it, as the W3C has them. Each is
    written under another name and renamed when all are whole: no half file is left.
    """
    if not isinstance(path, str | os.PathLike):
        raise ParameterError(f"path must be the name of a file. Got {path!r}.")
    chosen, target = named(format), Path(path)
    if not target.parent.is_dir():
        raise ParameterError(f"the file must be in a folder that exists. Got {target}.")
    if target.is_dir():
        raise ParameterError(f"the file must not be a folder. Got {target}.")
    companions = dict(chosen.companions(release))
    if csvw:
        refuse_csvw(format)
        companions[CSVW] = description(release, quote(target.name))
    beside = {target.with_name(target.name + s): c for s, c in companions.items()}
    try:
        with written(target, OPEN) as file:  # the last to be there: with it all the rest is
            chosen.write_to(release, file)
            for path, content in beside.items():
                with written(path, OPEN) as companion:
                    companion.write(content)
    except OSError as error:
        raise ParameterError(f"'{target}' could not be written. {error.strerror}.") from error
    return [target, *beside]


def refuse_csvw(format: str) -> None:
    """Raise where columns and types cannot be described as CSV on the Web."""
    if format != "csv":
        raise ParameterError(f"CSV on the Web describes files of the format csv. Got {format}.")


def format_of(path: Path) -> str:
    """Return the format of a file, seen from its content."""
    start = read_bytes(path)[:4096]
    start = start.removeprefix(b"\xef\xbb\xbf").lstrip()
    for one in FORMATS.values():
        if one.begins is not None and one.begins(start):
            return one.name
    return csv.FORMAT.name if sidecar(path).is_file() else csv_layout.FORMAT.name


def read(path: Path) -> tuple[str, Found]:
    """Return the format of a file and what it says, as it stands now."""
    name = format_of(path)
    return name, FORMATS[name].read(path)


__all__ = [
    "CSVW",
    "FORMATS",
    "Format",
    "Found",
    "Public",
    "file_name",
    "format_of",
    "named",
    "read",
    "refuse_csvw",
    "to_bytes",
    "with_beside",
    "write",
    "write_to",
]
