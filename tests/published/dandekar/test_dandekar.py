"""Dandekar's illustrative table: its sizes, its separable part, and both adjustments."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from discreet.desk.adjust.magnitudes import adjust, default_weights, problem
from discreet.desk.adjust.separate import separate, whole
from discreet.desk.cells import CellTable, read_cells
from discreet.solve.system import TableSystem
from discreet.table.hierarchy import Hierarchy

TOTALS = {
    "level": {"3": ["1", "2"]},
    "row": {"8": list("1234567")},
    "column": {"7": list("123456")},
}


@pytest.fixture(scope="module")
def table() -> CellTable:
    return read_cells(Path(__file__).parent / "table.csv", TOTALS)


@pytest.fixture(scope="module")
def system(table: CellTable) -> TableSystem:
    return TableSystem.table([Hierarchy(parents) for parents in table.parents])


def test_the_table_has_the_printed_size(table: CellTable, system: TableSystem) -> None:
    assert table.sensitive is not None
    part = whole(system, table.values, table.sensitive)
    assert (part.cells, part.equations, int(part.sensitive.sum())) == (73, 72, 11)


def test_the_part_has_the_printed_size(table: CellTable, system: TableSystem) -> None:
    assert table.sensitive is not None
    part = separate(system, table.values, table.sensitive, 3_000)
    assert (part.cells, part.equations, int(part.sensitive.sum())) == (46, 54, 19)


@pytest.mark.parametrize("above", [None, 3_000])
def test_every_sensitive_cell_is_protected_and_all_adds_up(
    above: float | None, table: CellTable, system: TableSystem
) -> None:
    assert table.sensitive is not None
    part = (
        whole(system, table.values, table.sensitive)
        if above is None
        else separate(system, table.values, table.sensitive, above)
    )
    need = 0.1 * part.values
    found = adjust(
        problem(
            system, part.values, part.sensitive, need, need,
            weights=np.where(part.values > 0, default_weights(table.values), 0.0),
        )
    )  # fmt: skip
    assert not found.short.any()
    assert (np.abs(found.values)[part.sensitive] >= need[part.sensitive] - 1e-6).all()
    released = table.values + found.values
    for axis in range(3):
        lines = np.moveaxis(released, axis, 0)
        np.testing.assert_allclose(lines[:-1].sum(axis=0), lines[-1], atol=1e-6)
    assert (released[table.values == 0] == 0).all()
    assert released.min() >= 0


def test_the_outcomes_of_part_and_whole_are_not_much_different(
    table: CellTable, system: TableSystem
) -> None:
    assert table.sensitive is not None
    weights = default_weights(table.values)
    part = separate(system, table.values, table.sensitive, 3_000)
    costs = []
    for values, flags in ((table.values, table.sensitive), (part.values, part.sensitive)):
        found = adjust(
            problem(
                system, values, flags, 0.1 * values, 0.1 * values,
                weights=np.where(values > 0, weights, 0.0),
            )
        )  # fmt: skip
        costs.append(found.cost)
    # The part can never do better than the whole; here it costs less than 1% more.
    assert costs[0] <= costs[1] <= 1.01 * costs[0]
