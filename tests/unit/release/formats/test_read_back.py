"""Every format is read back by a program that is not ours, and compared cell by cell."""

from __future__ import annotations

import csv
import io
import json
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import openpyxl
import pandas as pd
import pytest
from playwright.sync_api import Browser
from pyjstat import pyjstat
from pysdmx.io import get_datasets, read_sdmx

from discreet.release import Release
from discreet.release.formats.sdmx import original
from releases import AWKWARD, cells, dimension, release

Cells = dict[tuple[str, ...], int | None]
NAMES = ("area", "age", "sex", "tenure", "health", "origin")
SIZES = (4, 3, 2, 2, 3, 2)


def made(number: int, totals: bool, withheld: bool) -> Release:
    parts = tuple(
        dimension(name, size, totals) for name, size in zip(NAMES, SIZES, strict=True)
    )[:number]  # fmt: skip
    return release(parts, withheld=1 if withheld else None)


CASES = [
    pytest.param(n, totals, withheld, id=f"{n}d{'-totals' * totals}{'-withheld' * withheld}")
    for n in range(1, 7)
    for totals in (False, True)
    for withheld in (False, True)
]


def frame_cells(frame: pd.DataFrame, names: list[str], value: str) -> Cells:
    keys = zip(*(frame[name].astype(str) for name in names), strict=True)
    return {
        key: None if pd.isna(x) or x == "" else int(x)
        for key, x in zip(keys, frame[value], strict=True)
    }


def by_pyjstat(path: Path, given: Release) -> Cells:
    data = pyjstat.Dataset.read(path.read_text(encoding="utf-8"))
    frame = data.write("dataframe", naming="id")
    return frame_cells(frame, [d.level for d in given.table.dimensions], "value")


def by_pandas(path: Path, given: Release) -> Cells:
    frame = pd.read_csv(path, dtype=str, keep_default_na=False)
    return frame_cells(frame, [d.level for d in given.table.dimensions], "value")


def by_duckdb_csv(path: Path, given: Release) -> Cells:
    frame = duckdb.sql(f"from read_csv('{path}', all_varchar=true, header=true)").df()
    return frame_cells(frame, [d.level for d in given.table.dimensions], "value")


def by_duckdb_parquet(path: Path, given: Release) -> Cells:
    frame = duckdb.sql(f"from read_parquet('{path}')").df()
    assert str(frame["value"].dtype) in ("int64", "Int64", "float64")
    return frame_cells(frame, [d.level for d in given.table.dimensions], "value")


def by_pandas_parquet(path: Path, given: Release) -> Cells:
    return frame_cells(
        pd.read_parquet(path), [d.level for d in given.table.dimensions], "value"
    )  # fmt: skip


def by_pyaxis(path: Path, given: Release) -> Cells:
    from pyaxis import pyaxis

    logging.getLogger("pyaxis").setLevel(logging.WARNING)
    frame = pyaxis.parse(str(path), encoding="utf-8")["DATA"]
    dimensions = given.table.dimensions
    for d in dimensions:
        frame[d.level] = frame[d.label].map(dict(zip(d.labels, d.codes, strict=True)))
    return frame_cells(frame, [d.level for d in dimensions], "DATA")


def by_pysdmx(path: Path, given: Release) -> Cells:
    """Both messages are validated against the schemas of SDMX, and the codes by the structure."""
    structure = path.with_name(path.name + ".structure.xml")
    read_sdmx(structure, validate=True)
    data = get_datasets(path, structure, validate=True)[0]
    frame = data.data
    assert {c.id for c in data.structure.components} >= set(frame.columns)
    for component in data.structure.components.dimensions:
        listed = {code.id for code in component.enumeration.items}
        assert set(frame[component.id]) == listed, "a code that the structure does not have"
    names = [d.level for d in given.table.dimensions]
    assert set(frame["OBS_STATUS"][frame["OBS_VALUE"].isna()]) <= {"Q"}
    assert set(frame["OBS_STATUS"][~frame["OBS_VALUE"].isna()]) <= {"A"}
    for name in names:
        frame[name] = [original(code) for code in frame[name]]
    return frame_cells(frame, names, "OBS_VALUE")


def laid_out(rows: list[list[Any]], layout: dict[str, Any], given: Release) -> Cells:
    """Cells of pages with heads: read by position, as the documents describe the layout."""
    found: Cells = {}
    stub, layer, heading = layout["stub"], layout["layer"], layout["heading"]
    width, page, i = 2 * len(stub), None, 0
    order = [d.level for d in given.table.dimensions]
    while i < len(rows):
        row = rows[i]
        if layer and row[1:2] == [layer]:
            page = row[3]
        if row[1:width:2] == stub:
            across = [None]
            if heading:
                i += 1
                across = [x for x in rows[i][width:] if x not in (None, "")]
            i += 1
            while i < len(rows) and any(x not in (None, "") for x in rows[i]):
                for code, value in zip(across, rows[i][width : width + len(across)], strict=True):
                    place = {**dict(zip(stub, rows[i][1:width:2], strict=True)), heading: code}
                    place[layer] = page
                    key = tuple(str(place[name]) for name in order)
                    found[key] = None if value in (None, "") else int(value)
                i += 1
        i += 1
    return found


