"""What a reader finds in a file, and how loose cells become a table again."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError
from discreet.release.text import Facts, folded
from discreet.table import Dimension, ProtectedTable

_WHOLE = re.compile(r"\d{1,18}(\.0+)?")


@dataclass(frozen=True, eq=False)
class Found:
    """A file as it stands: its table, its words, its proof, and where it contradicts itself."""

    table: ProtectedTable
    labelled: bool
    facts: Facts
    proof: dict[str, Any] | None
    contradictions: tuple[str, ...] = ()


@dataclass(frozen=True)
class Named:
    """A dimension by its id, with the labels a file gives, if it gives any."""

    id: str
    label: str
    labels: Mapping[str, str] | None = None


def figure(text: object) -> int | None:
    """Return a figure of a file, None where it is missing; a changed kind of number is none."""
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


def layer_of(layout: Mapping[str, Any]) -> str | None:
    """Return which dimension makes the layers; files of version 0.1 call them wafers."""
    found = layout["layer"] if "layer" in layout else layout["wafer"]
    return None if found is None else str(found)


def unlike(what: str, shown: str, stated: str) -> tuple[str, ...]:
    """Return a contradiction where a text is another than the notes say."""
    return () if folded(shown) == folded(stated) else (f"{what} is not the one in the notes",)
