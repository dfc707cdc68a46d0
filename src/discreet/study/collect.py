"""Means over draws: what the blocks of a study found, as results."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from discreet.risk.transition import Contents
from discreet.study.judge import Known, Pairs, mean_and_error
from discreet.study.measures import BY_METHOD, POOLED, weights_for
from discreet.study.model import Setting, Study
from discreet.study.pooled import Found, Pooled
from discreet.study.results import Results, Row, Value
from discreet.study.run import Block, Part, Unit, known_of, units


def collected(study: Study, parts: Mapping[Block, Part], seconds: float = 0.0) -> Results:
    """Return the results of all blocks: means over draws, in the order of the study."""
    rows: list[Row] = []
    every = study.judged.every
    for place, setting in enumerate(study.settings):
        mine = [part for block, part in parts.items() if block.setting == place]
        values = np.concatenate([part.values for part in mine], axis=1)
        pooled = []
        for t in range(len(study.tables)):
            drawn = [pairs for part in mine for pairs in part.pairs[t]]
            pooled.append(_pooled(study, setting, t, drawn))
        for unit, found in zip(units(study), values, strict=True):
            together = pooled[unit.table] if unit.axis is None else {}
            for measure, column in zip(every, found.T, strict=True):
                if measure in together:
                    rows.append(_row(study, setting, unit, measure, together[measure]))
                elif unit.axis is None or np.isfinite(column).any():
                    rows.append(_row(study, setting, unit, measure, Found(column, np.nan)))
    order = {table.name: i for i, table in enumerate(study.tables)}
    rows.sort(key=lambda row: (order[row.table], bool(row.variable)))
    return Results(study, tuple(rows), seconds)


def _row(study: Study, setting: Setting, unit: Unit, measure: str, found: Found) -> Row:
    table = study.tables[unit.table]
    mean, error, undefined = mean_and_error(found.values)
    if found.error == found.error:
        error = found.error
    if setting.untouched and mean == mean:
        error = 0.0  # drawn once: nothing varies
    variable, category = "", ""
    if unit.axis is not None:
        variable, category = table.by[unit.axis], table.codes[unit.axis][unit.place]
    value = Value(mean, error, len(found.values), undefined)
    return Row(
        table.name, setting.name, setting.label, setting.on.value, variable, category, measure,
        value,
    )  # fmt: skip


def _pooled(study: Study, setting: Setting, t: int, drawn: list[Pairs]) -> dict[str, Found]:
    """Return the risks of a table that all draws give together, by measure."""
    known = known_of(setting, study.tables[t])
    pooled = Pooled(study.tables[t].counts, drawn)
    found: dict[str, Found] = {}
    for name in study.judged.every:
        if name == "claims":
            found[name] = pooled.claims()
        elif name in POOLED or (name in BY_METHOD and not known.complete):
            weights = weights_for(name, study.judged.weights)
            contents: Contents = "observed" if name == "transition-observed" else "expected"
            by = Known() if name in POOLED else known
            found[name] = pooled.risk(by, weights, contents)
    return found
