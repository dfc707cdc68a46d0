"""What a format is, what is found in a file, and the cells of a table in pieces."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import product
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError
from discreet.release.text import Facts, folded, meta
from discreet.table import Dimension, ProtectedTable

if TYPE_CHECKING:
    from discreet.release.result import Release

CHUNK = 50_000
"""Cells that are turned into text at a time."""
_WHOLE = re.compile(r"\d{1,18}(\.0+)?")


@dataclass(frozen=True, eq=False)
class Found:
    """A file as it stands: its table, its words, its proof, and where it contradicts itself."""

    table: ProtectedTable
    labelled: bool
    facts: Facts
    proof: dict[str, Any] | None
    contradictions: tuple[str, ...] = ()


def _nothing(release: Release) -> Mapping[str, bytes]:
    del release
    return {}


@dataclass(frozen=True)
class Format:
    """A file format: its name, what it is to a browser, what writes it and what reads it back.

    `write_to` streams a release; `companions` are small files that belong beside it, by what is
    added to its name, `beside`. `begins` says whether the beginning of a file, without a byte
    order mark and blanks, is of this format; None where the beginning does not tell.
    """

    name: str
    label: str
    media_type: str
    suffix: str
    write_to: Callable[[Release, BinaryIO], None]
    read: Callable[[Path], Found]
    begins: Callable[[bytes], bool] | None = None
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
    bounds = [None if array is None else array.reshape(-1) for array in (table.low, table.high)]
    for start in range(0, values.size, size):
        part = slice(start, min(start + size, values.size))
        index = np.unravel_index(np.arange(part.start, part.stop), table.shape)
        low, high = (None if array is None else array[part] for array in bounds)
        yield Chunk(index, values[part], withheld[part], low, high)


def document(release: Release, **more: Any) -> dict[str, Any]:
    """Return all that goes with the figures, with the proof where the release is signed."""
    return {**meta(release), **more, "proof": release.proof}


def moment(release: Release) -> datetime:
    """Return the date of the data: equal releases give equal files."""
    try:
        found = datetime.fromisoformat(release.provenance.data_date)
    except ValueError:
        return datetime(2000, 1, 1, tzinfo=UTC)
    return found if found.tzinfo else found.replace(tzinfo=UTC)


@dataclass(frozen=True)
class Named:
    """A dimension by its id, with the labels a file gives, if it gives any."""

    id: str
    label: str
    labels: Mapping[str, str] | None = None


def figure(text: object) -> int | None:
    """Return a figure of a file, None where it is missing; any other text is a mistake."""
    if text is None or text == "":
        return None
    if isinstance(text, bool) or not _WHOLE.fullmatch(str(text).strip()):
        raise ParameterError(f"a figure must be a whole number or missing. Got '{text!s:.40}'.")
    return int(str(text).strip().partition(".")[0])


def assembled(
    dimensions: Sequence[Named],
    codes: Sequence[Sequence[str]],
    values: Sequence[int | None],
    bounds: tuple[Sequence[int | None], Sequence[int | None]] | None = None,
) -> ProtectedTable:
    """Return the table of loose cells, which must be there once each."""
    shape: list[int] = []
    places: list[NDArray[np.intp]] = []
    named: list[Dimension] = []
    for dimension, column in zip(dimensions, codes, strict=True):
        place: dict[str, int] = {}
        index = np.fromiter((place.setdefault(c, len(place)) for c in column), np.intp, len(column))
        shape.append(len(place))
        places.append(index)
        labels = dimension.labels or {}
        texts = tuple(labels.get(code, "") for code in place)
        named.append(Dimension(dimension.id, dimension.id, dimension.label, tuple(place), texts))
    if prod(shape) != len(values):
        raise ParameterError(
            f"the cells must be there once each. The categories make {prod(shape):,} cells, the "
            f"file has {len(values):,}."
        )
    where = np.ravel_multi_index(places, shape)
    if np.bincount(where, minlength=len(values)).max(initial=0) > 1:
        raise ParameterError("the cells must be there once each. One is there twice.")
    arrays = []
    for given in (values, *(bounds or ())):
        flat = np.empty(len(values), np.int64)
        flat[where] = [-1 if value is None else value for value in given]
        arrays.append(flat.reshape(shape))
    withheld = arrays[0] < 0
    arrays = [np.where(withheld, 0, array) for array in arrays]
    return ProtectedTable(tuple(named), arrays[0], withheld, *arrays[1:])


def in_order(codes: Sequence[Sequence[str]]) -> list[tuple[str, ...]]:
    """Return the codes of the cells of a file in row-major order, one column per dimension."""
    return list(zip(*product(*codes), strict=True))


def proof_of(document: object) -> dict[str, Any] | None:
    """Return the proof in a document, None where there is none."""
    proof = document.get("proof") if isinstance(document, dict) else None
    return proof if isinstance(proof, dict) else None


def parsed(text: str | bytes, where: str) -> dict[str, Any]:
    """Return a JSON object, or complain that it is none."""
    try:
        value = json.loads(text)
    except ValueError:
        value = None
    if not isinstance(value, dict):
        raise ParameterError(f"{where} must be a JSON object.")
    return value


def unlike(what: str, shown: str, stated: str) -> tuple[str, ...]:
    """Return a contradiction where a text is another than the notes say."""
    return () if folded(shown) == folded(stated) else (f"{what} is not the one in the notes",)
