"""`dc.desk`: on data frames the same results as the commands on files, in reports that print."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pytest
from typer.testing import CliRunner

import discreet as dc
from discreet.cli import app
from discreet.desk.redesign.model import Finding
from discreet.desk.sensitivity import PriorPosterior
from discreet.errors import ParameterError
from discreet.solve import Status

FIRMS = "region,industry,firm,turnover\n" + "".join(
    f"{region},{industry},{region}{industry}{i},{amount}\n"
    for region, industry, amounts in (
        ("North", "food", (120, 95, 80)),
        ("North", "metal", (900, 50, 30)),
        ("North", "wood", (210, 190, 150)),
        ("South", "food", (300, 280, 260)),
        ("South", "metal", (410, 380, 350)),
        ("South", "wood", (75, 70, 66)),
    )
    for i, amount in enumerate(amounts)
)
COUNTS = "area,sex,count\nA,m,5\nA,f,1\nB,m,2\nB,f,9\nC,m,12\nC,f,14\n"
PUBLISHED = "area,sex,count\nA,m,\nA,f,\nA,_T,6\nB,m,\nB,f,\nB,_T,11\n_T,m,7\n_T,f,10\n_T,_T,17\n"


def _polars(text: str) -> Any:
    return pytest.importorskip("polars").read_csv(text.encode())


KINDS: dict[str, Callable[[str], Any]] = {
    "pandas": lambda text: pd.read_csv(io.StringIO(text)),
    "polars": _polars,
    "pyarrow": lambda text: pa.csv.read_csv(io.BytesIO(text.encode())),
}
BY = {"by": ["region", "industry"], "value": "turnover", "holding": "firm"}
OPTIONS = ["--by", "region,industry", "--value", "turnover", "--holding", "firm", "--p", "10"]
# A function of the desk with its arguments, and the command that does the same on a file.
CASES: dict[str, tuple[str, Callable[[Any], Any], list[str]]] = {
    "suppress": (FIRMS, lambda t: dc.desk.suppress(t, "p=10", **BY), ["suppress", *OPTIONS]),
    "audit": (PUBLISHED, lambda t: dc.desk.audit(t), ["audit"]),
    "round": (COUNTS, lambda t: dc.desk.round(t, 3, seed=1), ["round", "--seed", "1"]),
    "adjust": (
        FIRMS,
        lambda t: dc.desk.adjust(t, "p=10", **BY, seed=1),
        ["adjust", *OPTIONS, "--seed", "1"],
    ),
    "adjust records": (
        FIRMS,
        lambda t: dc.desk.adjust_records(t, 10, **BY, order=2, seed=1),
        ["adjust", *OPTIONS, "--seed", "1", "--order", "2"],
    ),
    "redesign": (
        COUNTS,
        lambda t: dc.desk.redesign(t, "smallest=3", ordered=["area"]),
        ["redesign", "--rule", "smallest=3", "--ordered", "area"],
    ),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("case", CASES)
def test_a_data_frame_gives_what_the_command_gives(case: str, kind: str, tmp_path: Path) -> None:
    text, function, arguments = CASES[case]
    (tmp_path / "t.csv").write_text(text)
    command, *options = arguments
    files = [str(tmp_path / "t.csv"), "--out", str(tmp_path / "o.csv")]
    done = CliRunner().invoke(app, [command, *files, *options, "--json"], catch_exceptions=False)
    assert done.exit_code == 0
    report = function(KINDS[kind](text))
    facts = json.loads(report.to_json())
    said = json.loads(done.stdout)
    for one in (facts, said):  # the names differ
        one.pop("file", None)
        one.get("tables", [{}])[0].pop("table", None)
    assert facts == said
    report.write(tmp_path / "a.csv")
    assert (tmp_path / "a.csv").read_text() == (tmp_path / "o.csv").read_text()


@pytest.mark.parametrize("case", CASES)
def test_a_report_prints_plots_and_converts(case: str, tmp_path: Path) -> None:
    text, function, _ = CASES[case]
    report = function(KINDS["pandas"](text))
    assert repr(report) == str(report)
    assert max(map(len, str(report).splitlines())) <= 80
    report.write(tmp_path / "o.csv")
    again = pd.read_csv(tmp_path / "o.csv", true_values=["yes"], false_values=["no"])
    frame = report.to_pandas()
    assert list(frame.columns) == list(again.columns)
    assert report.to_arrow().num_rows == len(frame) == len(again)
    for column in frame.columns:
        if pd.api.types.is_numeric_dtype(frame[column]):  # risks are written with four decimals
            assert again[column].to_numpy() == pytest.approx(
                frame[column].to_numpy(), abs=1e-4, nan_ok=True
            )
    chart = report.plot()
    assert chart.spec["data"]["values"]
    for end, start in ((".svg", b"<svg"), (".png", b"\x89PNG"), (".json", b"{")):
        chart.write(tmp_path / f"chart{end}")
        assert (tmp_path / f"chart{end}").read_bytes().startswith(start)
    with pytest.raises(ParameterError, match=r"must be \.svg, \.png or \.json"):
        chart.write(tmp_path / "chart.gif")


@pytest.mark.parametrize("order", [None, 2])
def test_the_order_of_the_columns_does_not_change_a_draw(order: int | None) -> None:
    firms, secret = KINDS["pandas"](FIRMS), b"a secret of many bytes"
    options: dict[str, Any] = {"value": "turnover", "holding": "firm", "secret": secret}
    found = []
    for by in (["region", "industry"], ["industry", "region"]):
        if order is None:
            report = dc.desk.adjust(firms, "p=10", by=by, spread=0.5, **options)
            frame = report.to_pandas().sort_values(["region", "industry"])
            found.append(frame[["region", "industry", "value"]].to_csv(index=False))
        else:
            report = dc.desk.adjust_records(firms, 10, by=by, order=order, **options)
            found.append(report.to_pandas().to_csv(index=False))
    assert found[0] == found[1]
    assert found[0] != firms.to_csv(index=False)


def test_an_audit_says_which_ends_are_final_for_whom() -> None:
    # Every end of this table is final. Had no whole table met the greatest value of the first cell,
    # and no table at all its least, the report would say so of these ends.
    found = dc.desk.audit(KINDS["pandas"](PUBLISHED))
    assert set(found.to_pandas()["low_final"]) == {"yes"}
    result, first = found.result, int(found.cells[0])
    attained, linear = result.attained.copy(), result.proof.linear.copy()
    attained.reshape(2, -1)[:, first] = False
    linear[0, found.known.system.variable[first]] = False
    proof = replace(result.proof, status=Status.FEASIBLE, linear=linear)
    open_ends = replace(found, result=replace(result, attained=attained, proof=proof))
    row = open_ends.to_pandas().iloc[0]
    assert (row["low_final"], row["high_final"]) == ("no", "for reals")
    cells = len(found.cells)
    assert open_ends.facts["ends_final"] == pytest.approx(1 - 1 / cells)
    assert open_ends.facts["ends_final_for_reals"] == pytest.approx(1 - 1 / (2 * cells))
    assert any("may be narrower" in line for line in open_ends.lines)


def test_what_is_suppressed_is_audited_without_a_file() -> None:
    published = dc.desk.suppress(KINDS["pandas"](FIRMS), "p=10", **BY)
    found = dc.desk.audit(published.to_pandas())
    assert found.facts["exact"] == 0
    # One sensitive cell in a table of two rows: the rectangle of it and three others.
    assert found.facts["cells"] == 4


def test_a_wide_frame_with_codes_in_its_index_is_a_table() -> None:
    frame = pd.DataFrame({"m": [5, 2], "f": [1, 9]}, index=pd.Index(["A", "B"], name="area"))
    rounded = dc.desk.round(frame, 3, seed=1).to_pandas()
    assert list(rounded.columns) == ["area", "m", "f"]
    assert not (rounded[["m", "f"]].to_numpy() % 3).any()


def test_linked_tables_have_names_and_are_written_into_a_folder(tmp_path: Path) -> None:
    first = pd.DataFrame({"row": list("ppqq"), "a": list("xyxy"), "count": [1, 9, 8, 9]})
    second = pd.DataFrame({"row": list("ppqq"), "b": list("uvuv"), "count": [5, 5, 8, 9]})
    found = dc.desk.suppress({"a.csv": first, "b.csv": second})
    assert list(found.sheets) == ["a.csv", "b.csv"]
    with pytest.raises(ParameterError, match=r"several tables: a\.csv, b\.csv"):
        found.to_pandas()
    with pytest.raises(ParameterError, match="into a folder"):
        found.write(tmp_path / "o.csv")
    found.write(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.csv", "b.csv"]
    with pytest.raises(ParameterError, match="different names"):
        dc.desk.suppress([first, second])


def test_cells_that_cannot_be_protected_are_not_written(tmp_path: Path) -> None:
    table = pd.DataFrame(
        {"region": list("nnss"), "kind": list("abab"), "value": [100, 500, 300, 120],
         "sensitive": [1, 0, 0, 1]}
    )  # fmt: skip
    found = dc.desk.adjust(table, fix=[["region", "kind"]], seed=1)
    assert not found.released
    with pytest.raises(ParameterError, match="NOT PROTECTED: 2 of 2 sensitive cells"):
        found.write(tmp_path / "o.csv")
    assert not list(tmp_path.iterdir())
    held = dc.desk.adjust(table, fix=[["region", "kind"]], withhold=True, seed=1).to_pandas()
    assert held["value"].isna().sum() == 4  # and the other two cells of these lines


def test_rules_are_texts_objects_and_functions() -> None:
    firms = KINDS["pandas"](FIRMS)
    by_text = dc.desk.suppress(firms, ["p=10", "minimum=2"], **BY)
    by_rule = dc.desk.suppress(firms, [PriorPosterior(10), "minimum=2"], **BY)
    assert by_text.to_json() == by_rule.to_json()

    def two_areas(counts: Any, dimensions: Any) -> Finding:
        return Finding(counts.shape[0] <= 2, float(counts.shape[0]), "more than two areas")

    found = dc.desk.redesign(KINDS["pandas"](COUNTS), two_areas, ordered=["area"])
    assert "Rule: two_areas." in str(found)
    assert found.design.counts.shape == (2, 2)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda t: dc.desk.suppress(t, "q=3"), "no rule 'q'.*Choices: minimum, p, pq, dominance"),
        (lambda t: dc.desk.suppress(t, "pq=3"), "must look like pq=10,50. Got pq=3"),
        (lambda t: dc.desk.suppress(t, zeros="perhaps"), "zeros must be published or withheld"),
        (lambda t: dc.desk.suppress(t, objective="x"), "objective must be number, value or info"),
        (lambda t: dc.desk.suppress(t, value="count"), "value is for records"),
        (lambda t: dc.desk.adjust(t, norm="l3"), "norm must be l1 or l2. Got l3"),
        (lambda t: dc.desk.adjust(t, weight="x"), "weight must be value or one. Got x"),
        (lambda t: dc.desk.adjust(t, seed=1, secret=b"x" * 16), "cannot both be given"),
        (lambda t: dc.desk.round(t, mode="up"), "mode must be controlled, small or additive"),
        (lambda t: dc.desk.audit(t), "'data frame' publishes every cell exactly"),
        (lambda t: dc.desk.audit(t, "p=10"), "a rule needs the true table"),
        (lambda t: dc.desk.redesign(t, "p=10"), "the rule p is for tables of values"),
        (lambda t: dc.desk.redesign(t, 3), "a rule must be a text or a function. Got int"),
        (lambda t: dc.desk.redesign(t, []), "a redesign must have a rule"),
        (lambda t: dc.desk.round(3), "a CSV file or a data frame .* Got int"),
    ],
)
def test_mistakes_are_explained(call: Callable[[Any], Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        call(KINDS["pandas"](COUNTS))


def test_the_desk_is_imported_when_it_is_used() -> None:
    import subprocess
    import sys

    code = "import discreet, sys; assert 'discreet.desk' not in sys.modules; discreet.desk.audit"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("figure", ["count", "value"])
def test_a_group_of_codes_that_are_not_there_is_refused(figure: str) -> None:
    table = KINDS["pandas"](COUNTS.replace("count", figure))
    groups = {"area": {"AB": ["A", "BB"]}}
    with pytest.raises(ParameterError, match="no code 'BB'; did you mean 'B'"):
        dc.desk.redesign(table, "smallest=3", hierarchy=groups)
    with pytest.raises(ParameterError, match="no code 'BB'; did you mean 'B'"):
        dc.desk.suppress(table, "minimum=3", hierarchy=groups)


def test_linked_tables_may_leave_out_codes_that_one_of_them_has() -> None:
    # B of the second table has no row: its people are 0, and the group is A alone.
    first = pd.DataFrame({"area": ["A", "B", "C"], "count": [5, 0, 6]})
    second = pd.DataFrame({"area": ["A", "A", "C"], "sex": ["m", "f", "m"], "count": [2, 3, 6]})
    groups = {"area": {"AB": ["A", "B"]}}
    found = dc.desk.suppress({"one": first, "two": second}, "minimum=2", hierarchy=groups)
    assert [table["cells"] for table in found.facts["tables"]] == [5, 15]


def test_of_several_tables_one_is_taken_by_its_name() -> None:
    first = KINDS["pandas"](COUNTS)
    found = dc.desk.suppress({"one": first, "two": first.rename(columns={"sex": "kind"})})
    with pytest.raises(ParameterError, match=r"such as \.sheets\['one'\]\.to_pandas\(\)"):
        found.to_pandas()
    assert len(found.sheets["one"].to_pandas()) == 12  # 4 areas by 3 sexes, totals included


FUNCTIONS: dict[str, dict[str, Any]] = {
    "suppress": {}, "adjust": {}, "round": {}, "audit": {}, "redesign": {"rule": "smallest=3"},
    "adjust_records": {"rule": "p=10", "by": ["area"], "value": "count", "order": 1},
}  # fmt: skip


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("given", [None, "", 5], ids=["None", "no text", "a number"])
def test_what_is_no_table_is_refused_with_what_is_one(name: str, given: object) -> None:
    with pytest.raises(ParameterError, match="a table must be the path of a CSV file or a data fr"):
        getattr(dc.desk, name)(given, **FUNCTIONS[name])


@pytest.mark.parametrize("given", [[], {}])
def test_no_tables_at_all_cannot_be_suppressed(given: object) -> None:
    with pytest.raises(ParameterError, match="at least one table must be given"):
        dc.desk.suppress(given)


@pytest.mark.parametrize(
    ("name", "given", "message"),
    [
        ("suppress", {"width": "wide"}, "width must be a number, or None. Got 'wide'"),
        ("suppress", {"effort": None}, "effort must be a number. Got None"),
        ("suppress", {"history": 5}, "history must be a text or a path, or None. Got 5"),
        ("suppress", {"hierarchy": "area"}, "hierarchy must be a mapping: dimension → file"),
        ("suppress", {"rule": 5}, "a rule must be a text such as minimum=3, p=10.*Got 5"),
        ("adjust", {"capacity": "much"}, "capacity must be a number. Got 'much'"),
        ("adjust", {"fix": [None]}, "fix must be a list of names. Got None among them"),
        ("adjust", {"seed": "one"}, "seed must be an integer, or None. Got 'one'"),
        ("round", {"base": None}, "base must be an integer. Got None"),
        ("round", {"secret": 5}, "secret must be the path of a file, or bytes, or None. Got 5"),
        ("audit", {"within": "near"}, "within must be a number, or None. Got 'near'"),
        ("audit", {"insiders": "A"}, "insiders must be a list of pairs"),
        ("audit", {"insiders": ["A"]}, "an insider must be a pair"),
        ("redesign", {"keep": None}, "keep must be a list of names. Got None"),
        ("redesign", {"most": "all"}, "most must be an integer, or None. Got 'all'"),
    ],
)
def test_what_a_signature_does_not_name_is_refused(
    name: str, given: dict[str, Any], message: str, tmp_path: Path
) -> None:
    table = tmp_path / "table.csv"
    table.write_text(PUBLISHED if name == "audit" else COUNTS)
    with pytest.raises(ParameterError, match=message):
        getattr(dc.desk, name)(table, **{**FUNCTIONS[name], **given})


@pytest.mark.parametrize("name", ["suppress", "adjust", "redesign"])
@pytest.mark.parametrize("p", [0, 100, 200, -3])
def test_a_mistake_in_p_is_told_of_p(name: str, p: float, tmp_path: Path) -> None:
    table = tmp_path / "firms.csv"
    table.write_text("area,value,max1,max2\nA,10,6,4\nB,9,9,0\n")
    with pytest.raises(ParameterError, match=f"^p must be a percentage above 0 .*Got {p}"):
        getattr(dc.desk, name)(table, f"p={p}")
