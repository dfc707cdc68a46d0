"""How a table lies on paper: layers, rows of a stub, columns of a heading."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.table import Dimension, ProtectedTable

MOST_LAYERS = 200
"""Sheets beyond this number nobody leafs through."""
MOST_COLUMNS = 1_000
"""Columns of a heading beyond this number nobody scrolls through: one row a cell is better."""


@dataclass(frozen=True)
class Layout:
    """Which dimension makes the layers, which are nested in rows, which runs across."""

    layer: int | None
    stub: tuple[int, ...]
    heading: int | None

    @classmethod
    def of(cls, table: ProtectedTable) -> Layout:
        """Return the layout: the last dimension across, of three or more the first in layers.

        A dimension with too many categories for either goes into the rows.
        """
        left = list(range(len(table.shape)))
        heading = layer = None
        if len(left) > 1:
            heading = next((d for d in reversed(left) if table.shape[d] <= MOST_COLUMNS), None)
            left = [d for d in left if d != heading]
        if len(left) > 1:
            layer = next((d for d in left if table.shape[d] <= MOST_LAYERS), None)
            left = [d for d in left if d != layer]
        return cls(layer, tuple(left), heading)

    def as_dict(self, table: ProtectedTable) -> dict[str, Any]:
        """Return the layout by the ids of the dimensions."""

        def name(d: int | None) -> str | None:
            return None if d is None else table.dimensions[d].level

        return {
            "layer": name(self.layer),
            "stub": [name(d) for d in self.stub],
            "heading": name(self.heading),
        }


@dataclass(frozen=True, eq=False)
class Layer:
    """One page of a table: rows of figures, None where one is withheld."""

    category: int | None
    stub: tuple[Dimension, ...]
    heading: Dimension | None
    values: NDArray[np.int64]
    withheld: NDArray[np.bool_]

    def rows(self) -> Iterator[tuple[tuple[int, ...], list[int | None]]]:
        """Yield the categories of each row and its figures."""
        places = product(*(range(len(d)) for d in self.stub))
        for place, values, missing in zip(places, self.values, self.withheld, strict=True):
            figures: list[int | None] = values.tolist()
            for i in np.flatnonzero(missing).tolist():
                figures[i] = None
            yield place, figures


def layers(table: ProtectedTable, layout: Layout) -> Iterator[Layer]:
    """Yield the pages of a table one after the other."""
    order = [d for d in (layout.layer, *layout.stub, layout.heading) if d is not None]
    columns = 1 if layout.heading is None else table.shape[layout.heading]
    pages = 1 if layout.layer is None else table.shape[layout.layer]
    values = table.values.transpose(order).reshape(pages, -1, columns)
    withheld = table.withheld.transpose(order).reshape(pages, -1, columns)
    stub = tuple(table.dimensions[d] for d in layout.stub)
    heading = None if layout.heading is None else table.dimensions[layout.heading]
    for page in range(pages):
        number = None if layout.layer is None else page
        yield Layer(number, stub, heading, values[page], withheld[page])


def head_rows(layer: Layer, unit: str) -> list[list[str]]:
    """Return the rows above the figures: labels with the ids of the stub, then the codes.

    The first row has the label and the id of each dimension of the stub, then the labels across;
    the second begins with the label and the id of the dimension across, then has its codes.
    """
    first = [text for d in layer.stub for text in (d.label, d.level)]
    if layer.heading is None:
        return [[*first, unit]]
    blank = [""] * (2 * len(layer.stub) - 2)
    second = [layer.heading.label, layer.heading.level, *blank, *layer.heading.codes]
    return [[*first, *layer.heading.labels], second]
