"""Labels and codes survive, and none of them is taken for a formula."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import openpyxl
import pandas as pd
import pytest
from pyjstat import pyjstat
from pysdmx.io import read_sdmx

from discreet.errors import ParameterError
from discreet.release.formats import FORMATS, px, to_bytes, xlsx
from discreet.release.formats.sdmx import original, safe
from discreet.table import Dimension
from releases import AWKWARD, dimension, release

AGE = dimension("age", len(AWKWARD), labels=AWKWARD)
GIVEN = release((AGE, dimension("sex", 2)))
FORMULA = re.compile("[=+\\-@\t\r]")


@pytest.mark.filterwarnings("ignore:Shouldn't use this function:DeprecationWarning")
def test_json_stat(tmp_path: Path) -> None:
    frame = pyjstat.Dataset.read(to_bytes(GIVEN, "json-stat").decode()).write("dataframe")
    assert tuple(dict.fromkeys(frame["Age"])) == AWKWARD


def test_parquet(tmp_path: Path) -> None:
    GIVEN.write(tmp_path / "t.parquet", "parquet")
    frame = pd.read_parquet(tmp_path / "t.parquet")
    assert tuple(dict.fromkeys(frame["age_label"])) == AWKWARD
    assert tuple(dict.fromkeys(frame["age"])) == AGE.codes


def test_sdmx(tmp_path: Path) -> None:
    GIVEN.write(tmp_path / "t.xml", "sdmx-ml")
    message = read_sdmx(tmp_path / "t.xml.structure.xml", validate=True)
    names = {x.id: x.name for x in message.get_codelists()[0].items}
    # White space at the ends of a name is not kept by XML readers.
    assert names == {code: x.strip() for code, x in zip(AGE.codes, AWKWARD, strict=True)}


def test_csv_labels_are_no_formulas_and_codes_are_exact(tmp_path: Path) -> None:
    GIVEN.write(tmp_path / "t.csv", "csv")
    with (tmp_path / "t.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    shown = tuple(dict.fromkeys(row["age_label"] for row in rows))
    assert shown == tuple("'" + x if FORMULA.match(x) else x for x in AWKWARD)
    assert tuple(dict.fromkeys(row["age"] for row in rows)) == AGE.codes
    assert "-8" in AGE.codes


def test_laid_out_labels_are_no_formulas(tmp_path: Path) -> None:
    GIVEN.write(tmp_path / "t.csv", "csv-layout")
    with (tmp_path / "t.csv").open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.reader(file))
    labels = [row[0] for row in rows if row]
    assert not [label for label in labels if FORMULA.match(label)]
    assert "'=1+1" in labels


def test_xlsx_strings_are_strings(tmp_path: Path) -> None:
    GIVEN.write(tmp_path / "t.xlsx", "xlsx")
    sheet = openpyxl.load_workbook(tmp_path / "t.xlsx").worksheets[0]
    kinds = {cell.data_type for row in sheet.iter_rows() for cell in row}
    assert kinds <= {"s", "inlineStr", "n"}
    labels = [row[0].value for row in sheet.iter_rows(min_row=4)]
    # The library leaves Excel's escape of `_x0041_` in inline strings; Excel undoes it.
    assert labels == [x.replace("_x0041_", "_x005F_x0041_") for x in AWKWARD]


@pytest.mark.parametrize("format", [f for f in FORMATS if f != "xlsx"])
def test_ten_thousand_categories(format: str, tmp_path: Path) -> None:
    from discreet.release.formats import read

    labels = tuple(f"Área {i}, «{i}» 漢字" for i in range(10_000))
    codes = tuple(f"{i:05}" for i in range(10_000))
    given = release((Dimension("area", "area", "Area", codes, labels), dimension("sex", 2)))
    given.write(tmp_path / "t", format)
    found = read(tmp_path / "t")[1].table.dimensions
    area = next(d for d in found if d.level == "area")
    assert dict(zip(area.codes, area.labels, strict=True)) == dict(zip(codes, labels, strict=True))


@pytest.mark.parametrize("code", ["-8", "a b", "É", "$", "$20$", "x@y", "漢", "a,b=c|d", ""])
def test_any_code_has_an_id_in_sdmx_and_comes_back(code: str) -> None:
    assert original(safe(code)) == code
    assert re.fullmatch(r"[A-Za-z0-9_@$\-]*", safe(code))


def test_px_keeps_its_rules() -> None:
    long = ("Label " * 100, 'with "quotes" and\nlines', "👩‍👩‍👧 é" * 40)
    given = release((dimension("age", 3, labels=long), dimension("sex", 2)))
    text = to_bytes(given, "px").decode("utf-8")
    lines = text.split("\r\n")
    assert max(map(len, lines)) <= 256
    assert 'CODEPAGE="utf-8";' in lines
    # Outside quoted texts there are keywords, marks and figures alone.
    assert all(line.count('"') % 2 == 0 for line in lines)
    assert "with 'quotes' and lines" in text
    assert lines[0] == 'CHARSET="ANSI";'
    assert text.endswith(";\r\n")


def test_px_refuses_a_code_it_cannot_hold() -> None:
    given = release((Dimension("a", "a", "A", ('x"y', "z"), ("1", "2")),))
    with pytest.raises(ParameterError, match="code in PX"):
        to_bytes(given, "px")


def test_names_of_sheets_are_legal_and_unique() -> None:
    used = {"notes", "history"}
    wanted = ["a/b:c*?[d]\\e", "'quoted'", "x" * 40, "x" * 40, "X" * 40, "👩" * 20, "History", ""]
    names = [xlsx._name(name, used) for name in wanted]
    assert len({name.lower() for name in names}) == len(names)
    for name in names:
        assert 1 <= len(name.encode("utf-16-le")) // 2 <= 31
        assert not re.search(r"[\[\]:*?/\\]|^'|'$", name)
        assert name.lower() != "history"


def test_two_dimensions_of_one_label_stay_apart_in_px() -> None:
    twins = tuple(Dimension(x, x, "Age", ("1", "2"), ("a", "b")) for x in ("age", "other"))
    assert px.variables(twins) == ["Age", "Age (other)"]
    document = to_bytes(release(twins), "px").decode()
    assert 'HEADING="Age (other)";' in document


def test_a_dimension_may_be_called_value() -> None:
    given = release((dimension("value", 2), dimension("value_label", 2)))
    head = to_bytes(given, "csv").decode().splitlines()[0]
    assert head == "value,value_label_,value_label,value_label_label,value_"


def test_the_record_is_in_no_file(tmp_path: Path) -> None:
    import zipfile

    import pyarrow.parquet as pq

    from releases import SECRETS

    given = release((AGE, dimension("sex", 2, True)), withheld=1, bounds=True)
    for format in FORMATS:
        paths = given.write(tmp_path / format, format)
        content = b"\n".join(path.read_bytes() for path in paths)
        if format == "xlsx":
            with zipfile.ZipFile(paths[0]) as book:
                content = b"\n".join(book.read(name) for name in book.namelist())
        if format == "parquet":
            table = pq.read_table(paths[0])
            content += json.dumps(table.to_pydict()).encode() + str(table.schema).encode()
        assert b"census" in content
        for secret in SECRETS:
            assert str(secret)[:8].encode() not in content, format
        assert b"risk" not in content.lower()
        assert b"hellinger" not in content.lower()
