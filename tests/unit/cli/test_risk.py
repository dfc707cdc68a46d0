"""`discreet risk`: the report, its JSON, the comparison, and one sentence for bad input."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from discreet import utility
from discreet.cli import main
from discreet.protect import RandomRounding
from discreet.study.methods import names

LONG = "sex,age,count\n1,a,50\n1,b,0\n1,c,3\n2,a,7\n2,b,2\n2,c,0\n"
RELEASED = "sex,age,count\n1,a,51\n1,b,0\n1,c,3\n2,a,6\n2,b,3\n2,c,0\n"
WIDE = "area,x,y\nn,5,6\ns,7,8\n"


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):  # type: ignore[no-untyped-def]
    """Run the command on files given as text; return exit code, output and errors."""

    def runner(text: str, *options: str, **files: str) -> tuple[int, str, str]:
        (tmp_path / "table.csv").write_text(text, encoding="utf-8")
        for name, content in files.items():
            (tmp_path / f"{name}.csv").write_text(content, encoding="utf-8")
        given = [str(tmp_path / o) if o.endswith(".csv") else o for o in options]
        monkeypatch.setattr(sys, "argv", ["discreet", "risk", str(tmp_path / "table.csv"), *given])
        with pytest.raises(SystemExit) as stopped:
            main()
        shown = capsys.readouterr()
        return int(stopped.value.code or 0), shown.out, shown.err

    return runner


def test_the_verdict_comes_first_and_the_worst_slices_are_named(run) -> None:  # type: ignore[no-untyped-def]
    code, out, _ = run(LONG)
    assert code == 0
    # The columns b and c have one populated cell, with 2 + 3 of 62 people: 0.167 above its limit.
    # The table as a whole is further: 0.1 x 0.333 + 0.8 x 0.622 + 0.1 x 0.389 = 0.570.
    words = "HIGH RISK, the table as a whole: the risk of the whole table is 0.570 (limit 0.15)."
    assert " ".join(out.split()).startswith(words)
    assert "Also high: attribute disclosure. Do not publish" in " ".join(out.split())
    assert "6 cells, 62 people; 33% of the cells are zero, 17% are 1 or 2." in out
    assert "    lines along it with one populated cell: 66.7%, with 8.1% of the people" in out
    assert "concentration" in out
    # Sex 1 has 50 of 53 in one cell; age b is 0 and 2.
    assert "  sex: 1 (" in out
    assert "  age: b (" in out
    assert max(len(line) for line in out.splitlines()) <= 80


def test_a_low_risk_and_the_limit_itself(run) -> None:  # type: ignore[no-untyped-def]
    table = "area,x,y\nn,500,600\ns,700,800\n"
    _, out, _ = run(table)
    assert out.startswith("LOW RISK: small cells, lines and the table as a whole are within")
    assert "  identity disclosure, low risk: no cell is 1 or 2\n" in out
    assert "  attribute disclosure, low risk: no line has one populated cell\n" in out
    value = json.loads(run(table, "--json")[1])["risk"]["value"]
    assert run(table, "--limit", repr(value))[1].startswith("LOW RISK")
    found = run(table, "--limit", repr(value - 1e-9))[1]
    assert found.startswith("HIGH RISK, the table as a whole:")


def test_a_table_of_ones_and_twos_is_never_low(run) -> None:  # type: ignore[no-untyped-def]
    # 20 x 20 cells, half of them 1 and half 2: nearly uniform, so the whole table measures low.
    rows = [f"r{i}," + ",".join(str(1 + (i + j) % 2) for j in range(20)) for i in range(20)]
    table = "\n".join(["row," + ",".join(f"c{j}" for j in range(20)), *rows]) + "\n"
    _, out, _ = run(table)
    assert " ".join(out.split()).startswith(
        "HIGH RISK, identity disclosure: of the populated cells 50.0% are 1, 100.0% are 1 or 2 "
        "(limits 25% and 50%). Do not publish this table as it is."
    )
    assert "600 people are in them (100.0%)" in " ".join(out.split())
    found = json.loads(run(table, "--json")[1])
    assert (found["verdict"], found["risk"]["verdict"]) == ("high risk", "low risk")
    assert found["high"] == ["identity disclosure"]
    assert found["identity_disclosure"]["people"] == 600
    assert found["attribute_disclosure"]["verdict"] == "low risk"


def test_a_variable_that_two_others_determine_is_high(run) -> None:  # type: ignore[no-untyped-def]
    # c = a x b mod 10 for every a and b, 300 people each; rounding leaves 300 as it is.
    lines = [
        f"{a},{b},{c},{300 if a * b % 10 == c else 0}"
        for a in range(10) for b in range(10) for c in range(10)
    ]  # fmt: skip
    table = "\n".join(["a,b,c,count", *lines]) + "\n"
    options = ("--limit", "0.5", "--after", "released.csv", "--base", "3")
    _, out, _ = run(table, *options, released=table)
    words = (
        "HIGH RISK, attribute disclosure: of the lines along c 100.0% have one populated cell, "
        "with 100.0% of the people (limit 50%)."
    )
    flat = " ".join(out.split())
    assert flat.startswith(words)
    assert f"RELEASED, {words}" in flat
    assert max(len(line) for line in out.splitlines()) <= 80
    found = json.loads(run(table, *options, "--json", released=table)[1])
    # Of the pairs with c none is worse: 10 cells are populated for every a.
    along = {",".join(entry["along"]): entry for entry in found["attribute_disclosure"]["lines"]}
    assert list(along) == ["a", "b", "c", "a,b", "a,c", "b,c"]
    assert (along["c"]["lines"], along["c"]["people"]) == (1, 1)
    assert along["b,c"]["lines"] == 0
    assert found["after"]["verdict"] == "high risk"
    assert found["after"]["by_method"]["verdict"] == "low risk"


def test_a_release_of_the_smallest_figure_alone_is_high(run) -> None:  # type: ignore[no-untyped-def]
    # All four cells are released as 3, which stands for 1 to 5.
    true, released = "area,x,y\nn,2,4\ns,3,3\n", "area,x,y\nn,3,3\ns,3,3\n"
    _, out, _ = run(true, "--after", "released.csv", "--base", "3", released=released)
    words = "RELEASED, HIGH RISK, identity disclosure: of the populated cells 100.0% are 1 to 3"
    assert words in " ".join(out.split())


def test_json_holds_everything_and_no_nan(run) -> None:  # type: ignore[no-untyped-def]
    code, out, _ = run(LONG + "3,a,0\n3,b,0\n3,c,0\n", "--json")
    found = json.loads(out)
    assert code == 0
    assert found["verdict"] == "high risk"
    assert found["slices"]["sex"]["3"] is None
    assert set(found["slices"]["age"]) == {"a", "b", "c"}
    assert found["risk"]["weights"] == [0.1, 0.8, 0.1]
    assert "NaN" not in out
    # Along age: rows of 50, 0, 3 and 7, 2, 0. None has one populated cell, both have two.
    age = next(e for e in found["attribute_disclosure"]["lines"] if e["along"] == ["age"])
    assert (age["lines"], age["one_or_two"]) == (0, {"lines": 1, "people": 1})


def test_four_weights_ask_for_the_split_form(run) -> None:  # type: ignore[no-untyped-def]
    # (1, 3) and (8, 24): both parts ¼ and ¾, T2 = 1 − (2·log 2 − ¾·log 3)/log 2 = 0.189.
    table = "area,x,y\nn,1,3\ns,8,24\n"
    code, out, _ = run(table, "--weights", "0.1,0.7,0.1,0.1")
    assert code == 0
    assert "concentration of counts up to 6 0.189 × 0.7 = 0.132" in out
    assert "concentration of larger counts  0.189 × 0.1 = 0.019" in out
    words = ("--after", "released.csv", "--base", "3", "--weights", "0.1,0.7,0.1,0.1", "--json")
    found = json.loads(run(table, *words, released="area,x,y\nn,0,3\ns,9,24\n")[1])
    assert found["risk"]["entropy_small"] == pytest.approx(0.18872, abs=1e-5)
    assert found["risk"]["value"] == pytest.approx(found["split"])
    assert 0 < found["after"]["by_method"]["entropy_small"] < 0.189 / 3
    assert found["after"]["conditional_entropy"] > 0


def test_totals_in_the_file_are_not_cells(run) -> None:  # type: ignore[no-untyped-def]
    plain = json.loads(run(WIDE, "--json")[1])
    totals = json.loads(run("area,x,y,_T\nn,5,6,11\ns,7,8,15\n_T,12,14,26\n", "--json")[1])
    assert plain["risk"] == totals["risk"]


def test_totals_that_contradict_the_cells_are_named(run) -> None:  # type: ignore[no-untyped-def]
    code, out, err = run("area,x,y,_T\nn,5,6,12\ns,7,8,15\n")
    assert (code, out) == (2, "")
    assert "The total at area n, column _T is 1 too large." in err
    # Both areas are 1 too large, the sum over them as printed is right, both columns are off.
    long = "area,sex,count\nn,f,5\nn,m,6\ns,f,7\ns,m,8\nn,_T,12\ns,_T,16\n_T,f,11\n_T,m,0\n"
    code, _, err = run(long + "_T,_T,26\n", "--json")
    assert code == 2
    assert "area n, sex _T is 1 too large; at area s, sex _T is 1 too large; at area _T" in err
    assert "sex f is 1 too small; and 1 more. Put right" in err


def test_the_comparison_with_a_release(run) -> None:  # type: ignore[no-untyped-def]
    code, out, _ = run(LONG, "--after", "released.csv", released=RELEASED)
    assert code == 0
    assert "RELEASED: Hellinger utility 0." in out
    assert "cells unchanged 50%; people in cells of 1 and 2 left as they were 0%" in out
    assert "largest change 1; people 63" in out
    _, out, _ = run(LONG, "--after", "released.csv", "--base", "3", released=RELEASED)
    assert "RELEASED, " in out
    assert "best guesses are right" in out
    found = json.loads(
        run(LONG, "--after", "released.csv", "--base", "3", "--json", released=RELEASED)[1]
    )
    assert found["after"]["by_method"]["value"] <= found["risk"]["value"]
    # Released 0 and 3 of the true 2 in another order of rows is the same table.
    lines = RELEASED.splitlines()
    turned = "\n".join([lines[0], *reversed(lines[1:])])
    again = json.loads(run(LONG, "--after", "released.csv", "--json", released=turned)[1])
    assert again["after"]["score"] == found["after"]["score"]


def test_a_released_table_of_nobody(run) -> None:  # type: ignore[no-untyped-def]
    nobody = "area,x,y\nn,0,0\ns,0,0\n"
    code, out, _ = run("area,x,y\nn,1,0\ns,0,1\n", "--after", "released.csv", released=nobody)
    assert code == 0
    assert "not defined" in out


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        (LONG.replace(",50", ",-50"), (), "negative"),
        (LONG.replace(",50", ",5.5"), (), "Got 5.5"),
        (LONG.replace(",50", ","), (), "Missing"),
        (LONG.replace(",50", ",many"), (), "the text 'many'"),
        ("sex,count\n1,5\n", (), "at least 2 cells"),
        ("area,x,y\nn,0,0\n", (), "at least one person"),
        (LONG, ("--after", "released.csv"), "labels of the two tables must match"),
        (LONG, ("--after", "absent.csv"), "there is no file"),
        (LONG, ("--weights", "1,2"), "weights must be 3 or 4 numbers"),
        (LONG, ("--weights", "a,b,c"), "weights must be 3 or 4 numbers"),
        (LONG, ("--limit", "2"), "limit must be between 0 and 1"),
        (LONG, ("--base", "3"), "--method must come with --after"),
        (LONG.replace("1,b,0\n", ""), (), "a row for every cell"),
    ],
)
def test_bad_input_gets_one_clear_sentence_and_code_2(
    run,  # type: ignore[no-untyped-def]
    text: str,
    options: tuple[str, ...],
    message: str,
) -> None:
    code, out, err = run(text, *options, released=RELEASED.replace(",c,", ",d,"))
    assert code == 2
    assert not out
    assert message in err
    assert err.startswith("discreet: ")
    assert len(err.strip().splitlines()) == 1


def test_rows_left_out_may_be_zeros(run) -> None:  # type: ignore[no-untyped-def]
    code, out, _ = run(LONG.replace("1,b,0\n", ""), "--absent-zero")
    assert code == 0
    assert "6 cells" in out


@pytest.mark.parametrize("name", names())
def test_every_method_gives_a_verdict(run, name: str) -> None:  # type: ignore[no-untyped-def]
    options = {"record-swapping": "rate=0.1", "sampling": "fraction=0.9"}
    given = ["--option", options[name]] if name in options else []
    # The true table itself is one that most methods can release; rounding makes multiples of 3.
    rounded = "rounding" in name or name in ("small-cell-adjustment", "count-adjustment")
    released = RELEASED if rounded and name != "small-cell-adjustment" else LONG
    if name in ("small-cell-adjustment", "count-adjustment"):
        released = LONG.replace("2,b,2", "2,b,3")
    words = ["--after", "released.csv", "--method", name, *given, "--draws", "5", "--json"]
    code, out, err = run(LONG, *words, released=released)
    assert code == 0, err
    found = json.loads(out)["after"]
    assert found["verdict"] in ("low risk", "high risk")
    judged = found["by_method"]
    assert 0 <= judged["value"] <= json.loads(out)["risk"]["value"] + 1e-12
    assert judged["judged_by"] in ("transition", "rate", "seen")
    assert 0 < judged["correct_claims"] <= 1
    assert judged["split"]["value"] >= 0


def test_a_perturbed_hypercube_is_judged_by_what_was_seen(run) -> None:  # type: ignore[no-untyped-def]
    # 7 → 12 is impossible for rounding of the table itself, and not for sums of rounded cells.
    far = RELEASED.replace("2,a,6", "2,a,12")
    words = ("--after", "released.csv", "--method", "random-rounding", "--json")
    code, _, err = run(LONG, *words, released=far)
    assert code == 2
    assert "cannot have come from random-rounding with these options" in err
    found = json.loads(run(LONG, *words, "--on", "cube", released=far)[1])["after"]
    assert found["by_method"]["judged_by"] == "seen"


def test_rows_and_columns_have_their_measures(run) -> None:  # type: ignore[no-untyped-def]
    words = ("--after", "released.csv", "--method", "random-rounding", "--json")
    found = json.loads(run(LONG, *words, released=RELEASED)[1])["after"]
    here = found["slices"]["sex"]["2"]
    # 7, 2, 0 → 6, 3, 0: |−1| + |1| over three cells; 1/7 + 1/2.
    assert here["average_absolute"] == pytest.approx(2 / 3)
    assert here["relative_absolute"] == pytest.approx(1 / 7 + 1 / 2)
    assert 0 < here["risk"] < 1
    assert set(found["slices"]) == {"sex", "age"}


def test_the_mean_of_a_known_transition_is_exact(run) -> None:  # type: ignore[no-untyped-def]
    words = ("--after", "released.csv", "--method", "random-rounding", "--json")
    mean = json.loads(run(LONG, *words, released=RELEASED)[1])["after"]["by_method"]["expected"]
    assert mean["exact"]
    F = [[50, 0, 3], [7, 2, 0]]
    assert mean["score"] == utility.expected_score(F, RandomRounding(3).transition())


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--option", "base=3"), "--option must come with --method"),
        (("--on", "cube"), "--on must come with --method"),
        (("--draws", "9"), "--draws must come with --method"),
        (("--method", "rounding"), "no method 'rounding'"),
        (("--method", "record-swapping"), "judged by its rate alone"),
        (("--method", "record-swapping", "--option", "rate=2"), "rate"),
        (("--method", "base", "--option", "share=1"), "takes no option here"),
        (("--method", "random-rounding", "--on", "moon"), "--on must be table, cube or records"),
        (("--base", "3", "--method", "none"), "--base is a method of its own"),
    ],
)
def test_a_method_that_cannot_be(run, options: tuple[str, ...], words: str) -> None:  # type: ignore[no-untyped-def]
    code, _, err = run(LONG, "--after", "released.csv", *options, released=RELEASED)
    assert code == 2
    assert words in err


SUMMED = "sex,age,count\n1,a,50\n1,b,0\n1,c,3\n2,a,7\n2,b,2\n2,c,0\nAll,a,57\nAll,b,2\nAll,c,3\n"


def test_a_total_under_another_name_is_refused_unless_told(run) -> None:  # type: ignore[no-untyped-def]
    code, _, err = run(SUMMED)
    assert code == 2
    assert "'All' of sex is the sum of the other categories" in err
    assert "9 cells, 124 people" in run(SUMMED, "--sums-are-cells")[1]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        # 50 is rounded to 49 or 51 at base 3, and to 50 at base 5.
        (("random-rounding", "--option", "base=5"), "never releases the figure at sex 1, age a"),
        # 62 people, 63 released: nobody is lost or made by a swap.
        (("record-swapping", "--option", "rate=0.1"), "the total of the table"),
        # Of sex 1 there are 53, and 54 released.
        (("individual-swapping", "--option", "axis=sex"), "the totals by sex differ"),
    ],
)
def test_a_release_that_the_method_cannot_make_is_refused(run, options, words) -> None:  # type: ignore[no-untyped-def]
    code, _, err = run(LONG, "--after", "g.csv", "--method", *options, g=RELEASED)
    assert code == 2
    assert "cannot have come from" in err
    assert words in " ".join(err.split())


def test_a_long_file_without_counts_is_told_what_it_lacks(run) -> None:  # type: ignore[no-untyped-def]
    _, _, err = run(LONG.replace("count", "number"))
    assert "has its counts in a last column named count or freq" in err
