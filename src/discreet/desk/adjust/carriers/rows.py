"""The cells of a list as rows over carriers, and what the search for records makes of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from discreet.desk.adjust.carriers.find import Carriers, carriers_of, further
from discreet.desk.adjust.carriers.members import members_of, short_of
from discreet.desk.adjust.carriers.mend import mended
from discreet.desk.adjust.records.adjust import adjust_records
from discreet.desk.adjust.records.rows import CellRows
from discreet.desk.cells import RANKS
from discreet.progress import Tell
from discreet.solve.layout import Laid
from discreet.solve.solution import Status
from discreet.types import Floats

# The odds that two different sets share a sum of random 64-bit numbers are 2^-64 a pair.
_SEED = 20_020_716
# Cells that are left short get more carriers, and the search goes on from where it was, so often.
ROUNDS = 6
# With whole figures, after so many rounds carriers go no further than they are, which leaves room
# for others.
TIGHT_AFTER = 1
# A share of the work for records: more makes little better.
EFFORT = 0.4
# What is whole but for this share is whole.
WHOLE = 1e-12


def adjust_carried(
    tables: Sequence[Laid],
    values: Floats,
    room: Floats,
    need: Floats,
    rng: np.random.Generator,
    decimals: int | None = None,
    value_power: float = 0.0,
    tell: Tell | None = None,
) -> tuple[Status, Floats]:
    """Return how it ended, and what is added to each cell of these tables.

    No inner cell changes by more than its `room`; read whether all change by what they `need`. With
    `decimals` changes have so many, where that leaves no more cells short.
    """
    if decimals is not None:
        unit = 10.0**decimals
        asked = np.ceil(need * unit * (1 - WHOLE))
        status, change = _searched(
            tables, np.rint(values * unit), np.floor(room * unit * (1 + WHOLE)), asked, rng, True,
            value_power, tell,
        )  # fmt: skip
        if status is Status.STOPPED or not short_of(change, asked).any():
            return status, change / unit
    return _searched(tables, values, room, need, rng, False, value_power, tell)


def _searched(
    tables: Sequence[Laid],
    values: Floats,
    room: Floats,
    need: Floats,
    rng: np.random.Generator,
    whole: bool,
    value_power: float,
    tell: Tell | None,
) -> tuple[Status, Floats]:
    """Return how it ended, and the changes, in `whole` numbers if given such and not stopped."""
    carriers = carriers_of(tables, values, room, need, whole)
    start: Floats | None = None
    for number in range(ROUNDS):
        if not len(carriers.values):
            return Status.RELAXED, np.zeros(len(values))
        members = members_of(tables, carriers, len(values))
        rows, needs = _rows(members, carriers, values, need)
        found = adjust_records(
            rows, needs, rng, capacity=carriers.most / carriers.values, order_weights=[1.0],
            value_power=value_power, effort=EFFORT, tell=tell, start=start,
            decimals=0 if whole else None, always=whole,
        )  # fmt: skip
        start = found.records - carriers.values
        if found.decimals is not None:
            start = np.rint(start)
        change = np.asarray(members @ start)
        short = short_of(change, need)
        if found.status is Status.STOPPED or not short.any():
            return found.status, change
        better = mended(tables, change, room, need)
        if not short_of(better, need).any():
            return Status.FEASIBLE, better
        if whole and number >= TIGHT_AFTER:
            # What others could take but do not is room for more.
            carriers = replace(carriers, most=np.minimum(carriers.most, np.abs(start)))
        more = further(tables, carriers, room, np.where(short, need, 0.0))
        start = np.append(start, np.zeros(len(more.values) - len(carriers.values)))
        carriers = more
    return found.status, better


def _rows(
    members: Any, carriers: Carriers, values: Floats, need: Floats
) -> tuple[CellRows, tuple[Floats, Floats]]:
    """Return the cells of two carriers and more as rows, those with the same as one; their needs.

    What holds one carrier alone is asked of that carrier. Each cell counts the same.
    """
    size = np.diff(members.indptr)
    number = len(carriers.values)
    marks = np.random.default_rng(_SEED).integers(0, 2**64, number, np.uint64, endpoint=False)
    several = np.flatnonzero(size > 1)
    with np.errstate(over="ignore"):
        sums = np.cumsum(np.append(np.uint64(0), marks[members.indices]), dtype=np.uint64)
        keys = sums[members.indptr[1:]] - sums[members.indptr[:-1]]
    _, first, row = np.unique(keys[several], return_index=True, return_inverse=True)
    total, asked = np.zeros(len(first)), np.zeros(len(first))
    np.maximum.at(total, row, values[several])
    np.maximum.at(asked, row, need[several])
    single = np.flatnonzero(size == 1)
    alone, own = members.indices[members.indptr[single]], np.zeros(number)
    np.maximum.at(own, alone, need[single])
    kept = members[several[first]]
    rows = CellRows(
        carriers.values,
        kept.indptr.astype(np.int64),
        kept.indices.astype(np.int32),
        np.bincount(row, minlength=len(first)).astype(np.int32)[:, None],
        np.bincount(alone, minlength=number)[:, None],
        total,
        np.zeros((len(first), RANKS)),
        np.zeros(len(first), np.int64),
        0,
        np.lexsort((-carriers.values, *carriers.codes.T[::-1])),
    )
    return rows, (asked, own)
