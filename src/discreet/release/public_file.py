"""A protected base as a public-use file: its people as rows of codes, and a description beside."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from discreet.errors import ParameterError
from discreet.files import written
from discreet.population import Store, Version
from discreet.population.schema import Level
from discreet.protect.records.protected_base import NAME
from discreet.release.told import ADDS_UP, BASE, BEFOREHAND

ROWS = 2**20
"""Rows that are written at a time."""


def write_base(store: Path, out: Path) -> list[Path]:
    """Write the protected base of a store and its description; return the two files."""
    if out.suffix != ".parquet":
        raise ParameterError(f"the file must end in .parquet. Got {out.name}.")
    version = Store(store).open()
    if NAME not in (version.manifest.get("protected_beforehand") or ()):
        raise ParameterError(
            f"{store} holds no protected base: its records must not be given away. Build it with "
            f'[[protect]] method = "{NAME}".'
        )
    columns = _columns(version)
    # The store has members of a household one after the other: the file has rows by their codes.
    order = np.lexsort([codes for _, codes in reversed(columns.values())])
    with written(out, 0o644) as file:
        kinds = pa.schema([(name, pa.dictionary(pa.int32(), pa.string())) for name in columns])
        with pq.ParquetWriter(file, kinds) as writer:
            for start in range(0, version.rows, ROWS):
                rows = order[start : start + ROWS]
                arrays = [_codes(level, codes[rows]) for level, codes in columns.values()]
                writer.write_table(pa.table(arrays, schema=kinds))
    beside = out.with_name(f"{out.name}.meta.json")
    with written(beside, 0o644) as file:
        text = json.dumps(describe(version), indent=1, ensure_ascii=False)
        file.write(f"{text}\n".encode())
    return [out, beside]


def describe(version: Version) -> dict[str, Any]:
    """Return what a user of the file must know: variables, codes, notes, and how far it is off."""
    facts = next(step for step in version.steps_beforehand if step["method"] == NAME)
    schema = version.schema
    return {
        "dataset": schema.id,
        "title": schema.title,
        "unit": schema.unit,
        "rows": version.rows,
        "data_version": version.id,
        "notes": [BEFOREHAND, BASE, ADDS_UP],
        "variables": [variable.to_json() for variable in schema.variables],
        "ranges": _ranges(facts),
    }


def _ranges(facts: dict[str, Any]) -> dict[str, Any]:
    """Return by how much figures are off: of all, and of those that have ranges of their own."""
    found = {
        "meaning": "lowest and highest true count less the figure, in nine of ten cases; by "
        "level of area, number of variables, and class of figure",
        "classes_up_to": facts["classes"],
        "levels": facts["ranges"],
        "more_categories_than": facts["most_categories"],
        "levels_of_more_categories": facts["ranges_beyond"],
    }
    if "ranges_household" in facts:
        found |= {
            "variables_of_households": facts["household_variables"],
            "levels_with_variables_of_households": facts["ranges_household"],
        }
    return found


def _columns(version: Version) -> dict[str, tuple[Level, Any]]:
    """Return the level and the indices of every column, the areas first."""
    found: dict[str, tuple[Level, Any]] = {}
    geography = version.schema.geography
    if geography is not None and version.areas is not None:
        smallest = np.repeat(np.arange(len(geography.finest)), np.diff(version.areas))
        found |= {level.id: (level, level.of[smallest]) for level in geography.levels}
    for variable in version.schema.columns:
        found[variable.id] = (variable.finest, version.column(variable))
    return found


def _codes(level: Level, indices: Any) -> pa.DictionaryArray:
    return pa.DictionaryArray.from_arrays(
        pa.array(np.asarray(indices, np.int32)), pa.array(level.codes, pa.string())
    )
