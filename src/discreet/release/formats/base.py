"""What a format is, what is found in a file, and the cells of a table in pieces."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import product
from math import isfinite, prod
from pathlib import Path
from typing import Any, BinaryIO, Protocol

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError
from discreet.release.formats.compare import same_bytes
from discreet.release.result import Provenance
from discreet.release.text import Facts
from discreet.table import Dimension, ProtectedTable, figure_text

CHUNK = 50_000
"""Cells that are turned into text at a time."""
_WHOLE = re.compile(r"(0|-?[1-9][0-9]{0,17})(\.0)?")
_DECIMAL = re.compile(r"(0|[1-9][0-9]{0,15})\.[0-9]{1,30}|[1-9](\.[0-9]{1,16})?[eE]-[0-9]{1,2}")


class Public(Protocol):
    """What a writer is given, all of it public: a release, or what was found in a file."""

    @property
    def table(self) -> ProtectedTable:
        """The figures, with codes and labels."""

    @property
    def title(self) -> str:
        """What the table shows, in words."""

    @property
    def document(self) -> dict[str, Any]:
        """All that goes with the figures, as plain values."""

    @property
    def facts(self) -> Facts:
        """The same as rows for people."""

    @property
    def provenance(self) -> Provenance:
        """Where the figures come from."""

    @property
    def proof(self) -> dict[str, Any] | None:
        """The signature and what it is for."""


@dataclass(frozen=True, eq=False)
class Found:
    """A file as it stands: its table, its words and its proof.

    `document` is empty in formats that show the facts alone. `labelled` says whether the labels
    are there, and `complete` whether the format holds every column of figures.
    """

    table: ProtectedTable
    facts: Facts
    proof: dict[str, Any] | None
    document: dict[str, Any] = field(default_factory=dict)
    labelled: bool = True
    complete: bool = False

    @property
    def title(self) -> str:
        """The title, which is the first of the facts."""
        return str(self.document.get("title") or dict(self.facts[:1]).get("Title", ""))

    @property
    def provenance(self) -> Provenance:
        """Where the figures come from, as it was signed."""
        if self.proof is None:
            raise ParameterError("a file without a signature does not say where it comes from.")
        return Provenance(**self.proof["statement"]["provenance"])

    def as_signed(self, dimensions: Mapping[str, tuple[str, str]]) -> Found:
        """Return the same with the signed variable of each dimension, and its label if it has none.

        `dimensions` gives them by the id of the dimension.
        """
        named = []
        for d in self.table.dimensions:
            variable, label = dimensions[d.level]
            named.append(replace(d, variable=variable, label=d.label if self.labelled else label))
        return replace(self, table=replace(self.table, dimensions=tuple(named)))


def _nothing(release: Public) -> Mapping[str, bytes]:
    del release
    return {}


def _same_bytes(path: Path, fresh: bytes, found: Found) -> str:
    del found
    return same_bytes(path, fresh)


@dataclass(frozen=True)
class Format:
    """A file format: its name, what it is to a browser, what writes it and what reads it back.

    `write_to` streams a release; `companions` are small files that belong beside it, by what is
    added to its name, `beside`. `begins` says whether the beginning of a file, without a byte
    order mark and blanks, is of this format; None where the beginning does not tell. `same` says
    in what a file differs from one that was written anew; it is empty where nothing does.
    """

    name: str
    label: str
    media_type: str
    suffix: str
    write_to: Callable[[Public, BinaryIO], None]
    read: Callable[[Path], Found]
    begins: Callable[[bytes], bool] | None = None
    companions: Callable[[Public], Mapping[str, bytes]] = _nothing
    beside: tuple[str, ...] = ()
    same: Callable[[Path, bytes, Found], str] = _same_bytes


@dataclass(frozen=True, eq=False)
class Chunk:
    """Some cells in row-major order: their index along each dimension, and their figures."""

    index: tuple[NDArray[np.intp], ...]
    withheld: NDArray[np.bool_]
    figures: dict[str, NDArray[Any]]

    def texts(self, name: str = "value", missing: str = "") -> list[str]:
        """Return a column of figures as text, another text for those that are withheld."""
        whole = self.figures[name].dtype.kind != "f"
        found = list(map(str if whole else figure_text, self.figures[name].tolist()))
        for i in np.flatnonzero(self.withheld).tolist():
            found[i] = missing
        return found


def chunks(table: ProtectedTable, size: int = CHUNK) -> Iterator[Chunk]:
    """Yield the cells of a table, the last dimension fastest."""
    withheld = table.withheld.reshape(-1)
    figures = {name: array.reshape(-1) for name, array in table.figures.items()}
    for start in range(0, withheld.size, size):
        part = slice(start, min(start + size, withheld.size))
        index = np.unravel_index(np.arange(part.start, part.stop), table.shape)
        yield Chunk(index, withheld[part], {name: a[part] for name, a in figures.items()})


def document(release: Public, **more: Any) -> dict[str, Any]:
    """Return all that goes with the figures, with the proof where the release is signed."""
    return {**release.document, **more, "proof": release.proof}


def without(document: dict[str, Any], *more: str) -> dict[str, Any]:
    """Return the document that `document` was given: without the proof and what was added."""
    return {key: value for key, value in document.items() if key not in (*more, "proof")}


def moment(release: Public) -> datetime:
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
    found = None if isinstance(text, bool) else _WHOLE.fullmatch(str(text))
    if found is None:
        raise ParameterError(f"a figure must be a whole number or missing. Got '{text!s:.40}'.")
    return int(found[1])


def decimal(text: object) -> float | None:
    """Return a figure of a file that may have decimals, None where it is missing."""
    shown = figure_text(text) if isinstance(text, float) and isfinite(text) else text
    if not isinstance(shown, str) or not _DECIMAL.fullmatch(shown):
        return figure(shown)
    found = float(shown)
    return int(found) if found.is_integer() else found


def assembled(
    dimensions: Sequence[Named],
    codes: Sequence[Sequence[str]],
    figures: Mapping[str, Sequence[float | None]],
) -> ProtectedTable:
    """Return the table of loose cells, which must be there once each."""
    shape: list[int] = []
    places: list[NDArray[np.intp]] = []
    named: list[Dimension] = []
    many = len(figures["value"])
    for dimension, column in zip(dimensions, codes, strict=True):
        place: dict[str, int] = {}
        index = np.fromiter((place.setdefault(c, len(place)) for c in column), np.intp, len(column))
        shape.append(len(place))
        places.append(index)
        labels = dimension.labels or {}
        texts = tuple(labels.get(code, "") for code in place)
        named.append(Dimension(dimension.id, dimension.id, dimension.label, tuple(place), texts))
    _once_each(shape, many)
    where = np.ravel_multi_index(places, shape)
    if np.bincount(where, minlength=many).max(initial=0) > 1:
        raise ParameterError("the cells must be there once each. One is there twice.")
    missing = np.empty(many, bool)
    missing[where] = [value is None for value in figures["value"]]
    withheld = missing.reshape(shape)
    arrays = {}
    for name, given in figures.items():
        decimals = any(isinstance(value, float) for value in given)
        if decimals and name != "value":
            raise ParameterError(f"the figures of '{name}' must be whole numbers or missing.")
        flat: NDArray[Any] = np.empty(many, np.float64 if decimals else np.int64)
        flat[where] = [0 if value is None else value for value in given]
        if [value is None for value in given] != missing[where].tolist():
            raise ParameterError(f"the figures of '{name}' must be missing where 'value' is.")
        arrays[name] = flat.reshape(shape)
    return ProtectedTable(tuple(named), arrays.pop("value"), withheld, **arrays)


def _once_each(shape: Sequence[int], many: int) -> None:
    if prod(shape) != many:
        raise ParameterError(
            f"the cells must be there once each. The categories make {prod(shape):,} cells, the "
            f"file has {many:,}."
        )


def in_order(codes: Sequence[Sequence[str]], many: int) -> list[tuple[str, ...]]:
    """Return the codes of the cells of a file in row-major order, one column per dimension.

    There must be as many cells as the file has figures; only then is the list of them made.
    """
    _once_each([len(column) for column in codes], many)
    return list(zip(*product(*codes), strict=True))


def proof_of(document: object) -> dict[str, Any] | None:
    """Return the proof in a document, None where there is none."""
    proof = document.get("proof") if isinstance(document, dict) else None
    return proof if isinstance(proof, dict) else None
