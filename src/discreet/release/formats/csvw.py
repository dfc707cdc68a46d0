"""CSV on the Web: which column of a CSV file is what, so that programs need not guess types."""

from __future__ import annotations

from typing import Any

from discreet.release.formats.base import Public
from discreet.release.formats.tidy import Columns, readable
from discreet.release.text import clean
from discreet.release.told import NINE_IN_TEN

CONTEXT = "http://www.w3.org/ns/csvw"
CSVW = "-metadata.json"
"""What the W3C adds to the name of a file for its description."""


def description(release: Public, url: str) -> bytes:
    """Return the metadata of the CSV file of a release at an address, as the W3C has them."""
    table, names = release.table, Columns.of(release.table)
    columns: list[dict[str, Any]] = []
    for dimension, code, label in zip(table.dimensions, names.codes, names.labels, strict=True):
        title = clean(dimension.label)
        columns.append({"titles": code, "dc:description": f"{title}, code", "datatype": "string",
                        "required": True})  # fmt: skip
        columns.append({"titles": label, "dc:description": title, "datatype": "string"})
    often = ", in nine of ten cases" if NINE_IN_TEN in release.document["notes"] else ""
    for name, column in names.figures.items():
        told = _WORDS[name] + (often if name != "value" else "")
        kind = "decimal" if table.figures[name].dtype.kind == "f" else "integer"
        columns.append({"titles": column, "dc:description": told, "datatype": kind,
                        "null": ""})  # fmt: skip
    for number, one in enumerate(columns):
        one["name"] = f"c{number}"
    return readable(
        {
            "@context": [CONTEXT, {"@language": "en"}],
            "@type": "Table",
            "url": url,
            "dc:title": clean(release.title),
            "dialect": {"header": True, "delimiter": ",", "encoding": "utf-8"},
            "tableSchema": {
                "columns": columns,
                "primaryKey": [f"c{2 * d}" for d in range(len(names.codes))],
            },
        }
    )


_WORDS = {
    "value": "The released figure; empty where it is not available",
    "low": "The least that the true count can be",
    "high": "The most that the true count can be",
}
