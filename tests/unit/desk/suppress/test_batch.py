"""Files of τ-ARGUS and sdcTable around a suppression: histories, tables, batches, problems."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import discreet as dc
from discreet.cli import app
from discreet.desk.cells import Mark, read_cells
from discreet.desk.cells.argus import with_history, write_tab
from discreet.desk.suppress.batch import read_batch
from discreet.errors import ParameterError

RDA = "Region 1 5\n  <RECODEABLE>\nIndustry 6 5\n  <RECODEABLE>\nFirm 11 1\n  <HOLDING>\n" \
      "Turnover 12 4\n  <NUMERIC>\n"  # fmt: skip
FIRMS = {
    ("North", "Food"): (120, 95, 80), ("North", "Metal"): (900, 50, 30),
    ("South", "Food"): (300, 280, 260), ("South", "Metal"): (410, 380, 350),
    ("East", "Food"): (150, 140, 130), ("East", "Metal"): (240, 220, 200),
}  # fmt: skip
BATCH = """\
// the same as: suppress --by Region,Industry --value Turnover --holding Firm --p 10
<OPENMICRODATA> "firms.asc"
<OPENMETADATA>  "firms.rda"
<SPECIFYTABLE>  "Region""Industry"|"Turnover"||
<SAFETYRULE>    P(10,1)
<READMICRODATA>
<SUPPRESS>      OPT(1,5)
<WRITETABLE>    (1,3,,"safe.csv")
"""
COUNTS = "area,sex,count\nA,m,5\nA,f,4\nB,m,6\nB,f,9\nC,m,12\nC,f,14\n"


@pytest.fixture
def firms(tmp_path: Path) -> Path:
    names = iter("ABCEFGKLMNOPTUVWXY")
    lines = [f"{region:5}{industry:5}{next(names)}{amount:4}\n"
             for (region, industry), amounts in FIRMS.items() for amount in amounts]  # fmt: skip
    (tmp_path / "firms.asc").write_text("".join(lines))
    (tmp_path / "firms.rda").write_text(RDA)
    (tmp_path / "firms.arb").write_text(BATCH)
    return tmp_path


def test_a_batch_gives_what_the_same_call_gives(firms: Path) -> None:
    reports = read_batch(firms / "firms.arb").run()
    assert list(reports) == [firms / "safe.csv"]
    asked = {"by": ["Region", "Industry"], "value": "Turnover", "holding": "Firm"}
    dc.desk.suppress(firms / "firms.rda", "p=10", exact=True, **asked).write(firms / "same.csv")
    assert (firms / "safe.csv").read_text() == (firms / "same.csv").read_text()
    # North, Metal: 900 + 50 + 30, and 30 < 10% of 900, so that it is sensitive.
    with (firms / "safe.csv").open() as file:
        status = {(row["Region"], row["Industry"]): row["status"] for row in csv.DictReader(file)}
    assert [cell for cell, said in status.items() if said == "primary"] == [("North", "Metal")]


@pytest.mark.parametrize(
    ("line", "named"),
    [
        ("<SUPPRESS> CTA(1)", "the batch asks for CTA, which is not known here"),
        ("<COVER>", r"line 9: COVER\. Known: .*WRITETABLE, READMICRODATA, "),
        ("<SAFETYRULE> WGT(1)", r"the rule WGT\(1\) of the batch is not known"),
        ("<SAFETYRULE> P(10,2)", r"the rule P\(10,2\) of the batch is not known"),
        ("<SAFETYRULE> FREQ(5,80)", r"the rule FREQ\(5,80\) of the batch"),  # 80% of 4 is 3.2
        ("<WRITETABLE> (7,1,,\"x.csv\")", "line 9 of 'firms.arb' is not understood"),
        ("nonsense", "line 9: nonsense"),
    ],
)  # fmt: skip
def test_what_a_batch_says_beyond_that_is_named(firms: Path, line: str, named: str) -> None:
    (firms / "firms.arb").write_text(BATCH + line + "\n")
    with pytest.raises(ParameterError, match=named):
        read_batch(firms / "firms.arb")
    assert not (firms / "safe.csv").exists()


def test_going_interactive_ends_a_batch(firms: Path) -> None:
    (firms / "firms.arb").write_text(BATCH + "<GOINTERACTIVE>\n")
    done = CliRunner().invoke(app, ["batch", str(firms / "firms.arb")])
    assert done.exit_code == 0, done.exception
    assert "Note: line 9, GOINTERACTIVE: there are no windows here" in done.output
    assert (firms / "safe.csv").exists()
    done = CliRunner().invoke(app, ["batch", str(firms / "firms.arb"), "-o", str(firms / "out")])
    assert done.exit_code == 0, done.exception
    assert (firms / "out/safe.csv").read_text() == (firms / "safe.csv").read_text()


def test_a_history_says_what_is_known_of_cells(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(COUNTS)
    (tmp_path / "t.hst").write_text("A;m;u\nB;Total;p\n// a note\nC; f; c; 1\nA,m,pl,2,3\n")
    table = with_history(read_cells(tmp_path / "t.csv"), tmp_path / "t.hst")
    assert table.sensitive is not None
    assert np.argwhere(table.sensitive).tolist() == [[0, 0]]
    assert np.argwhere(table.marked(Mark.NEVER)).tolist() == [[1, 2]]
    assert np.argwhere(table.marked(Mark.PREFER)).tolist() == [[2, 1]]
    assert table.lower is not None
    assert table.upper is not None
    assert (table.lower[0, 0], table.upper[0, 0]) == (2, 3)
    report = dc.desk.suppress(tmp_path / "t.csv", history=tmp_path / "t.hst")
    assert report.results["t.csv"].marks[0, 0] == 1  # withheld, though no rule finds it
    assert report.results["t.csv"].marks[1, 2] == 0


@pytest.mark.parametrize(
    "line", ["A;m;s", "A;m;c;5", "D;m;u", "A;m", "A;m;pl;1", "A;m;pl;-5;3", "A;m;c;-1"]
)
def test_a_history_that_is_not_understood_is_refused(tmp_path: Path, line: str) -> None:
    (tmp_path / "t.csv").write_text(COUNTS)
    (tmp_path / "t.hst").write_text(line + "\n")
    with pytest.raises(ParameterError, match=r"line 1 of 't.hst'"):
        with_history(read_cells(tmp_path / "t.csv"), tmp_path / "t.hst")


def test_a_pattern_is_read_again_as_a_history(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(COUNTS.replace("A,m,5", "A,m,1"))
    first = dc.desk.suppress(tmp_path / "t.csv")
    first.write_pattern(tmp_path / "t.hst")
    assert (tmp_path / "t.hst").read_text() == "A;m;u\n"
    first.write_pattern(tmp_path / "t.json")
    rows = json.loads((tmp_path / "t.json").read_text())
    assert rows[0] == {"area": "A", "sex": "m", "freq": 1.0, "sdcStatus": "u"}
    again = dc.desk.suppress(tmp_path / "t.json")
    assert (again.results["t.json"].marks == first.results["t.csv"].marks).all()


def test_a_problem_of_sdctable_is_read(tmp_path: Path) -> None:
    # As jsonlite::toJSON(sdcProb2df(problem, dimCodes = "original")) has it.
    rows = [
        {"strID": f"{i}{j}", "freq": count, "sdcStatus": status, "area": area, "sex": sex}
        for (i, area), (j, sex), count, status in [
            ((1, "A"), (1, "m"), 5, "u"), ((1, "A"), (2, "f"), 4, "s"),
            ((2, "B"), (1, "m"), 6, "z"), ((2, "B"), (2, "f"), 9, "s"),
        ]
    ]  # fmt: skip
    (tmp_path / "p.json").write_text(json.dumps(rows))
    table = read_cells(tmp_path / "p.json")
    assert table.variables == ("area", "sex")
    assert table.sensitive is not None
    assert np.argwhere(table.sensitive).tolist() == [[0, 0]]
    assert np.argwhere(table.marked(Mark.NEVER)).tolist() == [[1, 0]]
    (tmp_path / "p.json").write_text('[{"area": "A", "freq": 1, "sdcStatus": "q"}]')
    with pytest.raises(ParameterError, match="must be s, u, x, z or w"):
        read_cells(tmp_path / "p.json")
    (tmp_path / "p.json").write_text('{"area": 1}')
    with pytest.raises(ParameterError, match="must be a list of cells"):
        read_cells(tmp_path / "p.json")


def test_a_table_is_written_and_read_again(firms: Path) -> None:
    asked = {"by": ["Region", "Industry"], "value": "Turnover", "holding": "Firm"}
    report = dc.desk.suppress(firms / "firms.rda", "p=10", **asked)
    paths = report.write_tab(firms / "table.tab")
    assert [path.name for path in paths] == ["table.tab", "table.rda"]
    again = read_cells(firms / "table.rda")
    (result,) = report.results.values()
    order = again.places(result.cells.variables, result.cells.codes)
    assert (again.values.ravel()[order] == result.cells.values).all()
    assert again.ranked is not None
    metal = again.codes[0].index("North"), again.codes[1].index("Metal")
    assert again.ranked[metal].tolist()[:2] == [900, 50]


def test_levels_go_into_a_file_of_their_own(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(COUNTS)
    table = read_cells(tmp_path / "t.csv", {"area": {"AB": ["A", "B"]}})
    paths = write_tab(tmp_path / "x.tab", table)
    assert [path.name for path in paths] == ["x.tab", "x.rda", "x-area.hrc"]
    assert (tmp_path / "x-area.hrc").read_text() == "C\nAB\n@A\n@B\n"
    assert '<HIERCODELIST> "x-area.hrc"' in (tmp_path / "x.rda").read_text()


@pytest.mark.parametrize("text", ["", "// nothing\n", '<OPENMICRODATA> "firms.asc"\n'])
def test_a_batch_that_writes_nothing_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "b.arb").write_text(text)
    with pytest.raises(ParameterError, match=r"'b.arb' must write a table"):
        CliRunner().invoke(app, ["batch", str(tmp_path / "b.arb")], catch_exceptions=False)
