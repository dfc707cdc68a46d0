"""Readers of files that the writers wrote, for verification: what a file says, as it stands now."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from discreet.errors import ParameterError
from discreet.release.readers import delimited, hypertext, px, stat, workbook, xml
from discreet.release.readers.base import Found

_READERS: dict[str, Callable[[Path], Found]] = {
    "json-stat": stat.read,
    "csv": delimited.read_tidy,
    "csv-layout": delimited.read_layout,
    "xlsx": workbook.read,
    "px": px.read,
    "sdmx-csv": delimited.read_tidy,
    "sdmx-ml": xml.read,
    "parquet": delimited.read_parquet,
    "html": hypertext.read,
}


def format_of(path: Path) -> str:
    """Return the format of a file, seen from its content."""
    try:
        with path.open("rb") as file:
            start = file.read(4096)
    except OSError as error:
        raise ParameterError(f"'{path}' must be a readable file. {error.strerror}.") from None
    if start.startswith(b"PK"):
        return "xlsx"
    if start.startswith(b"PAR1"):
        return "parquet"
    text = start.removeprefix(b"\xef\xbb\xbf").lstrip()
    if text.startswith(b"{"):
        return "json-stat"
    if text.startswith(b"<"):
        return "html" if b"<html" in text[:200].lower() else "sdmx-ml"
    if text.startswith((b"CHARSET=", b"AXIS-VERSION=")):
        return "px"
    if not delimited.sidecar(path).is_file():
        return "csv-layout"
    return "sdmx-csv" if text.lstrip(b'"').startswith(b"STRUCTURE") else "csv"


def read(path: Path) -> tuple[str, Found]:
    """Return the format of a file and what it says."""
    name = format_of(path)
    return name, _READERS[name](path)


__all__ = ["Found", "format_of", "read"]
