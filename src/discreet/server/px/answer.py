"""A released table in JSON-stat 2.0 as PxWebApi has it: dimensions are called after variables."""

from __future__ import annotations

import json
from typing import Any

from discreet.release.text import clean
from discreet.server.parts import Part
from discreet.server.px.selection import codelist_id
from discreet.server.px.tables import LANGUAGE, category

WITHHELD = "."
"""The status of a figure that is not available."""


def json_stat(part: Part) -> bytes:
    """Return the figures of a part with all that goes with them."""
    table, opened = part.table, part.asked.opened
    missing = table.withheld.ravel()
    values = table.values.ravel().astype(object)
    values[missing] = None
    areas = [d.variable for d in table.dimensions if d.variable == "geography"]
    found: dict[str, Any] = {
        "version": "2.0",
        "class": "dataset",
        "label": clean(part.title),
        "source": clean(opened.schema.title),
        "updated": str(opened.version.manifest["created"]),
        "note": [clean(note) for note in part.notes],
        **({"role": {"geo": areas}} if areas else {}),
        "id": [d.variable for d in table.dimensions],
        "size": list(table.shape),
        "dimension": {
            d.variable: {
                "label": clean(d.label),
                "category": category(d.codes, d.labels),
                "extension": {
                    "show": "value",
                    "codelist": codelist_id(opened, opened.schema.find(d.level)[1]),
                },
            }
            for d in table.dimensions
        },
        "value": values.tolist(),
        **({"status": {str(i): WITHHELD for i in missing.nonzero()[0]}} if missing.any() else {}),
        "extension": {
            "px": {"tableid": opened.id, "decimals": 0, "language": LANGUAGE},
            "discreet": _told(part),
        },
    }
    return json.dumps(found, ensure_ascii=False, separators=(",", ":")).encode()


def _told(part: Part) -> dict[str, Any]:
    """Return the question, and where its signed file is; the figures of this one are not signed."""
    found: dict[str, Any] = {"question": part.asked.question.canonical}
    found["signed"] = part.signed("json-stat")
    if part.release is not None:
        found["quality"] = part.release.document["quality"]
    return found
