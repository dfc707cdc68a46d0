"""Raw columns to the columns of a version: sorted by area, keys assigned."""

from __future__ import annotations

import json
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from discreet.build.ingest import Ingest
from discreet.compiling import SMALL
from discreet.population.store import is_narrow
from discreet.progress import Tell


def write_columns(ingest: Ingest, version: Path, tell: Tell) -> None:
    """Write the schema and the columns of a version."""
    schema, order = ingest.schema()
    (version / "schema.json").write_text(
        json.dumps(schema.to_json(), ensure_ascii=False), encoding="utf-8"
    )
    steps = len(schema.columns) + 2
    tell("sorting", 0, steps)
    places = None
    if order is not None:
        areas = order[ingest.raw("area", np.uint32)]
        starts = np.zeros(len(order) + 1, np.int64)
        np.cumsum(np.bincount(areas, minlength=len(order)), out=starts[1:])
        starts.tofile(version / "areas.i64")
        places = _places(areas, starts)
        del areas
    with (version / "codes.u8").open("wb") as narrow, (version / "codes.u16").open("wb") as wide:
        for i, variable in enumerate(schema.columns):
            tell("sorting", i + 1, steps)
            target = narrow if is_narrow(variable) else wide
            _put(ingest.codes(variable.id), places, target)
    tell("sorting", steps - 1, steps)
    with (version / "keys.u32").open("wb") as target:
        _put(ingest.keys(), places, target)
    if ingest.has("count"):
        with (version / "counts.u32").open("wb") as target:
            _put(ingest.raw("count", np.uint32), places, target)


def _places(areas: NDArray[np.uint32], starts: NDArray[np.int64]) -> NDArray[np.uint32] | None:
    """Return where each row goes, or None where the rows are in order already."""
    if (areas[1:] >= areas[:-1]).all():
        return None
    if len(areas) <= SMALL:
        few = np.empty(len(areas), np.uint32)
        few[np.argsort(areas, kind="stable")] = np.arange(len(areas), dtype=np.uint32)
        return few
    from discreet.population.kernels import ordered_places

    places: NDArray[np.uint32] = ordered_places(areas, starts[:-1].copy())
    return places


def _put(values: NDArray[Any], places: NDArray[np.uint32] | None, target: IO[bytes]) -> None:
    """Write a column with each row in its place."""
    if places is not None:
        values = _scattered(values, places)
    target.write(values.data.cast("B"))


def _scattered(values: NDArray[Any], places: NDArray[np.uint32]) -> NDArray[Any]:
    """Return the values with each in its place."""
    if len(values) <= SMALL:
        out = np.empty_like(values)
        out[places] = values
        return out
    from discreet.population.kernels import scatter

    return scatter(values, places)  # type: ignore[no-any-return]
