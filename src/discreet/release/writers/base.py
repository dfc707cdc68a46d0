"""What every writer is, and the cells of a table in pieces that fit in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from discreet.release.text import meta
from discreet.table import ProtectedTable

if TYPE_CHECKING:
    from discreet.release.result import Release

CHUNK = 50_000
"""Cells that are turned into text at a time."""


def _nothing(release: Release) -> Mapping[str, bytes]:
    del release
    return {}


@dataclass(frozen=True)
class Format:
    """A file format: how it is called, what it is to a browser, and what writes it.

    `write_to` streams a release; `companions` are small files that belong beside it, by what is
    added to its name, `beside`.
    """

    name: str
    label: str
    media_type: str
    suffix: str
    write_to: Callable[[Release, BinaryIO], None]
    companions: Callable[[Release], Mapping[str, bytes]] = _nothing
    beside: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Chunk:
    """Some cells in row-major order: their index along each dimension, and their figures."""

    index: tuple[NDArray[np.intp], ...]
    values: NDArray[np.int64]
    withheld: NDArray[np.bool_]
    low: NDArray[np.int64] | None
    high: NDArray[np.int64] | None

    def texts(self, array: NDArray[np.int64], missing: str = "") -> list[str]:
        """Return figures as text, another text for those that are withheld."""
        found = list(map(str, array.tolist()))
        for i in np.flatnonzero(self.withheld).tolist():
            found[i] = missing
        return found


def chunks(table: ProtectedTable, size: int = CHUNK) -> Iterator[Chunk]:
    """Yield the cells of a table, the last dimension fastest."""
    values, withheld = table.values.reshape(-1), table.withheld.reshape(-1)
    low = None if table.low is None else table.low.reshape(-1)
    high = None if table.high is None else table.high.reshape(-1)
    for start in range(0, values.size, size):
        part = slice(start, min(start + size, values.size))
        index = np.unravel_index(np.arange(part.start, part.stop), table.shape)
        yield Chunk(
            index,
            values[part],
            withheld[part],
            None if low is None else low[part],
            None if high is None else high[part],
        )


@dataclass(frozen=True)
class Columns:
    """The names of the columns of a tidy file, no two the same."""

    codes: tuple[str, ...]
    labels: tuple[str, ...]
    value: str
    low: str
    high: str

    @classmethod
    def of(cls, table: ProtectedTable) -> Columns:
        """Return names: the id of each dimension, the id with `_label`, `value`, `low`, `high`."""
        used = [d.level for d in table.dimensions]

        def fresh(name: str) -> str:
            while name in used:
                name += "_"
            used.append(name)
            return name

        labels = tuple(fresh(f"{d.level}_label") for d in table.dimensions)
        codes = tuple(d.level for d in table.dimensions)
        return cls(codes, labels, fresh("value"), fresh("low"), fresh("high"))

    def as_dict(self, table: ProtectedTable) -> dict[str, Any]:
        """Return which column holds what, for the document beside a tidy file."""
        found: dict[str, Any] = {
            "dimensions": [
                {"id": d.level, "variable": d.variable, "label": d.label, "code": code,
                 "label_column": label}
                for d, code, label in zip(table.dimensions, self.codes, self.labels, strict=True)
            ],
            "value": self.value,
        }  # fmt: skip
        if table.low is not None:
            found |= {"low": self.low, "high": self.high}
        return found


def document(release: Release, **more: Any) -> dict[str, Any]:
    """Return all that goes with the figures, with the proof where the release is signed."""
    return {**meta(release), **more, "proof": release.proof}
