"""Tables as they lie on paper, written and read back: sheets of rows, each under its heads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError
from discreet.json import parsed
from discreet.release.formats.base import Found, Named, assembled, decimal, proof_of
from discreet.release.pivot import Pivot
from discreet.release.text import Facts
from discreet.table import Dimension, ProtectedTable

PROOF = "Proof"
Row = Sequence[Any]


@dataclass(frozen=True, eq=False)
class Sheet:
    """One layer of a table: rows of figures, None where one is withheld."""

    layer: tuple[Dimension, int] | None
    stub: tuple[Dimension, ...]
    heading: Dimension | None
    values: NDArray[Any]
    withheld: NDArray[np.bool_]

    def rows(self) -> Iterator[tuple[list[tuple[str, str]], list[float | None]]]:
        """Yield each row: the label and code of its categories, and its figures."""
        places = product(*(zip(d.labels, d.codes, strict=True) for d in self.stub))
        for place, values, missing in zip(places, self.values, self.withheld, strict=True):
            figures: list[float | None] = values.tolist()
            if values.dtype.kind == "f":
                figures = [int(x) if x is not None and x == int(x) else x for x in figures]
            for i in np.flatnonzero(missing).tolist():
                figures[i] = None
            yield list(place), figures

    def of_layer(self) -> tuple[str, str, str, str] | None:
        """Return label and id of the layer's dimension, label and code of its category."""
        if self.layer is None:
            return None
        d, i = self.layer
        return d.label, d.level, d.labels[i], d.codes[i]

    def heads(self, unit: str) -> list[list[str]]:
        """Return the rows above the figures: labels with the ids of the stub, then the codes.

        The first row has the label and the id of each dimension of the stub, then the labels
        across; the second has the label and the id of the dimension across, then its codes.
        """
        first = [text for d in self.stub for text in (d.label, d.level)]
        if self.heading is None:
            return [[*first, unit]]
        blank = [""] * (2 * len(self.stub) - 2)
        second = [self.heading.label, self.heading.level, *blank, *self.heading.codes]
        return [[*first, *self.heading.labels], second]


def sheets(table: ProtectedTable) -> Iterator[Sheet]:
    """Yield the layers of a table one after the other."""
    pivot = Pivot.of(table.shape)
    layers, stub, heading = pivot.split(table.dimensions)
    across = heading[0] if heading else None
    cut = zip(pivot.cut(table.values), pivot.cut(table.withheld), strict=True)
    for i, (values, withheld) in enumerate(cut):
        yield Sheet((layers[0], i) if layers else None, stub, across, values, withheld)


def layout(table: ProtectedTable) -> dict[str, Any]:
    """Return how a table lies, by the ids of its dimensions: what a reader must be told."""
    layers, stub, heading = Pivot.of(table.shape).split([d.level for d in table.dimensions])
    return {
        "layer": layers[0] if layers else None,
        "stub": list(stub),
        "heading": heading[0] if heading else None,
    }


class Gathered:
    """The cells of sheets as they are read, with the labels beside them."""

    def __init__(self, layout: Mapping[str, Any]) -> None:
        self.layer: str | None = layout["layer"]
        self.stub: list[str] = layout["stub"]
        self.heading: str | None = layout["heading"]
        ids = [name for name in (self.layer, *self.stub, self.heading) if name is not None]
        self.heads: dict[str, str] = {}
        self._labels: dict[str, dict[str, str]] = {name: {} for name in ids}
        self._codes: dict[str, list[str]] = {name: [] for name in ids}
        self._values: list[float | None] = []

    def note(self, name: str, pairs: Iterable[tuple[str, str]]) -> None:
        """Remember the label of each code, which must be the same wherever the code stands."""
        for code, label in pairs:
            if self._labels[name].setdefault(code, label) != label:
                raise ParameterError(f"the code '{code}' of {name} has two labels.")

    def row(
        self,
        layer: str,
        stub: Sequence[tuple[str, str]],
        across: list[str],
        figures: Iterable[float | None],
    ) -> None:
        """Add a row: the code of its layer, codes and labels of its stub, codes across, figures."""
        for name, pair in zip(self.stub, stub, strict=True):
            self.note(name, [pair])
            self._codes[name] += [pair[0]] * len(across)
        if self.heading is not None:
            self._codes[self.heading] += across
        if self.layer is not None:
            self._codes[self.layer] += [layer] * len(across)
        self._values += figures

    def found(self, facts: Facts, document: object) -> Found:
        """Return the table and what is said of it."""
        named = [Named(n, self.heads.get(n, ""), labels) for n, labels in self._labels.items()]
        table = assembled(named, list(self._codes.values()), {"value": self._values})
        return Found(table, facts, proof_of(document))


