"""`discreet convert`: any table and a small sidecar, in every format, without a store."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from discreet.cli import app
from discreet.errors import ParameterError
from discreet.release.formats import FORMATS, read
from discreet.release.standalone import Sidecar, convert

LONG = "region,sex,count\nN,1,5\nN,2,0\nS,1,\nS,2,7\n_T,1,5\n_T,2,7\n"
META = {
    "title": "People by region",
    "population": "Residents",
    "unit": "people",
    "notes": ["Rounded to 5."],
    "date": "2021-03-21",
    "dimensions": {
        "region": {"label": "Region", "labels": {"N": "North", "S": "South"}},
        "sex": {"labels": {"1": "Male", "2": "Female"}},
    },
}
CELLS = {
    ("N", "1"): 5, ("N", "2"): 0, ("S", "1"): None, ("S", "2"): 7, ("_T", "1"): 5, ("_T", "2"): 7,
}  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "t.csv").write_text(LONG)
    (tmp_path / "t.meta.json").write_text(json.dumps(META))
    return tmp_path


def run(*words: object) -> Result:
    return CliRunner().invoke(app, ["convert", *map(str, words)])


def found(path: Path) -> dict[tuple[str, ...], Any]:
    table = read(path)[1].table
    names = [d.level for d in table.dimensions]
    axes = [names.index("region"), names.index("sex")]
    return {
        (a, b): None if table.withheld.transpose(axes)[i, j] else table.values.transpose(axes)[i, j]
        for i, a in enumerate(table.dimensions[axes[0]].codes)
        for j, b in enumerate(table.dimensions[axes[1]].codes)
    }


@pytest.mark.parametrize("format", FORMATS)
def test_every_format(format: str, folder: Path) -> None:
    out = folder / "out"
    done = run(folder / "t.csv", "--meta", folder / "t.meta.json", "-f", format, "-o", out)
    assert done.exit_code == 0, done.exception
    assert "Wrote" in done.output
    assert found(out) == CELLS
    said = dict(read(out)[1].facts)
    assert said["Title"] == "People by region"
    assert said["Date of the data version"] == "2021-03-21"
    assert read(out)[1].proof is None


def test_a_wide_table_without_a_sidecar(tmp_path: Path) -> None:
    (tmp_path / "w.csv").write_text("region,1,2,Total\nN,5,0,5\nS,1,7,8\n")
    made = convert(tmp_path / "w.csv", Sidecar())
    assert [d.codes for d in made.table.dimensions] == [("N", "S"), ("1", "2", "_T")]
    assert made.table.values.tolist() == [[5, 0, 5], [1, 7, 8]]
    assert made.title == "Count by region and column"


def test_a_table_of_suppress_keeps_its_gaps(tmp_path: Path) -> None:
    (tmp_path / "s.csv").write_text("a,count,status\nx,3,published\ny,,primary\n")
    made = convert(tmp_path / "s.csv", Sidecar())
    assert made.table.withheld.tolist() == [False, True]
    assert len(made.table.dimensions) == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,count\nx,1.5\n", "whole number"),
        ("a,count\nx,-1\n", "whole number"),
        ("a,count\nx,1\nx,2\n", "each cell once"),
        ("a,b,count\nx,1,1\ny,2,2\n", "a row for every cell"),
        ("a,count\nx\n", "must have 2 columns"),
        ("count\n1\n", "labels and counts in columns of their own"),
        ("count,status\n1,published\n", "a column of categories beside count"),
    ],
)
def test_a_bad_table_is_said(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(text)
    with pytest.raises(ParameterError, match=message):
        convert(tmp_path / "t.csv", Sidecar())


def test_a_code_with_nul_is_refused(tmp_path: Path) -> None:
    """Programs that end a text at NUL would take two codes for one."""
    (tmp_path / "t.csv").write_text("a,count\nx\0y,1\nx,2\n")
    ran = run(tmp_path / "t.csv", "--out", tmp_path / "o.csv", "--format", "csv")
    assert "NUL" in str(ran.exception)
    assert not (tmp_path / "o.csv").exists()


def test_absent_rows_may_be_zeros(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,b,count\nx,1,1\ny,2,2\n")
    made = convert(tmp_path / "t.csv", Sidecar(), absent_is_zero=True)
    assert made.table.values.tolist() == [[1, 0], [0, 2]]
    assert not made.table.withheld.any()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"titel": "x"}, "did you mean 'title'"),
        ({"title": 1}, "title must be a text"),
        ({"notes": "x"}, "notes must be a list"),
        ({"perturbed": "yes"}, "true or false"),
        ({"dimensions": {"region": {"name": "x"}}}, "dimensions must give"),
        ({"dimensions": {"place": {}}}, "no dimension of the table 'place'"),
        ({"dimensions": {"sex": {"labels": {"3": "x"}}}}, "no category of 'sex' '3'"),
    ],
)
def test_a_bad_sidecar_is_said(given: dict[str, Any], message: str, folder: Path) -> None:
    with pytest.raises(ParameterError, match=message):
        convert(folder / "t.csv", Sidecar.of(given))


def test_what_the_command_refuses(folder: Path) -> None:
    for words, message in (
        (["-f", "xls", "-o", folder / "o"], "no format 'xls'"),
        (["-f", "csv", "-o", folder / "t.csv"], "another file"),
        (["-f", "csv", "-o", folder / "o", "--meta", folder / "none"], "must be a readable file"),
    ):
        done = run(folder / "t.csv", *words)
        assert message in str(done.exception)
    assert not (folder / "o").exists()


VALUES = "region,sex,value,status\nN,1,1234.50,published\nN,2,0.00001,published\n"
VALUES += "S,1,,primary\nS,2,44,published\n"


@pytest.mark.parametrize("format", FORMATS)
def test_values_have_the_decimals_that_suppress_writes(format: str, tmp_path: Path) -> None:
    (tmp_path / "v.csv").write_text(VALUES)
    out = tmp_path / "out"
    done = run(tmp_path / "v.csv", "-f", format, "-o", out)
    assert done.exit_code == 0, done.exception
    assert found(out) == {
        ("N", "1"): 1234.5, ("N", "2"): 0.00001, ("S", "1"): None, ("S", "2"): 44,
    }  # fmt: skip


def test_programs_are_told_how_many_decimals_to_show(tmp_path: Path) -> None:
    (tmp_path / "v.csv").write_text(VALUES.replace("0.00001", "2.25"))
    run(tmp_path / "v.csv", "-f", "px", "-o", tmp_path / "v.px")
    said = (tmp_path / "v.px").read_text("utf-8")
    assert "DECIMALS=2;" in said
    assert "1234.5 2.25" in said
    assert '".." 44' in said
    run(tmp_path / "v.csv", "-f", "html", "-o", tmp_path / "v.html")
    assert "<td>1,234.5</td>" in (tmp_path / "v.html").read_text("utf-8")


def test_what_suppress_writes_of_magnitudes_is_converted(tmp_path: Path) -> None:
    (tmp_path / "firms.csv").write_text(
        "area,kind,value,max1,max2\na,x,10.5,6.5,4\na,y,22.25,12,10\na,z,31,9,8\n"
        "b,x,40,30,9\nb,y,12.5,5,4\nb,z,18,10,7\nc,x,31,12,10\nc,y,44,15,14\nc,z,29.75,5,4\n"
    )
    done = CliRunner().invoke(
        app, ["suppress", str(tmp_path / "firms.csv"), "--p", "10", "-o", str(tmp_path / "s.csv")]
    )
    assert done.exit_code == 0, done.output
    assert ".5,published" in (tmp_path / "s.csv").read_text()
    made = convert(tmp_path / "s.csv", Sidecar())
    assert made.table.withheld.any()
    assert made.table.decimals == 2


@pytest.mark.parametrize("text", ["a,value\nx,1e5\n", "a,value\nx,nan\n", "a,value\nx,-2.5\n"])
def test_a_value_that_is_no_figure_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(text)
    with pytest.raises(ParameterError, match="a figure must be"):
        convert(tmp_path / "t.csv", Sidecar())
