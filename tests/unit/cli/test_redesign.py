"""`discreet redesign`: what it writes, what it says, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from discreet.cli import app
from discreet.desk.redesign.search import Search
from discreet.errors import ParameterError
from discreet.table.files import read_table

# Small counts: (a2, 60+) and (b1, 20-39). Merging a1 and a2 mends the first, ages or b1 and b2
# the second. Merging 20-39 and 40-59 and 60+ alone would mend both, but leaves two of four.
WIDE = """area,0-19,20-39,40-59,60+,Total
a1,10,11,12,13,46
a2,14,15,16,1,46
b1,20,2,21,22,65
b2,23,24,25,26,98
Total,67,52,74,62,255
"""
HRC = "a\n@a1\n@a2\nb\n@b1\n@b2\n"


def _run(folder: Path, text: str, *options: str, code: int = 0) -> str:
    (folder / "t.csv").write_text(text)
    (folder / "area.hrc").write_text(HRC)
    done = CliRunner().invoke(
        app,
        ["redesign", str(folder / "t.csv"), "--out", str(folder / "o.csv"), "--force", *options],
        catch_exceptions=False,
    )
    assert done.exit_code == code
    return done.stdout


def _tree(folder: Path) -> tuple[str, str]:
    return "--hierarchy", f"area={folder / 'area.hrc'}"


def test_a_wide_table_is_written_wide_with_its_totals(tmp_path: Path) -> None:
    said = _run(tmp_path, WIDE, *_tree(tmp_path), "--rule", "smallest=3")
    # Both branches: 2 of 4 areas, cost log 2. Without an order the ages can only be dropped.
    assert (tmp_path / "o.csv").read_text() == (
        "area,0-19,20-39,40-59,60+,Total\na,24,26,28,14,92\nb,43,26,46,48,163\n"
        "Total,67,52,74,62,255\n"
    )
    assert "PASSES with 8 of 16 cells, proved to be the least coarsening" in said
    assert "As it came: 2 cells of 1 to 2 (area a2, column 60+ …)." in said
    assert "area a = a1, a2\n      1 cell of 1 to 2 (area a2, column 60+)" in said
    assert max(map(len, said.splitlines())) <= 80


def test_neighbours_are_merged_in_order(tmp_path: Path) -> None:
    found = json.loads(
        _run(tmp_path, WIDE, "--ordered", "column", "--rule", "smallest=3", "--json")
    )
    # 60+ must join 40-59 (row a2), 20-39 must join 0-19 or that run (row b1): two runs are left,
    # or three with 0-19 and 20-39 together: 0-39, 40+ has two; 0-19, 20+ has two.
    assert found["status"] == "solved"
    assert found["cells"] == 8
    assert list(found["merged"]["column"]) == ["0-39", "40+"]
    assert [list(design["merged"]["column"]) for design in found["next_best"][:1]] == [["20+"]]


def _long(rows: dict[tuple[str, str, str], int]) -> str:
    lines = [f"{','.join(key)},{value}" for key, value in rows.items()]
    return "\n".join(["area,sex,age,count", *lines]) + "\n"


LONG = {
    (area, sex, age): 1 if (area, sex, age) == ("a1", "f", "young") else 5 + i
    for i, area in enumerate(("a1", "a2", "b1"))
    for sex in ("f", "m")
    for age in ("young", "old")
}


def test_a_dropped_dimension_loses_its_column_and_the_rest_can_be_read_again(
    tmp_path: Path,
) -> None:
    said = _run(tmp_path, _long(LONG), "--rule", "smallest=3", "--fix", "area", "--fix", "age")
    assert "sex is dropped: f, m" in said
    again = read_table(tmp_path / "o.csv")
    assert [dimension.variable for dimension in again.dimensions] == ["area", "age"]
    assert again.counts.tolist() == [[6, 10], [12, 12], [14, 14]]


def test_totals_of_a_long_file_are_sums_of_what_is_left(tmp_path: Path) -> None:
    rows = dict(LONG)
    for area in ("a1", "a2", "b1"):
        rows[area, "_T", "_T"] = sum(v for key, v in LONG.items() if key[0] == area)
    rows["_T", "_T", "_T"] = sum(LONG.values())
    _run(tmp_path, _long(rows), *_tree(tmp_path), "--rule", "smallest=3", "--weight", "sex=9",
         "--weight", "age=9")  # fmt: skip
    again = read_table(tmp_path / "o.csv")
    assert again.dimensions[0].codes == ("a", "b1")
    assert again.additivity_gap() == 0
    assert int(again.is_total.sum()) == 3  # of a, of b1, of all


def test_everything_dropped_leaves_the_total(tmp_path: Path) -> None:
    _run(tmp_path, "area,count\na1,1\na2,1\n", "--rule", "smallest=2")
    assert (tmp_path / "o.csv").read_text() == "area,count\na1,1\na2,1\n".replace(
        "a1,1\na2,1", "_T,2"
    )


def test_subtotals_in_the_table_are_checked_and_left_out(tmp_path: Path) -> None:
    text = "area,x,y\na,30,9\na1,20,8\na2,10,1\nb1,4,4\n"
    said = _run(tmp_path, text, *_tree(tmp_path), "--rule", "smallest=3", "--fix", "column")
    assert (tmp_path / "o.csv").read_text() == "area,x,y\na,30,9\nb1,4,4\n"
    assert "area: 1 codes are groups of others; left out." in said
    wrong = text.replace("a,30,9", "a,31,9")
    with pytest.raises(ParameterError, match="area a is 1 too large for its parts in 1 of 2"):
        _run(tmp_path, wrong, *_tree(tmp_path), "--rule", "smallest=3")


def test_recodes_are_written_for_other_programs(tmp_path: Path) -> None:
    folder = tmp_path / "r"
    _run(tmp_path, WIDE, *_tree(tmp_path), "--rule", "smallest=3", "--recodes", str(folder))
    assert (folder / "area.csv").read_text() == "code,recoded\na1,a\na2,a\nb1,b\nb2,b\n"
    assert (folder / "area.grc").read_text() == "<TREERECODE>\na\nb\n"
    assert not (folder / "column.csv").exists()
    said = _run(
        tmp_path, WIDE, "--ordered", "column", "--rule", "smallest=3", "--recodes", str(folder)
    )
    assert "column.grc is not written: '0-39' has a comma, colon, dash" in said
    words = WIDE.replace("0-19", "A").replace("20-39", "B").replace("40-59", "C")
    _run(tmp_path, words.replace("60+", "D"), "--ordered", "column", "--rule", "smallest=3",
         "--recodes", str(folder))  # fmt: skip
    assert (folder / "column.grc").read_text() == "A..B:A,B\nC..D:C,D\n"


def test_a_table_that_passes_is_copied(tmp_path: Path) -> None:
    said = _run(tmp_path, WIDE, "--rule", "risk=0.9")
    assert said.startswith("PASSES as it is: nothing is merged.")
    assert (tmp_path / "o.csv").read_text() == WIDE


@pytest.mark.parametrize("steps", ["levels", "subtrees"])
@pytest.mark.parametrize(
    "rule", ["smallest=3", "small=0.05", "zeros=0", "mean=20", "risk=0.2", "tablebuilder=0,0"]
)
def test_what_is_written_passes_the_rule(tmp_path: Path, rule: str, steps: str) -> None:
    text = WIDE.replace("a1,10,11,12,13,46", "a1,0,21,12,13,46").replace(
        "Total,67,52", "Total,57,62"
    )
    _run(tmp_path, text, *_tree(tmp_path), "--ordered", "column", "--rule", rule, "--steps", steps)
    from discreet.desk.redesign.rules import criterion

    again = read_table(tmp_path / "o.csv")
    assert criterion(rule)(again.counts, again.dimensions)
    assert again.counts.sum() == read_table(tmp_path / "t.csv").counts.sum()


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        (WIDE, ["--rule", "least=3"], "no rule 'least'.*Choices: smallest, small"),
        (WIDE, ["--rule", "smallest"], "the rule smallest must look like smallest=3. Got smallest"),
        (WIDE, ["--rule", "smallest=x"], "must look like smallest=3. Got smallest=x"),
        (WIDE, ["--rule", "smallest=1"], "smallest must be at least 2"),
        (WIDE, ["--rule", "tablebuilder=1,2,3"], "must look like tablebuilder"),
        (WIDE, ["--rule", "risk=2"], "risk must be between 0 and 1"),
        (WIDE, ["--rule", "mean=5", "--ordered", "age"], "no dimension 'age'"),
        (WIDE, ["--rule", "mean=5", "--hierarchy", "area"], "form dimension=file"),
        (WIDE, ["--rule", "mean=5", "--hierarchy", "sex=x.hrc"], "there is no file 'x.hrc'"),
        (WIDE, ["--rule", "mean=5", "--weight", "area=x"], "form dimension=number"),
        (WIDE, ["--rule", "mean=1000"], "no coarsening of this table passes"),
        (WIDE.replace("a1,10", "a1,11"), ["--rule", "mean=5"], "area a1, column Total is 1 too"),
    ],
)
def test_bad_input_gets_a_clear_sentence(
    tmp_path: Path, text: str, options: list[str], message: str
) -> None:
    with pytest.raises(ParameterError, match=message):
        _run(tmp_path, text, *options)
    assert not (tmp_path / "o.csv").exists()


def test_too_few_tries_say_so_and_write_nothing(tmp_path: Path) -> None:
    # With 68 people the third term alone is 0.1·(1 + ½·log 68)/√68 = 0.038: nothing passes, but
    # two tries do not show that.
    with pytest.raises(ParameterError, match="designs passed, and not all were tried"):
        _run(tmp_path, _long(LONG), "--rule", "risk=0.03", "--most", "2")
    with pytest.raises(ParameterError, match="no coarsening of this table passes"):
        _run(tmp_path, _long(LONG), "--rule", "risk=0.03")


def test_ctrl_c_writes_the_best_so_far(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Search, "_resolve", interrupted)
    said = _run(tmp_path, WIDE, *_tree(tmp_path), "--rule", "smallest=3", code=130)
    assert "STOPPED before the end: the best so far" in said
    counts = read_table(tmp_path / "o.csv").counts
    assert not np.isin(counts, (1, 2)).any()


# Under the p% rule with p = 10, a1 x is sensitive: 10% of 2.9 is 0.29, and the rest is 0.28. With
# a2 it has (3, 2.9, 0.7, 0.28, …), whose rest is 3.98 and more.
VALUES = """area,kind,value,contributors,max1,max2
a1,x,3.88,3,2.9,0.7
a1,y,9.1,4,3,2.5
a2,x,6,3,3,2
a2,y,7.5,4,2.5,2
b1,x,8,4,2.5,2
b1,y,8.2,4,2.6,2
b2,x,8.4,4,2.7,2
b2,y,8.6,4,2.8,2
"""


def test_values_are_merged_until_none_is_sensitive(tmp_path: Path) -> None:
    said = _run(tmp_path, VALUES, *_tree(tmp_path), "--rule", "p=10")
    assert "PASSES with 6 of 8 cells, proved to be the least coarsening" in said
    assert "Rule: no cell is sensitive by the p% rule, p = 10." in said
    assert "As it came: 1 cell sensitive by the p% rule, p = 10 (area a1, kind x)." in said
    # 3.88 + 6 and 9.1 + 7.5, as decimals; nothing of the contributors.
    assert (tmp_path / "o.csv").read_text() == (
        "area,kind,value\na,x,9.88\na,y,16.6\nb1,x,8\nb1,y,8.2\nb2,x,8.4\nb2,y,8.6\n"
    )


def test_the_tidy_file_of_a_release_has_counts(tmp_path: Path) -> None:
    said = _run(tmp_path, "sex,sex_label,value\nf,Female,5\nm,Male,4\n", "--rule", "smallest=3")
    assert said.startswith("PASSES as it is")


@pytest.mark.parametrize(
    ("text", "rule", "message"),
    [
        (WIDE, "p=10", "the rule p is for tables of values"),
        (VALUES, "smallest=3", "no rule for a table of values 'smallest'"),
        (VALUES, "pq=10", "the rule pq must look like pq=10,50"),
        (VALUES, "dominance=2", "the rule dominance must look like dominance=2,80"),
        (VALUES, "p=", "the rule p must look like p=10"),
        (VALUES, "dominance=3,60", "the 3 largest contributions"),
    ],
)
def test_rules_go_with_their_tables(tmp_path: Path, text: str, rule: str, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        _run(tmp_path, text, "--rule", rule)