def by_openpyxl(path: Path, given: Release) -> Cells:
    book = openpyxl.load_workbook(io.BytesIO(path.read_bytes()))
    notes = {row[0]: row[1] for row in book["Notes"].iter_rows(values_only=True)}
    rows: list[list[Any]] = []
    for sheet in book.worksheets[:-1]:
        assert sheet.freeze_panes is not None
        rows += [list(row) for row in sheet.iter_rows(values_only=True)]
        rows.append([])
    values = [x for row in rows for x in row if not isinstance(x, str | None)]
    assert all(type(x) is int for x in values)
    return laid_out(rows, json.loads(notes["Proof"])["layout"], given)


def by_csv_module(path: Path, given: Release) -> Cells:
    with path.open(encoding="utf-8-sig", newline="") as file:
        rows: list[list[Any]] = list(csv.reader(file))
    assert rows[-1][0] == "Proof"
    return laid_out(rows, json.loads(rows[-1][1])["layout"], given)


READERS: list[tuple[str, Callable[[Path, Release], Cells]]] = [
    ("json-stat", by_pyjstat),
    ("csv", by_pandas),
    ("csv", by_duckdb_csv),
    ("csv-layout", by_csv_module),
    ("xlsx", by_openpyxl),
    ("px", by_pyaxis),
    ("sdmx-csv", by_pysdmx),
    ("sdmx-ml", by_pysdmx),
    ("parquet", by_duckdb_parquet),
    ("parquet", by_pandas_parquet),
]


# pyjstat warns of its own old names when it uses them itself.
@pytest.mark.filterwarnings("ignore:Shouldn't use this function:DeprecationWarning")
@pytest.mark.parametrize(("format", "reader"), READERS, ids=lambda x: getattr(x, "__name__", x))
@pytest.mark.parametrize(("number", "totals", "withheld"), CASES)
def test_the_cells_are_the_same(
    format: str,
    reader: Callable[[Path, Release], Cells],
    number: int,
    totals: bool,
    withheld: bool,
    tmp_path: Path,
) -> None:
    given = made(number, totals, withheld)
    given.write(tmp_path / "table", format)
    assert reader(tmp_path / "table", given) == cells(given)


# What is seen, and the code of each head: rows of [layer, stub codes, column code, text].
_SEEN = """() => [...document.querySelectorAll("table")].flatMap(table => {
  const across = [...table.tHead.querySelectorAll("th[data-code]")].map(th => th.dataset.code);
  return [...table.tBodies[0].rows].flatMap(row => {
    const stub = [...row.querySelectorAll("th")].map(th => th.dataset.code);
    return [...row.querySelectorAll("td")].map((td, i) =>
      [table.dataset.code ?? null, stub, across[i] ?? null, td.innerText]);
  });
})"""


@pytest.mark.parametrize(("number", "totals", "withheld"), CASES[::3])
def test_a_browser_shows_the_same_cells(
    number: int, totals: bool, withheld: bool, tmp_path: Path, browser: Browser
) -> None:
    given = made(number, totals, withheld)
    given.write(tmp_path / "table.html", "html")
    page = browser.new_page()
    page.goto((tmp_path / "table.html").as_uri())
    layout = json.loads(page.locator("#proof").text_content() or "")["layout"]
    found: Cells = {}
    for layer, stub, across, text in page.evaluate(_SEEN):
        place = {**dict(zip(layout["stub"], stub, strict=True)), layout["heading"]: across}
        place[layout["layer"]] = layer
        key = tuple(place[d.level] for d in given.table.dimensions)
        found[key] = None if text == "…" else int(text.replace(",", ""))
    page.close()
    assert found == cells(given)


def test_a_browser_shows_awkward_labels_as_they_are(tmp_path: Path, browser: Browser) -> None:
    given = release((dimension("age", len(AWKWARD), labels=AWKWARD), dimension("sex", 2)))
    given.write(tmp_path / "table.html", "html")
    page = browser.new_page()
    page.goto((tmp_path / "table.html").as_uri())
    seen = page.locator("tbody th").all_text_contents()
    assert tuple(seen) == AWKWARD
    assert page.locator("b").count() == 0
    page.close()


def test_sdmx_that_contradicts_its_structure_is_rejected(tmp_path: Path) -> None:
    given = made(2, True, False)
    given.write(tmp_path / "table", "sdmx-ml")
    text = (tmp_path / "table").read_text()
    (tmp_path / "table").write_text(text.replace('<Obs area="1"', '<Obs area="99"'))
    with pytest.raises(AssertionError, match="does not have"):
        by_pysdmx(tmp_path / "table", given)
    (tmp_path / "table").write_text(text.replace("mes:Sender", "mes:Nobody"))
    with pytest.raises(Exception, match="Nobody"):
        by_pysdmx(tmp_path / "table", given)
    structure = tmp_path / "table.structure.xml"
    text = structure.read_text()
    structure.write_text(text.replace("str:DimensionList>", "str:Dimensions>"))
    with pytest.raises(Exception, match="Dimensions"):
        read_sdmx(structure, validate=True)
