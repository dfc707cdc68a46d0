"""`discreet suppress`: what is written can be audited, and bad input is explained."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

import discreet as dc
from discreet.cli import app
from discreet.desk.suppress.report import SuppressReport
from discreet.errors import ParameterError
from discreet.solve.solution import Status

LONG = "row,column,count\np,x,1\np,y,5\nq,x,7\nq,y,8\nr,x,5\nr,y,6\n"
WIDE = ",x,y,z\np,1,5,6\nq,7,8,9\nr,5,6,5\n"
FIRMS = "region,industry,firm,turnover\n" + "".join(
    f"{region},{industry},{region}{industry}{i},{amount}\n"
    for region, industry, amounts in (
        ("N", "food", (120, 95, 80)),
        ("N", "metal", (900, 50, 3)),
        ("N", "wood", (210, 190, 150)),
        ("S", "food", (300, 280, 260)),
        ("S", "metal", (410, 380, 350)),
        ("S", "wood", (75, 70, 66)),
    )
    for i, amount in enumerate(amounts)
)


def run(folder: Path, text: str, *options: str) -> tuple[str, list[dict[str, str]]]:
    (folder / "t.csv").write_text(text)
    out = folder / "o.csv"
    done = CliRunner().invoke(
        app, ["suppress", str(folder / "t.csv"), "--out", str(out), "--force", *options],
        catch_exceptions=False,
    )  # fmt: skip
    assert done.exit_code == 0
    with out.open(newline="") as stream:
        return done.stdout, list(csv.DictReader(stream))


def test_figures_are_empty_exactly_where_they_are_withheld(tmp_path: Path) -> None:
    said, rows = run(tmp_path, WIDE)
    assert len(rows) == 16
    assert all((row["count"] == "") == (row["status"] != "published") for row in rows)
    assert [row for row in rows if row["status"] == "primary"] == [
        {"row": "p", "column": "x", "count": "", "status": "primary"}
    ]
    assert "4 of 16 cells withheld, 1 primary and 3 secondary" in said
    assert "Audited" in said


def test_the_audit_reads_what_is_written_and_finds_nothing_exact(tmp_path: Path) -> None:
    run(tmp_path, WIDE)
    done = CliRunner().invoke(app, ["audit", str(tmp_path / "o.csv"), "--json"])
    assert json.loads(done.stdout)["exact"] == 0


def test_records_are_tabulated_and_protected_by_the_p_percent_rule(tmp_path: Path) -> None:
    said, rows = run(
        tmp_path, FIRMS, "--by", "region,industry", "--value", "turnover", "--holding", "firm",
        "--p", "10", "--exact",
    )  # fmt: skip
    primary = [row for row in rows if row["status"] == "primary"]
    # 10% of 900 is 90; the second firm knows all but 3 of the metal works in the north.
    assert [(row["region"], row["industry"]) for row in primary] == [("N", "metal")]
    assert "Proved: no cheaper pattern is safe." in said


def test_hierarchies_from_files(tmp_path: Path) -> None:
    (tmp_path / "codes.hrc").write_text("pq\n@p\n@q\nr\n")
    _, rows = run(tmp_path, WIDE.replace(",x,y,z", "row,x,y,z"), "--hierarchy",
                  f"row={tmp_path / 'codes.hrc'}")  # fmt: skip
    assert {row["row"] for row in rows} == {"p", "q", "pq", "r", "_T"}


def test_the_pattern_for_other_programs(tmp_path: Path) -> None:
    run(tmp_path, WIDE, "--pattern", str(tmp_path / "p.csv"))
    with (tmp_path / "p.csv").open(newline="") as stream:
        letters = [row["sdcStatus"] for row in csv.DictReader(stream)]
    assert (letters.count("u"), letters.count("x"), letters.count("s")) == (1, 3, 12)


def test_the_report_as_json(tmp_path: Path) -> None:
    said, _ = run(tmp_path, WIDE, "--json", "--no-singletons", "--objective", "number")
    found = json.loads(said)
    assert found["tables"][0]["secondary"] == 3
    assert found["tables"][0]["primary_value"] == 1
    assert (found["singletons"], found["singletons_cost"]) == (False, None)


def test_linked_tables_are_written_into_a_folder(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("row,first,count\np,x,1\np,y,9\nq,x,8\nq,y,9\n")
    (tmp_path / "b.csv").write_text("row,second,count\np,u,5\np,v,5\nq,u,8\nq,v,9\n")
    (tmp_path / "out").mkdir()
    done = CliRunner().invoke(
        app,
        ["suppress", str(tmp_path / "a.csv"), str(tmp_path / "b.csv"), "--out",
         str(tmp_path / "out")],
        catch_exceptions=False,
    )  # fmt: skip
    assert done.exit_code == 0
    totals = []
    for name, other in (("a.csv", "first"), ("b.csv", "second")):
        with (tmp_path / "out" / name).open(newline="") as stream:
            rows = list(csv.DictReader(stream))
        totals.append({r["row"]: r["status"] != "published" for r in rows if r[other] == "_T"})
    assert totals[0] == totals[1]


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        (WIDE, ["--p", "10"], "this rule is for magnitudes"),
        (WIDE, ["--value", "v"], "value is for records"),
        (WIDE, ["--hierarchy", "row"], "dimension=file.hrc"),
        (WIDE, ["--dominance", "2"], "must look like dominance=2,80. Got dominance=2"),
        (WIDE.replace("8", "-8"), [], "number of 0 or more"),
        ("a,value\nx,1\ny,2\n", [], "needs a rule"),
        (LONG.replace("8", "1e30"), [], "must be at most 9,007,199,254,740,992"),
        (LONG.replace("5", "9" * 15).replace("6", "9" * 16), [], "must be at most"),
        (LONG.replace("5", "9007199254740992"), [], "must sum to at most 9,007,199,254,740,992"),
        (LONG, ["--seconds", "5"], "seconds must come with exact"),
        (LONG, ["--exact", "--seconds", "-5"], "seconds must be 0 or more. Got -5"),
        (LONG, ["--pattern", "p.foo"], "--pattern must end in .csv, .json or .hst. Got p.foo"),
        (LONG, ["--problem", "p.csv"], "--problem must end in .jj. Got p.csv"),
        (LONG, ["--tab", "p.csv"], "--tab must end in .tab. Got p.csv"),
        (LONG, ["--group", "row:pq=p|qq"], "no code 'qq'; did you mean 'q'"),
    ],
)
def test_bad_input_is_explained_and_nothing_is_written(
    tmp_path: Path, text: str, options: list[str], message: str
) -> None:
    (tmp_path / "t.csv").write_text(text)
    arguments = ["suppress", str(tmp_path / "t.csv"), "--out", str(tmp_path / "o.csv"), *options]
    with pytest.raises(ParameterError, match=message):
        CliRunner().invoke(app, arguments, catch_exceptions=False)
    assert not (tmp_path / "o.csv").exists()


def test_stopping_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from discreet.desk.suppress.method import Suppression

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Suppression, "apply_linked", stop)
    (tmp_path / "t.csv").write_text(WIDE)
    arguments = ["suppress", str(tmp_path / "t.csv"), "--out", str(tmp_path / "o.csv")]
    assert CliRunner().invoke(app, arguments).exit_code == 130
    assert [path.name for path in tmp_path.iterdir()] == ["t.csv"]


def test_a_table_goes_out_as_a_jj_file_and_comes_back(tmp_path: Path) -> None:
    problem, out = tmp_path / "p.jj", tmp_path / "safe.csv"
    said, _ = run(
        tmp_path, WIDE, "--problem", str(problem), "--no-singletons", "--objective", "value",
        "--exact", "--json",
    )  # fmt: skip
    cost = json.loads(said)["tables"][0]["secondary_value"]
    given = ["suppress", str(problem), "--force", "--out"]
    done = CliRunner().invoke(app, [*given, str(out), "--exact", "--json"], catch_exceptions=False)
    assert json.loads(done.stdout)["cost"] == pytest.approx(cost)
    with out.open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert all((row["value"] == "") == (row["status"] != "published") for row in rows)
    for more, message in (
        ([str(tmp_path / "safe.jj")], "a JJ file has a figure for every cell"),
        ([str(out), "--tab", str(tmp_path / "t.tab")], "--tab is for tables"),
        ([str(out), "--p", "10"], "rule cannot be given with a JJ file"),
        ([str(out), "--pattern", str(out)], "--pattern must be another file than --out"),
    ):
        with pytest.raises(ParameterError, match=message):
            CliRunner().invoke(app, [*given, *more], catch_exceptions=False)
    assert not (tmp_path / "safe.jj").exists()


@pytest.mark.parametrize("end", ["jj", "json", "hst", "tab"])
def test_what_is_published_is_not_named_as_true_figures_are(tmp_path: Path, end: str) -> None:
    (tmp_path / "t.csv").write_text(LONG)
    arguments = ["suppress", str(tmp_path / "t.csv"), "--out", str(tmp_path / f"o.{end}")]
    with pytest.raises(ParameterError, match="what is published is written as CSV"):
        CliRunner().invoke(app, arguments, catch_exceptions=False)
    assert not (tmp_path / f"o.{end}").exists()


def test_the_report_says_whom_the_table_is_protected_from(tmp_path: Path) -> None:
    # One sensitive cell. The search had six other cells before contributors, and ends with three.
    rows = ("x,y,1005,2,1000,5", "x,z,500,9,60,60", "x,v,30,9,4,4", "w,y,30,9,4,4",
            "w,z,500,9,60,60", "w,v,30,9,4,4", "u,y,500,9,60,60", "u,z,500,9,60,60",
            "u,v,500,9,60,60")  # fmt: skip
    text = "a,b,value,contributors,max1,max2\n" + "\n".join(rows) + "\n"
    found = json.loads(run(tmp_path, text, "--p", "10", "--exact", "--json")[0])
    assert (found["singletons"], found["singletons_cost"]) == (True, 0)
    said, _ = run(tmp_path, text, "--p", "10", "--exact")
    assert "Protected from every contributor too: no more cells than the search had" in said
    said, _ = run(tmp_path, text, "--p", "10", "--no-singletons")
    assert "Contributors were left out: what they know was not reckoned with." in said


def test_a_table_that_tells_of_no_contributor_is_not_called_protected_from_them(
    tmp_path: Path,
) -> None:
    # Values of which it is known that they are sensitive, but not who is in them.
    text = (
        "a,b,value,sensitive,lower,upper\np,x,1005,1,100,100\np,y,1005,1,100,100\np,z,500,0,,\n"
        "q,x,1005,0,,\nq,y,1005,0,,\nq,z,700,0,,\nr,x,300,0,,\nr,y,300,0,,\nr,z,300,0,,\n"
    )
    found = json.loads(run(tmp_path, text, "--json")[0])
    assert (found["singletons"], found["singletons_cost"]) == (False, None)
    said, _ = run(tmp_path, text)
    assert "Contributors are not in the file: what they know was not reckoned with." in said
    assert "Protected from every contributor" not in said


def test_a_gap_that_is_not_proved_to_be_nothing_is_not_called_so(tmp_path: Path) -> None:
    report = suppress_report(tmp_path, WIDE)
    (name,) = report.results
    pattern = replace(report.results[name].pattern, status=Status.FEASIBLE, gap=1e-9)
    near = replace(report, results={name: replace(report.results[name], pattern=pattern)})
    assert near.lines[-1] == "A safe pattern could cost at most 0.1% less."


def suppress_report(folder: Path, text: str) -> SuppressReport:
    (folder / "t.csv").write_text(text)
    return dc.desk.suppress(folder / "t.csv", singletons=False)


@pytest.mark.parametrize(
    ("text", "by", "told"),
    [
        ("a,v,f\nk,5,A\nm,6,B\n", "a,v", "by must not name the value: v would stand in the codes"),
        ("a,a,v,f\nk,x,5,A\nk,y,6,B\n", "a", "must not have several columns named a"),
    ],
)
def test_records_with_a_column_that_cannot_be_a_dimension(
    text: str, by: str, told: str, tmp_path: Path
) -> None:
    (tmp_path / "r.csv").write_text(text)
    words = ["suppress", tmp_path / "r.csv", "--by", by, "--value", "v", "--holding", "f",
             "--p", 10, "--out", tmp_path / "o.csv"]  # fmt: skip
    ran = CliRunner().invoke(app, [str(word) for word in words])
    assert told in str(ran.exception)
    assert not (tmp_path / "o.csv").exists()


def test_a_history_is_said_not_to_be_the_pattern(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(LONG)
    out, history = str(tmp_path / "o.csv"), tmp_path / "p.hst"
    arguments = ["suppress", str(tmp_path / "t.csv"), "--out", out, "--pattern", str(history)]
    done = CliRunner().invoke(app, arguments, catch_exceptions=False)
    assert history.read_text() == "p;x;u\n"
    assert "p.hst has primary cells alone, not the pattern." in done.stderr


def test_all_files_of_a_tab_are_named_private_and_not_written_over(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(LONG)
    given = ["suppress", str(tmp_path / "t.csv"), "--group", "row:pq=p|q"]
    more = ["--out", str(tmp_path / "o.csv"), "--tab", str(tmp_path / "x.tab")]
    done = CliRunner().invoke(app, [*given, *more], catch_exceptions=False)
    names = ["x.tab", "x.rda", "x-row.hrc"]
    assert f"Note: {', '.join(names)}: for you alone (mode 600)." in done.stderr
    assert {(tmp_path / name).stat().st_mode & 0o777 for name in names} == {0o600}
    for left in names[1:]:
        for path in (tmp_path / "o.csv", *(tmp_path / name for name in names if name != left)):
            path.unlink()
        with pytest.raises(ParameterError, match=f"{left} is there already"):
            CliRunner().invoke(app, [*given, *more], catch_exceptions=False)
        assert not (tmp_path / "o.csv").exists()
        CliRunner().invoke(app, [*given, *more, "--force"], catch_exceptions=False)


def test_a_folder_for_several_tables_must_exist(tmp_path: Path) -> None:
    for name in ("a.csv", "b.csv"):
        (tmp_path / name).write_text(LONG)
    given = ["suppress", str(tmp_path / "a.csv"), str(tmp_path / "b.csv"), "--out"]
    with pytest.raises(ParameterError, match="--out must be a folder that exists"):
        CliRunner().invoke(app, [*given, str(tmp_path / "none")], catch_exceptions=False)
