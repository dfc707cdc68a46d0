"""Sensitive cells of the true table that what is published lets an intruder know too closely."""

from __future__ import annotations

from typing import Any

import numpy as np

from discreet.desk.cells import read_cells
from discreet.desk.sensitivity import known_too_closely, rules_of
from discreet.errors import ParameterError
from discreet.risk.cell import Audit
from discreet.table.hierarchy import Groups
from discreet.table.published import PublishedTable
from discreet.table.source import Given


def sensitive(
    table: PublishedTable, result: Audit, true: Given, groups: Groups, rule: Any
) -> dict[str, Any]:
    """Return how many published cells are sensitive, and the names of those known too closely."""
    cells = read_cells(true, groups)
    places = cells.places(table.variables, table.codes)
    low, high = np.zeros(cells.shape), np.full(cells.shape, np.inf)
    low.flat[places], high.flat[places] = result.low, result.high
    outside = (cells.values < low) | (cells.values > high)
    if outside.any():
        raise ParameterError(
            f"what is published must fit the true table. {cells.name(int(np.argmax(outside)))} "
            "does not: check the figures and how they are said to be changed."
        )
    flags, close = known_too_closely(cells, rules_of(cells, rule), low, high)
    published = np.zeros(cells.shape, bool)
    published.flat[places] = True
    return {
        "cells": int((flags & published).sum()),
        "too_close": [cells.name(int(cell)) for cell in np.flatnonzero(close & published)],
    }
