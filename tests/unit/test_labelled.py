"""Labelled tables go in as what people have, and come back as what they were."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import xarray as xr

import discreet as dc
from discreet.errors import ParameterError
from discreet.table import CountTable, Dimension

F = np.array([[4, 0, 7], [1, 2, 30]])
G = np.array([[3, 0, 6], [0, 3, 30]])
ROWS, COLUMNS = ["a", "b"], ["x", "y", "z"]
CODES = [(r, c) for r in ROWS for c in COLUMNS]


def forms(values: np.ndarray) -> dict[str, Any]:
    """The same table in every form that is taken."""
    wide = pd.DataFrame(values, ROWS, COLUMNS)
    long = pd.DataFrame(CODES, columns=["r", "c"]).assign(count=values.ravel())
    return {
        "array": values,
        "list": values.tolist(),
        "pandas wide": wide,
        "pandas long": long.iloc[[3, 1, 0, 5, 2, 4]],  # rows in any order
        "pandas series": wide.stack(),
        "polars wide": pl.DataFrame({"r": ROWS, **{c: wide[c].to_numpy() for c in COLUMNS}}),
        "polars long": pl.from_pandas(long),
        "xarray": xr.DataArray(values, {"r": ROWS, "c": COLUMNS}),
    }


@pytest.mark.parametrize("form", forms(F))
def test_measures_take_every_form(form: str) -> None:
    true, released = forms(F)[form], forms(G)[form]
    assert float(dc.risk.before(true)) == float(dc.risk.before(F))
    assert dc.utility.hellinger(true, released) == dc.utility.hellinger(F, G)


@pytest.mark.parametrize("form", [form for form in forms(F) if form != "list"])
def test_methods_give_back_what_they_took(form: str) -> None:
    given = forms(F)[form]
    method, uniforms = dc.protect.RandomRounding(3), np.full(F.shape, 0.4)
    found = method.apply(given, uniforms)
    assert type(found) is type(given)
    expected = forms(method.apply(F, uniforms))[form]
    if isinstance(found, np.ndarray):
        np.testing.assert_array_equal(found, expected)
    elif isinstance(found, pl.DataFrame):
        assert found.equals(expected)
    elif isinstance(found, xr.DataArray):
        xr.testing.assert_identical(found, expected)
    elif isinstance(found, pd.Series):
        pd.testing.assert_series_equal(found, expected)
    else:
        pd.testing.assert_frame_equal(found, expected)


def test_a_count_table_is_a_table() -> None:
    dimensions = (Dimension.plain("r", ROWS), Dimension.plain("c", COLUMNS))
    counts = CountTable(dimensions, F.astype(np.uint32), np.zeros(F.shape, np.uint32), 256)
    assert float(dc.risk.before(counts)) == float(dc.risk.before(F))
    np.testing.assert_array_equal(np.asarray(counts), F)
    np.testing.assert_array_equal(np.asarray(counts.sparse()), F)
    assert repr(counts) == "CountTable(r × c (2 × 3), true counts)"


def test_a_long_table_has_each_cell_once_and_no_totals() -> None:
    long = forms(F)["pandas long"]
    with pytest.raises(ParameterError, match=r"a row for each of its 6 cells, once\. Got 5 rows"):
        dc.risk.before(long.iloc[1:])
    with pytest.raises(ParameterError, match="once"):
        dc.risk.before(pd.concat([long.iloc[1:], long.iloc[1:2]]))
    with pytest.raises(ParameterError, match="without its totals"):
        dc.risk.before(long.replace("z", "_T"))
    with pytest.raises(ParameterError, match="missing"):
        dc.risk.before(long.assign(count=pd.array([1, 2, 3, None, 5, 6], "Int64")))
