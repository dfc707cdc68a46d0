"""How a table lies in layers, rows and columns: on the page, in files and on the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, Generic, NamedTuple, TypeVar

from numpy.typing import NDArray

MOST_LAYERS = 200
"""Sheets beyond this number nobody leafs through."""
MOST_COLUMNS = 1_000
"""Columns beyond this number nobody scrolls through: one row per cell is better."""

T = TypeVar("T")


class Parts(NamedTuple, Generic[T]):
    """Something of each dimension: of those in layers, in rows and across."""

    layers: tuple[T, ...]
    rows: tuple[T, ...]
    columns: tuple[T, ...]


@dataclass(frozen=True)
class Pivot:
    """Which dimensions make the layers, are nested in the rows, and run across, by number."""

    layers: tuple[int, ...]
    rows: tuple[int, ...]
    columns: tuple[int, ...]

    @classmethod
    def of(cls, shape: Sequence[int]) -> Pivot:
        """Return how it lies on paper: the last dimension across, of three the first in layers.

        A dimension with too many categories for either goes into the rows.
        """
        left = list(range(len(shape)))
        across = layer = None
        if len(left) > 1:
            across = next((d for d in reversed(left) if shape[d] <= MOST_COLUMNS), None)
            left = [d for d in left if d != across]
        if len(left) > 1:
            layer = next((d for d in left if shape[d] <= MOST_LAYERS), None)
            left = [d for d in left if d != layer]
        return cls(_maybe(layer), tuple(left), _maybe(across))

    @classmethod
    def in_order(cls, layers: int, rows: int, dimensions: int) -> Pivot:
        """Return the pivot of dimensions in their order: so many layers, so many rows, the rest."""
        every = tuple(range(dimensions))
        return cls(every[:layers], every[layers : layers + rows], every[layers + rows :])

    def split(self, each: Sequence[T]) -> Parts[T]:
        """Return what there is for each dimension as that of layers, of rows and of columns."""
        parts = (self.layers, self.rows, self.columns)
        return Parts(*(tuple(each[d] for d in part) for part in parts))

    def cut(self, array: NDArray[Any]) -> NDArray[Any]:
        """Return figures as layers × rows × columns."""
        sizes = [prod(part) for part in self.split(array.shape)]
        return array.transpose((*self.layers, *self.rows, *self.columns)).reshape(sizes)


def _maybe(dimension: int | None) -> tuple[int, ...]:
    return () if dimension is None else (dimension,)
