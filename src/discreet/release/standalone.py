"""Releases made of any CSV table and a small sidecar, so that the writers serve without a store."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from discreet.errors import ParameterError, unknown
from discreet.release.readers.base import figure
from discreet.release.result import Provenance, Release
from discreet.risk import PublicQuality
from discreet.table import TOTAL, Dimension, ProtectedTable
from discreet.table.files import MAX_CELLS, TableFile, read_table
from discreet.table.source import COUNT_NAMES

VALUE_NAMES = (*COUNT_NAMES, "value")
STATUS = "status"  # a column that `discreet suppress` adds; it is not a dimension
KEYS = (
    "title", "population", "unit", "notes", "quality", "dataset", "source", "date", "version",
    "policy_version", "perturbed", "dimensions",
)  # fmt: skip


@dataclass(frozen=True)
class Sidecar:
    """What a reader must be told of a table that its figures do not say."""

    title: str = ""
    population: str = ""
    unit: str = "count"
    notes: tuple[str, ...] = ()
    quality: tuple[str, ...] = ()
    dataset: str = "table"
    source: str = ""
    date: str = ""
    version: str = ""
    policy_version: str = ""
    perturbed: bool = False
    dimensions: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    @classmethod
    def read(cls, path: Path) -> Sidecar:
        """Return the sidecar in a JSON file; a key that is not known is a mistake."""
        try:
            given = json.loads(path.read_text(encoding="utf-8-sig"))
        except OSError as error:
            raise ParameterError(f"there is no readable file '{path}'. {error}") from None
        except ValueError as error:
            raise ParameterError(f"'{path.name}' must be a JSON file. {error}.") from None
        if not isinstance(given, dict):
            raise ParameterError(f"'{path.name}' must hold a JSON object.")
        return cls.of(given)

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Sidecar:
        """Return the sidecar of plain values."""
        values: dict[str, Any] = {}
        for key, value in given.items():
            if key not in KEYS:
                raise unknown("key of the sidecar", key, KEYS)
            if key in ("notes", "quality"):
                if not isinstance(value, list) or not all(isinstance(x, str) for x in value):
                    raise ParameterError(f"{key} must be a list of texts. Got {value!r}.")
                value = tuple(value)
            elif key == "dimensions":
                if not isinstance(value, dict) or not all(map(_described, value.values())):
                    raise ParameterError(
                        "dimensions must give each column a 'label' (text) and 'labels' (text by "
                        f"code). Got {value!r}."
                    )
            elif not isinstance(value, bool if key == "perturbed" else str):
                kind = "true or false" if key == "perturbed" else "a text"
                raise ParameterError(f"{key} must be {kind}. Got {value!r}.")
            values[key] = value
        return cls(**values)


def convert(table: str | Path, sidecar: Sidecar, absent_is_zero: bool = False) -> Release:
    """Return a release of the figures in a CSV table, unsigned: no store stands for it.

    Long (an empty count is a withheld figure) or wide. Cells must all be there, or with
    `absent_is_zero` are zeros where not; totals that the file leaves out are missing.
    """
    path = Path(table)
    found = _read_long(path, absent_is_zero) or _read_complete(read_table(path, absent_is_zero))
    names = [d.level for d in found.dimensions]
    for name in sidecar.dimensions:
        if name not in names:
            raise unknown("dimension of the table", name, names)
    dimensions = tuple(_labelled(d, sidecar.dimensions.get(d.level, {})) for d in found.dimensions)
    quality = PublicQuality(
        int(found.values.size), sidecar.perturbed, None, None, None, None, None, sidecar.quality
    )
    totals = "as given" if any(TOTAL in d.codes for d in dimensions) else "none"
    origin = Provenance(
        sidecar.dataset, sidecar.source, sidecar.unit, "", totals, "", sidecar.version,
        sidecar.date, sidecar.policy_version,
    )  # fmt: skip
    return Release(
        ProtectedTable(dimensions, found.values, found.withheld),
        sidecar.population,
        (),
        quality,
        sidecar.notes,
        origin,
        heading=sidecar.title,
    )


def _described(value: object) -> bool:
    if not isinstance(value, dict) or set(value) - {"label", "labels"}:
        return False
    labels = value.get("labels", {})
    return (
        isinstance(value.get("label", ""), str)
        and isinstance(labels, dict)
        and all(isinstance(text, str) for text in labels.values())
    )


def _labelled(dimension: Dimension, given: Mapping[str, Any]) -> Dimension:
    labels = {TOTAL: "Total", **given.get("labels", {})}
    for code in given.get("labels", {}):
        if code not in dimension.codes:
            raise unknown(f"category of '{dimension.level}'", code, dimension.codes)
    return Dimension(
        dimension.variable,
        dimension.level,
        given.get("label", dimension.label),
        dimension.codes,
        tuple(labels.get(code, code) for code in dimension.codes),
    )


def _read_long(path: Path, absent_is_zero: bool) -> ProtectedTable | None:
    """Return the table of a long file, None where the file is wide."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise ParameterError(f"there is no file '{path}'.") from None
    except (OSError, UnicodeDecodeError) as error:
        raise ParameterError(f"'{path.name}' must be a readable CSV file. {error}") from None
    delimiter = max(",;\t", key=text.partition("\n")[0].count)
    rows = [row for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter) if row]
    heads = [head.strip() for head in rows[0]] if rows else []
    lower = [head.lower() for head in heads]
    at = next((lower.index(name) for name in VALUE_NAMES if name in lower), None)
    if at is None:
        return None
    columns = [i for i in range(len(heads)) if i != at and lower[i] != STATUS]
    if not columns:
        raise ParameterError(f"'{path.name}' must have a column beside {heads[at]}.")
    places: list[dict[str, int]] = [{} for _ in columns]
    index = np.empty((len(rows) - 1, len(columns)), np.int64)
    figures: list[int] = []
    for number, row in enumerate(rows[1:], 2):
        if len(row) != len(heads):
            raise ParameterError(f"row {number} of '{path.name}' must have {len(heads)} fields.")
        for axis, i in enumerate(columns):
            code = TOTAL if row[i].strip().lower() in ("_t", "total") else row[i].strip()
            place = places[axis]
            index[number - 2, axis] = -1 if code == TOTAL else place.setdefault(code, len(place))
        value = figure(row[at].strip())
        figures.append(-1 if value is None else value)
    totals = [bool((index[:, axis] < 0).any()) for axis in range(len(columns))]
    shape = tuple(len(place) + total for place, total in zip(places, totals, strict=True))
    if not all(places) or prod(shape) > MAX_CELLS:
        raise ParameterError(f"'{path.name}' must have 1 to {MAX_CELLS:,} cells.")
    dimensions = tuple(
        Dimension(heads[i], heads[i], heads[i], codes, codes)
        for i, codes in (
            (i, (*place, TOTAL) if total else tuple(place))
            for i, place, total in zip(columns, places, totals, strict=True)
        )
    )
    inner = tuple(slice(0, len(place)) for place in places)
    values, seen = np.full(shape, -1, np.int64), np.zeros(shape, np.int64)
    where = tuple(index.T)  # −1 is the last place along an axis: the total's
    np.add.at(seen, where, 1)
    values[where] = figures
    if seen.max() > 1:
        raise ParameterError(f"'{path.name}' must have each cell once.")
    absent = seen[inner] == 0
    if absent.any() and not absent_is_zero:
        raise ParameterError(
            f"'{path.name}' must have a row for every cell, zero cells included. "
            f"Missing: {int(absent.sum()):,} of {absent.size:,}."
        )
    values[inner][absent] = 0
    return ProtectedTable(dimensions, np.where(values < 0, 0, values), values < 0)


def _read_complete(file: TableFile) -> ProtectedTable:
    """Return the table of a file without missing figures, its totals in their places."""
    totals = [bool((file.rows[:, axis] < 0).any()) for axis in range(len(file.dimensions))]
    dimensions = tuple(
        Dimension(d.variable, d.level, d.label, (*d.codes, TOTAL), (*d.labels, "Total"))
        if total
        else d
        for d, total in zip(file.dimensions, totals, strict=True)
    )
    values = np.full([len(d) for d in dimensions], -1, np.int64)
    values[tuple(file.rows.T)] = file.figures
    return ProtectedTable(dimensions, np.where(values < 0, 0, values), values < 0)
