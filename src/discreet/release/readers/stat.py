"""Reading JSON-stat back."""

from __future__ import annotations

from itertools import product
from pathlib import Path

from discreet.release.readers.base import Found, Named, assembled, figure, parsed, proof_of, unlike
from discreet.release.text import facts


def read(path: Path) -> Found:
    """Return what a JSON-stat file says."""
    data = parsed(path.read_bytes(), path.name)
    extension = data["extension"]
    document = extension["discreet"]
    named, codes = [], []
    for name in data["id"]:
        described = data["dimension"][name]
        category = described["category"]
        named.append(Named(name, described["label"], category["label"]))
        index = category["index"]
        codes.append(sorted(index, key=index.__getitem__) if isinstance(index, dict) else index)
    values = data["value"]
    if isinstance(values, dict):  # a re-saved file may list only some
        size = 1
        for one in codes:
            size *= len(one)
        values = [values.get(str(i)) for i in range(size)]
    bounds = None
    if "low" in extension:
        bounds = ([figure(x) for x in extension["low"]], [figure(x) for x in extension["high"]])
    cells = list(zip(*product(*codes), strict=True))
    table = assembled(named, cells, [figure(value) for value in values], bounds)
    wrong = unlike("the label", data["label"], document["title"])
    wrong += unlike("the note", " ".join(data["note"]), " ".join(document["notes"]))
    return Found(table, True, facts(document), proof_of(document), wrong)
