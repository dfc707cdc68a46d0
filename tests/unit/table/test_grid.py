"""The grid: codes with their totals, names of cells, and cells that stand twice."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from discreet.errors import ParameterError
from discreet.table.grid import Grid, grid_of
from discreet.table.source import listed

# Two areas with a total, and two sexes without one.
GRID = Grid(("area", "sex"), (("A", "B", "_T"), ("m", "f")), ((2, 2, -1), (-1, -1)))


def test_cells_have_names_and_are_found_by_their_codes() -> None:
    assert GRID.shape == (3, 2)
    assert GRID.name(3) == "area B, sex f"
    assert GRID.cell({"area": "B", "sex": "f"}) == 3
    assert GRID.cell({"sex": "m"}) == 4  # the total of the areas
    with pytest.raises(ParameterError, match="must have a code for sex"):
        GRID.cell({"area": "A"})
    with pytest.raises(ParameterError, match="no code of area 'C'"):
        GRID.cell({"area": "C", "sex": "m"})


def test_the_order_of_a_cell_is_the_number_of_dimensions_it_keeps() -> None:
    assert GRID.order.tolist() == [[2, 2], [2, 2], [1, 1]]


def test_totals_are_added_where_they_are_asked_for() -> None:
    frame = pd.DataFrame({"area": ["A", "B"], "count": [1, 2]})
    assert grid_of(listed(frame), None, total=False)[0].codes == (("A", "B"),)
    grid, cells = grid_of(listed(frame), {"area": {"AB": ["A", "B"]}}, total=True)
    assert (grid.codes, grid.parents) == ((("A", "B", "AB"),), ((2, 2, -1),))
    assert cells.tolist() == [0, 1]


def test_a_cell_that_stands_twice_is_refused() -> None:
    frame = pd.DataFrame({"area": ["A", "B", "A"], "count": [1, 2, 3]})
    with pytest.raises(ParameterError, match="Line 2 and line 4 are the same cell"):
        grid_of(listed(frame), None, total=False)


def test_a_sheet_is_written_whole_and_converted(tmp_path: Path) -> None:
    sheet = GRID.sheet({"value": [1.5, None, 3.0]}, [0, 1, 4], {"value": lambda v: f"<{v}>"})
    sheet.write(tmp_path / "o.csv")
    assert (tmp_path / "o.csv").read_text() == "area,sex,value\nA,m,<1.5>\nA,f,<None>\n_T,m,<3.0>\n"
    assert [path.name for path in tmp_path.iterdir()] == ["o.csv"]
    assert sheet.to_arrow().column("value").to_pylist() == [1.5, None, 3.0]
    assert list(sheet.to_pandas().columns) == ["area", "sex", "value"]