def read_rows(rows: Sequence[Row]) -> Found:
    """Return what laid-out rows say; the last of them is the proof, before it are the notes."""
    end = max(i for i, row in enumerate(rows) if row and _text(row[0]) == PROOF)
    start = max((i for i in range(end) if not any(map(_text, rows[i]))), default=-1) + 1
    facts: Facts = [(_text(row[0]), "".join(map(_text, row[1:]))) for row in rows[start:end] if row]
    document = parsed("".join(map(_text, rows[end][1:])), "the proof")
    return read_sheets(rows[:start], facts, document)


def read_sheets(rows: Sequence[Row], facts: Facts, document: dict[str, Any]) -> Found:
    """Return the table in sheets of rows, each under its heads; a blank row ends a sheet."""
    reading = _Rows(Gathered(document["layout"]))
    for row in rows:
        reading.take(row)
    return reading.gathered.found(facts, document)


@dataclass
class _Rows:
    """Reads rows one by one; `waiting` for the codes across, or `inside` the figures of a sheet."""

    gathered: Gathered
    layer: str = ""
    across: list[str] = field(default_factory=lambda: [""])
    labels: list[str] = field(default_factory=list)
    waiting: bool = False
    inside: bool = False

    def take(self, row: Row) -> None:
        """Read a row: blank, heads, figures or the name of a layer; a title is among the facts."""
        texts, found = [_text(x) for x in row], self.gathered
        width = 2 * len(found.stub)
        if not any(texts):
            self.inside = False
        elif self.waiting:
            self._codes_across(texts, width)
        elif self.inside:
            self._figures(row, texts, width)
        elif texts[1:width:2] == found.stub:
            found.heads |= dict(zip(found.stub, texts[0:width:2], strict=True))
            self.labels = texts[width:]
            self.waiting, self.inside = found.heading is not None, found.heading is None
        elif found.layer is not None and len(texts) > 3 and texts[1] == found.layer:
            self.layer = texts[3]
            found.heads[found.layer] = texts[0]
            found.note(found.layer, [(self.layer, texts[2])])

    def _codes_across(self, texts: list[str], width: int) -> None:
        heading = self.gathered.heading
        assert heading is not None
        self.across = _trimmed(texts[width:])
        self.gathered.heads[heading] = texts[0]
        labels = self.labels + [""] * (len(self.across) - len(self.labels))
        if any(labels[len(self.across) :]):
            raise ParameterError("a block has more labels than codes across.")
        self.gathered.note(heading, zip(self.across, labels, strict=False))
        self.waiting, self.inside = False, True

    def _figures(self, row: Row, texts: list[str], width: int) -> None:
        many = len(self.across)
        figures = [*row[width:], *([None] * (width + many - len(row)))]
        if any(_text(x) for x in figures[many:]):
            raise ParameterError("a row has more figures than heads.")
        stub = list(zip(texts[1:width:2], texts[0:width:2], strict=True))
        self.gathered.row(self.layer, stub, self.across, [decimal(x) for x in figures[:many]])


def _trimmed(texts: list[str]) -> list[str]:
    while texts and not texts[-1]:
        texts.pop()
    return texts


def _text(value: Any) -> str:
    return "" if value is None else str(value)
