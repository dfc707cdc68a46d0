"""Cells left empty in an adjusted table cannot be computed."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from discreet.desk.adjust import adjust
from discreet.desk.adjust.complements import coarse_cells, rounded, withheld
from discreet.desk.adjust.method import ControlledAdjustment
from discreet.desk.cells import CellTable
from discreet.desk.sensitivity import Given
from discreet.errors import ParameterError


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


def test_figures_that_change_much_are_rounded_whichever_way_they_went() -> None:
    # 20% of 1,300 is 260: the least step is 500. 20% of 84 is 16.8: 20. Halves go up.
    np.testing.assert_array_equal(rounded(np.array([1300.0, 84, 250]), 0.2), [1500, 80, 250])
    table = _table(np.array([[1000.0, 2000], [3000, 900]]), np.array([[True, False]] * 2))
    found = ControlledAdjustment().adjust(table, [Given(25)], np.random.default_rng(1))
    # The cell of 1,000 needs 250: of a released 1,250 that is 20%, of 750 it is 33%. What is told
    # depends on the need and the released figure, not on which of the two is the case.
    needed = np.where(found.sensitive, 0.25 * table.values, np.abs(found.values - table.values))
    for share in (0.05, 0.24, 0.3):
        expected = needed > share * found.values + 1e-9
        np.testing.assert_array_equal(coarse_cells(found, share), expected)


def test_rounded_figures_are_told_and_not_counted_as_changes() -> None:
    frame = pd.DataFrame(
        {"r": list("aabb"), "c": list("xyxy"), "value": [100, 4000, 5000, 300],
         "sensitive": [1, 0, 0, 0], "lower": [60, 0, 0, 0], "upper": [60, 0, 0, 0]}
    )  # fmt: skip
    plain = adjust(frame, seed=1)
    found = adjust(frame, coarse=10, seed=1)
    sheet, true = found.to_pandas(), plain.to_pandas()
    assert found.facts["rounded"] == (sheet["status"] == "rounded").sum() > 0
    assert found.facts["quality"]["largest_change"] <= 0.1 / 0.9
    shown = sheet["status"] == "published"
    np.testing.assert_array_equal(sheet["value"][shown], true["value"][shown])
    with pytest.raises(ParameterError, match="coarse must be"):
        adjust(frame, coarse=60)
