"""Cells left empty in an adjusted table cannot be computed."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.desk.adjust.complements import withheld
from discreet.desk.adjust.method import ControlledAdjustment
from discreet.desk.cells import CellTable
from discreet.desk.sensitivity import Given


def _table(inner: np.ndarray, flags: np.ndarray) -> CellTable:
    rows, columns = inner.shape
    values = np.zeros((rows + 1, columns + 1))
    values[:-1, :-1] = inner
    values[-1] = values.sum(axis=0)
    values[:, -1] = values.sum(axis=1)
    sensitive = np.zeros(values.shape, bool)
    sensitive[:-1, :-1] = flags
    codes = tuple(
        (*(f"{letter}{i}" for i in range(size)), "_T")
        for letter, size in (("r", rows), ("c", columns))
    )
    parents = ((*[rows] * rows, -1), (*[columns] * columns, -1))
    return CellTable(("row", "column"), codes, parents, values, False, sensitive=sensitive)


def _free(empty: np.ndarray) -> np.ndarray:
    """Which empty cells are not fixed by the figures that are left: in the null space of sums."""
    rows, columns = empty.shape
    cells = np.flatnonzero(empty)
    sums = np.zeros((rows + columns, len(cells)))
    for k, cell in enumerate(cells):
        row, column = divmod(int(cell), columns)
        sums[row, k] = -1 if column == columns - 1 else 1
        sums[rows + column, k] = -1 if row == rows - 1 else 1
    _, size, right = np.linalg.svd(sums)
    null = right[(size > 1e-9).sum() :]
    found = np.zeros(empty.shape, bool)
    found.flat[cells] = np.abs(null).max(axis=0, initial=0) > 1e-9
    return found


@pytest.mark.parametrize("seed", range(6))
def test_no_empty_cell_follows_from_the_others(seed: int) -> None:
    rng = np.random.default_rng(seed)
    inner = np.round(rng.lognormal(5, 1, (5, 6))) + 1
    table = _table(inner, rng.random(inner.shape) < 0.2)
    fixed = np.zeros(table.shape, bool)
    fixed[:2] = True  # two rows stay: what is sensitive there is short
    found = ControlledAdjustment().adjust(table, [Given(20)], np.random.default_rng(1), fixed)
    held = withheld(found, [Given(20)], 0.1)
    assert held.secondary is not None
    far = np.abs(found.values - table.values) > 0.1 * table.values + 1e-9
    np.testing.assert_array_equal(held.primary, found.short | far)
    assert not (held.primary & held.secondary).any()
    assert _free(held.cells)[held.primary].all()
    assert (table.values > 0)[held.cells].all()


def test_where_no_pattern_protects_nothing_may_be_released() -> None:
    # A table of one row and one column: whatever is empty, the total tells it.
    table = _table(np.array([[10.0]]), np.array([[True]]))
    fixed = np.ones(table.shape, bool)
    found = ControlledAdjustment().adjust(table, [Given(20)], np.random.default_rng(1), fixed)
    assert found.short.any()
    held = withheld(found, [Given(20)])
    assert held.secondary is None or held.cells.all()


def test_nothing_short_and_no_limit_leave_nothing_empty() -> None:
    table = _table(np.array([[10.0, 20], [30, 40]]), np.array([[True, False], [False, False]]))
    found = ControlledAdjustment().adjust(table, [Given(20)], np.random.default_rng(1))
    assert not withheld(found, [Given(20)]).cells.any()
