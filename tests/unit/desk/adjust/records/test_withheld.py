"""Cells of adjusted records that are short are withheld with others that would give them away."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.desk.adjust.records import RecordAdjustment, cell_rows, withheld
from discreet.desk.adjust.records.withheld import with_complements
from discreet.desk.cells import Records
from discreet.desk.sensitivity import PriorPosterior
from discreet.solve.solution import Status

SIZES = (3, 4)
RULES = [PriorPosterior(10)]


def _found() -> tuple[Records, RecordAdjustment]:
    """Two records in each cell of 3 × 4; that of the first codes should have moved by 30."""
    at = np.array([(i, j) for i in range(SIZES[0]) for j in range(SIZES[1]) for _ in range(2)])
    amounts = np.arange(40.0, 40 + len(at))
    codes = tuple((*(f"{d}{i}" for i in range(n)), "_T") for d, n in zip("ab", SIZES, strict=True))
    parents = tuple((*[n] * n, -1) for n in SIZES)
    records = Records(("a", "b"), codes, parents, at, amounts, np.arange(len(at)), False)
    rows = cell_rows(at, records.hierarchies, amounts)
    needed = np.zeros(rows.size + rows.records)
    first = [
        set(rows.members[rows.starts[r] : rows.starts[r + 1]]) == {0, 1} for r in range(rows.size)
    ]
    needed[np.flatnonzero(first)] = 30
    return records, RecordAdjustment(Status.RELAXED, rows, amounts, needed, 0)


def test_what_is_short_does_not_follow_from_what_is_left() -> None:
    records, found = _found()
    held = with_complements(records, found, 2, None, RULES)
    assert held.short == (("a0", "b0"),)
    assert held.others is not None
    # In a two-way table at least a rectangle: three others.
    assert len(held.others) >= 3
    empty = set(held.short) | set(held.others)
    for line in range(SIZES[0]):
        row = [cell for cell in empty if cell[0] == f"a{line}"]
        assert len(row) != 1
    cells = sorted(empty)
    sums = []
    for d in (0, 1):
        for code in records.codes[d]:
            sums.append(
                [0 if cell[d] != code else -1 if cell[1 - d] == "_T" else 1 for cell in cells]
            )
    _, size, right = np.linalg.svd(np.array(sums, float))
    free = right[(size > 1e-9).sum() :]
    assert np.abs(free[:, cells.index(("a0", "b0"))]).max() > 1e-9


def test_without_a_pattern_nothing_may_be_released(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(withheld, "MOST_CELLS", 10)
    assert with_complements(*_found(), 2, None, RULES).others is None
