"""Whether a file shows what it would if it were written anew, and nothing else.

A file that holds more than its signed table may show more, or something else: every byte of it is
compared, but for what no reader sees. CSV and JSON are data, not pages: the order of rows or of
names, and how fields are quoted, make no difference to any program that reads them.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Collection
from pathlib import Path

from discreet.errors import ParameterError
from discreet.files import bounded, read_bytes
from discreet.json import canonical, parsed

MOST_FIELDS = 50_000_000
"""The most fields, values or tags of a file that is read."""
_LIMIT = 2**31 - 1  # of a field: a proof may be longer than the module's default


def read_text(path: Path) -> str:
    """Return the text of a file, which other programs may have saved as UTF-16."""
    raw = read_bytes(path)
    try:
        return raw.decode("utf-16" if raw[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig")
    except UnicodeDecodeError:
        raise ParameterError(f"'{path.name}' must be in UTF-8.") from None


def delimited(text: str, delimiter: str, name: str = "the file") -> list[list[str]]:
    """Return the rows of a delimited text, which must be read alike by every program."""
    csv.field_size_limit(_LIMIT)
    bounded(name, text.count(delimiter) + text.count("\n"), MOST_FIELDS, "fields")
    try:
        rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True))
    except csv.Error as error:
        raise ParameterError(f"{name} must be proper CSV. {error}.") from None
    for end in ("\r\n", "\n"):
        for quoting in (csv.QUOTE_MINIMAL, csv.QUOTE_ALL):
            again = io.StringIO(newline="")
            csv.writer(again, delimiter=delimiter, lineterminator=end, quoting=quoting).writerows(
                rows
            )
            if text in (again.getvalue(), again.getvalue().removesuffix(end)):
                return rows
    raise ParameterError(f"{name} must be quoted like CSV: some programs would read other fields.")


def delimiter_of(text: str) -> str:
    """Return what separates the fields of the first line."""
    return max(",;\t", key=text.partition("\n")[0].count)


def same_bytes(path: Path, fresh: bytes) -> str:
    """Return where a file differs from one that was written anew."""
    held = read_bytes(path)
    if held == fresh:
        return ""
    lines, wanted = held.split(b"\n"), fresh.split(b"\n")
    pairs = enumerate(zip(lines, wanted, strict=False), 1)
    line = next((i for i, (a, b) in pairs if a != b), min(len(lines), len(wanted)))
    return f"line {line:,} of {path.name} is not as this program wrote it"


def same_json(path: Path, fresh: bytes) -> str:
    """Return whether a JSON file has other names or values than one that was written anew."""
    held, wanted = (parsed(raw, path.name) for raw in (read_bytes(path), fresh))
    for name in sorted({*held, *wanted}):
        missing = name not in held or name not in wanted
        if missing or canonical(held[name]) != canonical(wanted[name]):
            return f"'{name:.40}' in {path.name} is not as this program wrote it"
    return ""


def same_rows(path: Path, fresh: bytes, delimiter: str) -> str:
    """Return which row of a CSV file differs; blank fields at the end of a row do not matter."""
    if read_bytes(path) == fresh:
        return ""
    texts = (read_text(path), delimiter), (fresh.decode("utf-8-sig"), ",")
    held, wanted = ([_trimmed(row) for row in delimited(*given)] for given in texts)
    if held == wanted:
        return ""
    pairs = enumerate(zip(held, wanted, strict=False), 1)
    row = next((i for i, (a, b) in pairs if a != b), min(len(held), len(wanted)) + 1)
    return f"row {row:,} of {path.name} is not as this program wrote it"


def same_table(path: Path, fresh: bytes, numbers: Collection[str]) -> str:
    """Return whether a CSV file has other columns or rows; their order does not matter.

    Some programs write a whole number as 12.0; that is allowed in the columns of `numbers`.
    """
    if read_bytes(path) == fresh:
        return ""
    text = read_text(path)
    heads, *rows = delimited(text, delimiter_of(text)) or [[]]
    names, *wanted = delimited(fresh.decode(), ",")
    if sorted(heads) != sorted(names):
        return f"{path.name} has other columns than this program wrote"
    if any(len(row) != len(heads) for row in rows):
        return f"a row of {path.name} has more or fewer fields than the first one"
    places = [(heads.index(name), name in numbers) for name in names]
    held = sorted([row[i].removesuffix(".0") if n else row[i] for i, n in places] for row in rows)
    if held != sorted(wanted):
        return f"a row of {path.name} is not as this program wrote it"
    return ""


def _trimmed(row: list[str]) -> list[str]:
    while row and not row[-1]:
        row.pop()
    return row
