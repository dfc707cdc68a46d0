"""Releases made from any CSV table and a small sidecar: the formats without a store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from discreet.errors import ParameterError, unknown
from discreet.json import parsed
from discreet.release.formats.base import decimal, figure
from discreet.release.formats.compare import read_text
from discreet.release.result import Provenance, Release
from discreet.risk import PublicQuality
from discreet.table import TOTAL, Dimension, ProtectedTable
from discreet.table.files import MAX_CELLS, TableFile, read_table
from discreet.table.hierarchy import is_total_code
from discreet.table.source import COUNT_NAMES, VALUE_NAME, read_source
from discreet.types import Integers

VALUE_NAMES = (*COUNT_NAMES, VALUE_NAME)
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
        return cls.of(parsed(read_text(path), path.name))

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
        lambda: quality,
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
    source = read_source(path)
    name, heads, lines, lower = source.name, source.header, source.rows, source.names
    at = next((lower.index(column) for column in VALUE_NAMES if column in lower), None)
    if at is None:
        return None
    columns = [i for i in range(len(heads)) if i != at and lower[i] != STATUS]
    places: list[dict[str, int]] = [{} for _ in columns]
    index = np.array(
        [
            [
                -1 if is_total_code(row[i]) else place.setdefault(row[i], len(place))
                for i, place in zip(columns, places, strict=True)
            ]
            for _, row in lines
        ],
        np.int64,
    )
    if not columns or not all(places):
        raise ParameterError(f"'{name}' must have a column of categories beside {heads[at]}.")
    inner = [
        Dimension.plain(heads[i], tuple(place)) for i, place in zip(columns, places, strict=True)
    ]
    # Counts are whole numbers; `discreet suppress` and `adjust` write magnitudes as values.
    read, kind = (decimal, "") if lower[at] == VALUE_NAME else (figure, "whole ")
    figures = [read(row[at]) for _, row in lines]
    for value in figures:
        if value is not None and value < 0:
            raise ParameterError(f"a figure must be a {kind}number of 0 or more. Got {value}.")
    return _assembled(name, inner, index, figures, absent_is_zero)


def _assembled(
    name: str,
    inner: Sequence[Dimension],
    index: Integers,
    figures: Sequence[float | None],
    absent_is_zero: bool,
) -> ProtectedTable:
    """Return the table with each figure in its place; place −1, the last, is the total."""
    dimensions = tuple(
        d.with_total() if (index[:, axis] < 0).any() else d for axis, d in enumerate(inner)
    )
    shape = tuple(map(len, dimensions))
    if prod(shape) > MAX_CELLS:
        raise ParameterError(f"'{name}' must have at most {MAX_CELLS:,} cells.")
    decimals = any(isinstance(figure, float) for figure in figures)
    values = np.full(shape, -1, np.float64 if decimals else np.int64)
    seen = np.zeros(shape, np.int64)
    np.add.at(seen, tuple(index.T), 1)
    values[tuple(index.T)] = [-1 if figure is None else figure for figure in figures]
    if seen.max() > 1:
        raise ParameterError(f"'{name}' must have each cell once.")
    cells = tuple(slice(0, len(dimension)) for dimension in inner)
    absent = seen[cells] == 0
    if absent.any() and not absent_is_zero:
        raise ParameterError(
            f"'{name}' must have a row for every cell, zero cells included. "
            f"Missing: {int(absent.sum()):,} of {absent.size:,}."
        )
    values[cells][absent] = 0
    return ProtectedTable(dimensions, np.where(values < 0, 0, values), values < 0)


def _read_complete(file: TableFile) -> ProtectedTable:
    """Return the table of a file without missing figures, its totals in their places."""
    return _assembled("", file.dimensions, file.rows, file.figures.tolist(), False)
