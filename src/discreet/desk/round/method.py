"""Controlled rounding, rounding of small counts, and additivity, on a table from a file."""

from __future__ import annotations

import numpy as np

from discreet.desk.round import Mode
from discreet.errors import ParameterError
from discreet.progress import Tell
from discreet.solve import closest_additive, controlled_rounding, round_small_counts
from discreet.solve.solution import Solution, Status
from discreet.solve.system import TableSystem
from discreet.table.files import TableFile


def rounded(
    file: TableFile, mode: Mode, base: int, rng: np.random.Generator, tell: Tell | None = None
) -> Solution:
    """Return the inner counts of a table that adds up; raise where none was found."""
    system = TableSystem.of(file.shape)
    if mode is Mode.ADDITIVE:
        found = _closest(file, system, rng, tell)
    else:
        file.refuse_gap("Leave the totals out, or use the mode additive.")
        if mode is Mode.CONTROLLED:
            found = controlled_rounding(file.counts, base, rng, tell=tell)
        else:
            found = round_small_counts(system, file.counts, base, rng, tell)
    if found.status in (Status.NOT_CONVERGED, Status.INFEASIBLE):
        raise ParameterError(
            "no table was found that adds up within twice the base; nothing is written."
        )
    return found


def _closest(
    file: TableFile, system: TableSystem, rng: np.random.Generator, tell: Tell | None
) -> Solution:
    if not file.has_totals:
        raise ParameterError("the mode additive needs a table with totals, such as a code _T.")
    target, counted = np.zeros(system.shape, np.int64), np.zeros(system.shape, bool)
    where = tuple(file.rows.T)  # −1 is the last index, and so is the total of an axis
    target[where], counted[where] = file.figures, True
    found = closest_additive(system, target, rng, counted=counted, tell=tell)
    return Solution(found.status, found.values.reshape(file.shape), found.gap)
