"""The formats that a release can be asked for in."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from dataclasses import dataclass

from discreet.release.result import Release


@dataclass(frozen=True)
class Format:
    """How a release becomes a file."""

    media_type: str
    extension: str
    to_bytes: Callable[[Release], bytes]


def _json(release: Release) -> bytes:
    return json.dumps(release.as_dict(), ensure_ascii=False).encode()


def _csv(release: Release) -> bytes:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    table = release.table
    writer.writerow([*(d.level for d in table.dimensions), "count"])
    values, withheld = table.values.ravel().tolist(), table.withheld.ravel().tolist()
    codes = [d.codes for d in table.dimensions]
    shape = table.values.shape
    for i, (value, out_of) in enumerate(zip(values, withheld, strict=True)):
        place, rest = [], i
        for size in reversed(shape):
            place.append(rest % size)
            rest //= size
        names = [codes[d][at] for d, at in enumerate(reversed(place))]
        writer.writerow([*names, "" if out_of else value])
    return out.getvalue().encode()


FORMATS: dict[str, Format] = {
    "json-stat": Format("application/json", "json", _json),
    "csv": Format("text/csv; charset=utf-8", "csv", _csv),
}
DEFAULT_FORMAT = "json-stat"
