"""Lines of the record as a CSV file."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable

from discreet.people.record import Written

_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def as_csv(lines: Iterable[Written]) -> bytes:
    """Return lines as CSV; what a spreadsheet would compute is text."""
    file = io.StringIO(newline="")
    writer = csv.writer(file)
    heads = None
    for one in lines:
        values = one.as_dict()
        if heads is None:
            heads = list(values)
            writer.writerow(heads)
        writer.writerow([_plain(value) for value in values.values()])
    return file.getvalue().encode("utf-8")


def _plain(value: object) -> object:
    if isinstance(value, str) and value.startswith(_FORMULA):
        return f"'{value}"
    return value
