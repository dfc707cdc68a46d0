"""`discreet audit`: what it proves, what it says, and what it refuses."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import discreet as dc
from discreet.cli import app
from discreet.errors import ParameterError

# Two cells of each of two rows and columns are withheld: p,x in 0…4 and so on.
WIDE = """,x,y,z,Total
p,,,1,5
q,,c,2,8
r,3,4,0,7
Total,7,10,3,20
"""


def _run(folder: Path, text: str, *options: str, status: int = 0) -> dict[str, Any]:
    (folder / "t.csv").write_text(text)
    done = CliRunner().invoke(
        app, ["audit", str(folder / "t.csv"), "--json", *options], catch_exceptions=False
    )
    assert done.exit_code == status
    return dict(json.loads(done.stdout))


def test_withheld_cells_get_the_intervals_that_can_be_worked_out_by_hand(tmp_path: Path) -> None:
    # p: x + y = 4, q: x + y = 6, columns: p + q = 4 in x, 6 in y. With t = (p, x): 0 ≤ t ≤ 4.
    found = _run(tmp_path, WIDE)
    assert found["status"] == "solved"
    assert found["cells"] == 4
    assert found["exact"] == 0
    ends = {row["cell"]: (row["low"], row["high"]) for row in found["worst"]}
    assert ends == {
        "row p, column x": (0, 4),
        "row p, column y": (0, 4),
        "row q, column x": (0, 4),
        "row q, column y": (2, 6),
    }
    assert {row["possible"] for row in found["worst"]} == {5}


def test_a_cell_alone_in_its_row_is_certain(tmp_path: Path) -> None:
    found = _run(tmp_path, ",x,y,Total\np,,3,5\nq,1,1,2\nTotal,3,4,7\n")
    assert found["exact"] == 1
    assert found["worst"][0]["risk"] == "certain disclosure"
    assert (found["worst"][0]["low"], found["worst"][0]["high"]) == (2, 2)


def test_the_status_column_of_a_suppressed_file_is_read(tmp_path: Path) -> None:
    text = "area,sex,count,status\n" + "".join(
        f"{line}\n"
        for line in (
            "a,f,,primary", "a,m,,secondary", "b,f,,secondary", "b,m,,secondary",
            "_T,f,3,published", "_T,m,5,published", "a,_T,2,published", "b,_T,6,published",
            "_T,_T,8,published",
        )
    )  # fmt: skip
    found = _run(tmp_path, text)
    assert found["cells"] == 4
    assert found["worst"][0]["high"] == 2


def test_margins_alone_bound_the_cells_that_are_not_mentioned(tmp_path: Path) -> None:
    text = "area,sex,count\na,_T,2\nb,_T,6\n_T,f,3\n_T,m,5\n"
    found = _run(tmp_path, text)
    ends = {row["cell"]: (row["low"], row["high"]) for row in found["worst"]}
    assert ends["area a, sex f"] == (0, 2)
    assert ends["area b, sex m"] == (3, 5)
    assert "area _T, sex _T" not in ends  # a plain sum of published figures


def test_rounded_figures_are_unpicked(tmp_path: Path) -> None:
    found = _run(tmp_path, "area,count\na,3\nb,3\n_T,12\n", "--random-rounded", "3")
    assert found["exact"] == 3
    assert [row["low"] for row in found["worst"]] == [5, 5, 10]


def test_perturbed_figures_within_a_bound(tmp_path: Path) -> None:
    # a and b within 1 of 3, their sum within 1 of 8: at least 7, so each at least 3.
    found = _run(tmp_path, "area,count\na,3\nb,3\n_T,8\n", "--within", "1")
    ends = {row["cell"]: (row["low"], row["high"]) for row in found["worst"]}
    assert ends == {"area a": (3, 4), "area b": (3, 4), "area _T": (7, 8)}


def test_decimals_count_on_their_precision(tmp_path: Path) -> None:
    text = ",x,y,Total\np,,,0.3\nq,,,0.5\nTotal,0.2,0.6,0.8\n"
    found = _run(tmp_path, text, "--precision", "0.1")
    assert {row["possible"] for row in found["worst"]} == {3}


@pytest.mark.parametrize(
    ("option", "values", "at_zero", "ends"),
    [
        # In tenths, 5 is 50 steps: 10 was 7.5 to 12.4. At random 2 · 50 − 1 = 99: 5.1 to 14.9.
        ("--rounded", 50, 25, (7.5, 12.4)),
        ("--random-rounded", 99, 50, (5.1, 14.9)),
        ("--within", 101, 51, (5, 15)),
    ],
)
def test_a_base_is_in_units_of_the_table(
    tmp_path: Path, option: str, values: int, at_zero: int, ends: tuple[float, float]
) -> None:
    found = _run(tmp_path, "area,value\na,10\nb,0\n", option, "5", "--precision", "0.1")
    first, second = sorted(found["worst"], key=lambda row: str(row["cell"]))
    assert (first["low"], first["high"], first["possible"]) == (*ends, values)
    assert (second["low"], second["possible"]) == (0, at_zero)
    assert found["method"] == {
        "name": {"--rounded": "conventional rounding", "--random-rounded": "random rounding"}.get(
            option, "perturbation"
        ),
        "bound": 5,
        "values": values,
        "values_at_zero": at_zero,
    }


def test_a_base_may_have_decimals_and_the_report_says_what_it_leaves(tmp_path: Path) -> None:
    # 0.25 in hundredths: 25 values, at a 0 the 13 from 0 to 0.12.
    (tmp_path / "t.csv").write_text("area,value\na,1234567.75\nb,0\n")
    options = ["--rounded", "0.25", "--precision", "0.01"]
    done = CliRunner().invoke(
        app, ["audit", str(tmp_path / "t.csv"), *options], catch_exceptions=False
    )
    said = "Conventional rounding to base 0.25 leaves 25 values of a figure, 13 of a 0, before any"
    assert said in " ".join(done.stdout.split())
    assert "1,234,567.63 to 1,234,567.87  25 values" in done.stdout


def test_sums_of_decimals_are_exact(tmp_path: Path) -> None:
    # z is what 0.1 and 0.2 leave of 0.7; as floats that is 0.39999999999999997.
    found = _run(tmp_path, ",x,y,z,Total\np,0.1,0.2,,0.7\n", "--precision", "0.1")
    ends = {row["cell"]: (row["low"], row["high"]) for row in found["worst"]}
    assert ends["row p, column z"] == (0.4, 0.4)
    with pytest.raises(ParameterError, match=r"sum to 0\.3, but row p, column Total is 0\.4"):
        _run(tmp_path, ",x,y,Total\np,0.1,0.2,0.4\nq,,,1\n", "--precision", "0.1")


def test_an_insider_knows_the_others_sum(tmp_path: Path) -> None:
    found = _run(tmp_path, WIDE, "--insider", "row=q,column=y:3")
    assert found["insiders"] == [
        {"cell": "row q, column y", "contribution": 3, "others_low": 0, "others_high": 3}
    ]


def test_a_pattern_is_held_against_the_true_table(tmp_path: Path) -> None:
    # 2 and 1 are sensitive. p, y is worked out from its column, 1; q, x from its row, 2.
    (tmp_path / "true.csv").write_text("column,row,count\nx,p,5\ny,p,1\nx,q,2\ny,q,6\n")
    text = ",x,y,Total\np,5,,\nq,,6,8\nTotal,7,7,14\n"
    found = _run(tmp_path, text, "--true", str(tmp_path / "true.csv"), status=4)
    assert found["sensitive"] == {
        "cells": 2,
        "too_close": ["column x, row q", "column y, row p"],
        "too_close_to_contributors": [],
    }
    # With all four withheld x, p is 0 to 6, and the others accordingly. But who is alone in p, y
    # knows that it is 1, so that p, x is 5 and q, x is 7 − 5 = 2.
    text = ",x,y,Total\np,,,6\nq,,,8\nTotal,7,7,14\n"
    found = _run(tmp_path, text, "--true", str(tmp_path / "true.csv"), status=4)
    assert found["sensitive"] == {
        "cells": 2,
        "too_close": [],
        "too_close_to_contributors": ["column x, row q"],
    }
    done = CliRunner().invoke(
        app,
        ["audit", str(tmp_path / "t.csv"), "--true", str(tmp_path / "true.csv")],
        catch_exceptions=False,
    )
    said = "PROTECTED: all 2 sensitive cells are as uncertain as the rule asks."
    assert done.stdout.splitlines()[0] == said


def test_a_pattern_is_held_against_contributors(tmp_path: Path) -> None:
    # The 1000 of the second cell of row 1 knows that its 1005 fall by 5 at most; so the first cell
    # rises by 5 at most, and the 1000 in it is known to within 1%. The third cell, withheld too,
    # falls by as much as 1650 for the largest in it.
    cells = {
        "a,x": (1000, 5), "a,y": (1000, 5), "a,z": (900, 850, 800),
        "b,x": (700, 690, 680), "b,y": (710, 700, 690), "b,z": (720, 710, 700),
    }  # fmt: skip
    lines = [
        f"{codes},{sum(parts)},{parts[0]},{parts[1]},{len(parts)}" for codes, parts in cells.items()
    ]
    true = tmp_path / "true.csv"
    true.write_text("row,column,value,max1,max2,contributors\n" + "\n".join(lines) + "\n")
    narrow = ",x,y,z,Total\na,,,2550,4560\nb,,,2130,6300\nTotal,3075,3105,4680,10860\n"
    found = _run(tmp_path, narrow, "--true", str(true), "--p", "10", status=4)
    both = ["row a, column x", "row a, column y"]
    assert found["sensitive"] == {
        "cells": 2, "too_close": [], "too_close_to_contributors": both
    }  # fmt: skip
    wide = ",x,y,z,Total\na,,,,4560\nb,,,,6300\nTotal,3075,3105,4680,10860\n"
    found = _run(tmp_path, wide, "--true", str(true), "--p", "10")
    assert found["sensitive"] == {"cells": 2, "too_close": [], "too_close_to_contributors": []}
    # Without the amounts nothing can be said of what they know.
    lines = [
        f"{codes},{sum(parts)}," + ("1,50,50" if sum(parts) == 1005 else "0,,")
        for codes, parts in cells.items()
    ]
    true.write_text("row,column,value,sensitive,lower,upper\n" + "\n".join(lines) + "\n")
    found = _run(tmp_path, wide, "--true", str(true))
    assert found["sensitive"] == {"cells": 2, "too_close": [], "too_close_to_contributors": None}
    said = CliRunner().invoke(app, ["audit", str(tmp_path / "t.csv"), "--true", str(true)])
    assert "Contributors are not in the true table: what they know was not" in said.output


def test_cells_of_a_jj_file_are_no_table(tmp_path: Path) -> None:
    # Cells 0 and 1 add up to 4, which only the JJ file says.
    (tmp_path / "p.csv").write_text(
        "cell,value,status\n0,,primary\n1,20,published\n4,30,published\n"
    )
    with pytest.raises(ParameterError, match="without its equations"):
        dc.desk.audit(tmp_path / "p.csv")
    (tmp_path / "p.jj").write_text("0\n")
    with pytest.raises(ParameterError, match="audit reads tables, and no JJ files"):
        dc.desk.audit(tmp_path / "p.jj")


@pytest.mark.parametrize(
    ("true", "options", "message"),
    [
        (None, ["--p", "10"], "need --true"),
        ("row,kind,count\np,x,1\n", [], "the same dimensions"),
        ("row,column,count\np,x,1\np,y,3\n", [], "the same codes of row. One alone has 'q'"),
        ("row,column,count\np,x,9\np,y,3\nq,x,4\nq,y,4\n", [], "must fit the true table"),
    ],
)
def test_a_true_table_must_be_that_of_what_is_published(
    tmp_path: Path, true: str | None, options: list[str], message: str
) -> None:
    if true is not None:
        (tmp_path / "true.csv").write_text(true)
        options = ["--true", str(tmp_path / "true.csv")]
    with pytest.raises(ParameterError, match=message):
        _run(tmp_path, ",x,y,Total\np,,,6\nq,,,8\nTotal,7,7,14\n", *options)


def test_groups_are_sums_of_codes(tmp_path: Path) -> None:
    found = _run(tmp_path, "area,count\nab,4\nc,2\n_T,6\n", "--group", "area:ab=a|b")
    ends = {row["cell"]: (row["low"], row["high"]) for row in found["worst"]}
    assert ends == {"area a": (0, 4), "area b": (0, 4)}


def test_a_group_with_a_mistyped_code_is_refused(tmp_path: Path) -> None:
    text = "area,count\nab,4\na,\nb,\nc,2\n_T,6\n"
    with pytest.raises(ParameterError, match="no code 'bb'; did you mean"):
        _run(tmp_path, text, "--group", "area:ab=a|bb")


@pytest.mark.parametrize(
    "text",
    [
        "area,count\nab,4\na,\nb,3\nc,2\n_T,6\n",  # 4 + 3 + 2 is more than 6
        "area,sex,count\nab,m,4\na,m,1\nb,m,3\n_T,m,4\n_T,f,9\n",  # 4 + 1 + 3 is not 4
    ],
)
def test_figures_that_do_not_add_up_may_lack_a_group(tmp_path: Path, text: str) -> None:
    with pytest.raises(ParameterError, match="is the sum of others, say so: --group"):
        _run(tmp_path, text)
    _run(tmp_path, text, "--group", "area:ab=a|b")


def test_the_report_puts_disclosure_first_and_draws_the_widths(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(WIDE)
    done = CliRunner().invoke(app, ["audit", str(tmp_path / "t.csv")], catch_exceptions=False)
    lines = done.stdout.splitlines()
    assert lines[0].startswith("NOT DISCLOSED EXACTLY: none of 4 cells")
    assert lines[2].startswith("Every interval is final")
    assert max(map(len, lines)) <= 80
    assert any("█" in line and "4–7" in line for line in lines)


def test_intervals_are_written(tmp_path: Path) -> None:
    _run(tmp_path, WIDE, "--out", str(tmp_path / "o.csv"))
    with (tmp_path / "o.csv").open() as stream:
        rows = list(csv.DictReader(stream))
    assert rows[0] == {
        "row": "p", "column": "x", "low": "0", "high": "4", "risk": "0.4307", "low_final": "yes",
        "high_final": "yes",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        (WIDE.replace("r,3,4,0,7", "r,3,4,0,8"), [], "row r, column x to row r, column z"),
        (WIDE.replace("r,3,4,0,7", "r,-3,4,0,7"), [], "negative number -3"),
        (WIDE.replace("r,3", "r,some"), [], "Got the text 'some'"),
        # In column x, r alone has 9 of 7.
        (
            WIDE.replace("r,3,4,0,7", "r,9,4,0,13").replace("7,10,3,20", "7,16,3,26"),
            [],
            "no table fits these figures. row p, column x to row r, column x cannot add up",
        ),
        ("area,count\na,1\na,\n_T,1\n", [], "Line 2 and line 3 are the same cell"),
        ("area,count\na,1\nb,2\n_T,3\n", [], "nothing to prove"),
        ("area,count,status\na,1,primary\n_T,3,published\n", [], "if and only if"),
        ("area,count,status\na,1,hidden\n_T,3,published\n", [], "status must be one of"),
        (WIDE, ["--rounded", "3"], "multiples of the base"),
        (WIDE, ["--rounded", "3", "--within", "1"], "cannot be given together"),
        (WIDE, ["--rounded", "0.5"], "base must be a multiple of the precision of the figures, 1"),
        (WIDE, ["--precision", "0"], "precision must be above 0"),
        (WIDE, ["--precision", "2"], "multiples of the precision, 2"),
        (WIDE, ["--group", "row=p|q"], "--group must have the form"),
        (WIDE, ["--group", "rows:pq=p|q"], "no dimension 'rows'"),
        (WIDE, ["--insider", "row=p:x"], "--insider must have the form"),
        (WIDE, ["--insider", "row=k,column=x:1"], "no code of row 'k'"),
        (WIDE, ["--insider", "row=r,column=x:9"], "must not be above the figure"),
    ],
)
def test_bad_input_gets_a_clear_sentence(
    tmp_path: Path, text: str, options: list[str], message: str
) -> None:
    (tmp_path / "t.csv").write_text(text)
    arguments = ["audit", str(tmp_path / "t.csv"), *options]
    with pytest.raises(ParameterError, match=message):
        CliRunner().invoke(app, arguments, catch_exceptions=False)


def test_the_size_of_a_fault_in_the_sums_is_said(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(WIDE.replace("r,3,4,0,7", "r,3,4,0,8"))
    with pytest.raises(ParameterError, match="sum to 7, but row r, column Total is 8: off by -1"):
        CliRunner().invoke(app, ["audit", str(tmp_path / "t.csv")], catch_exceptions=False)


def test_out_of_time_the_report_says_so(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(WIDE)
    done = CliRunner().invoke(
        app, ["audit", str(tmp_path / "t.csv"), "--seconds", "0"], catch_exceptions=False
    )
    assert "STOPPED before the end" in done.stdout


def test_time_is_not_below_0(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(WIDE)
    with pytest.raises(ParameterError, match=r"seconds must be 0 or more\. Got -1\."):
        CliRunner().invoke(
            app, ["audit", str(tmp_path / "t.csv"), "--seconds", "-1"], catch_exceptions=False
        )
