"""`discreet adjust`: tables and records, what it says, what it writes and what it refuses."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import Result
from typer.testing import CliRunner

from discreet.cli import app
from discreet.desk.adjust import Norm
from discreet.desk.adjust.audit import exposed
from discreet.desk.adjust.method import ControlledAdjustment, of_tables
from discreet.desk.adjust.records.adjust import _Work
from discreet.desk.adjust.records.repair import Repair
from discreet.desk.cells import Records, read_cells
from discreet.desk.sensitivity import PriorPosterior
from discreet.errors import ParameterError
from discreet.table.published import read_published

COUNTS = "age,sex,count\nyoung,f,1\nyoung,m,9\nold,f,12\nold,m,2\n"
VALUES = "region,industry,value,sensitive\nn,a,100,1\nn,b,500,0\ns,a,300,0\ns,b,120,1\n"
RECORDS = """\
region,industry,size,firm,turnover
n1,mining,big,A,590
n1,mining,small,B,40
n1,mining,small,C,10
n2,mining,big,A,200
n2,farming,small,D,70
s1,farming,small,E,50
s1,farming,big,F,610
s1,mining,big,G,300
s1,mining,big,H,280
s1,mining,big,I,250
"""
# The firms with 1,000 know their own cell, and by a rectangle through both the other one's.
TWINS = """\
region,industry,value,contributors,max1,max2
R1,I1,1005,2,1000,5
R1,I2,1005,2,1000,5
R1,I3,2550,3,900,850
R2,I1,2070,3,700,690
R2,I2,2100,3,710,700
R2,I3,2130,3,720,710
R3,I1,2700,3,910,900
R3,I2,2695,3,905,900
R3,I3,2715,3,910,905
"""
TREE = "north\n@n1\n@n2\nsouth\n@s1\n"


def _run(folder: Path, text: str, *options: str) -> Result:
    (folder / "t.csv").write_text(text)
    (folder / "region.hrc").write_text(TREE)
    return CliRunner().invoke(
        app,
        [
            "adjust",
            str(folder / "t.csv"),
            "--out",
            str(folder / "o.csv"),
            "--seed",
            "1",
            "--force",
            *options,
        ],
        catch_exceptions=False,
    )


def test_the_status_tells_cells_that_are_short(tmp_path: Path) -> None:
    # All is fixed, so that none can move: a proof.
    done = _run(tmp_path, TWINS, "--p", "10", "--fix", "region,industry", "--json")
    assert done.exit_code == 3
    assert json.loads(done.stdout)["status"] == "infeasible"
    # Three cells of a row must move by 10, and by no more than 12, which is what the cells below
    # them may: three such changes never add up to 0. Half of each up and half down would, so that
    # the linear programme proves nothing.
    text = "region,industry,value,sensitive\n"
    text += "".join(f"n,{i},100,1\ns,{i},120,0\n" for i in "abc")
    fixed = ["--fix", "region", "--fix", "industry", "--capacity", "10", "--json"]
    done = _run(tmp_path, text, *fixed)
    assert done.exit_code == 3
    assert json.loads(done.stdout)["status"] == "relaxed"
    done = _run(tmp_path, text, *fixed[2:])  # now rows may change
    assert (done.exit_code, json.loads(done.stdout)["status"]) == (0, "solved")


def test_counts_end_at_0_or_3(tmp_path: Path) -> None:
    done = _run(tmp_path, COUNTS)
    assert done.exit_code == 0
    table = read_cells(tmp_path / "o.csv")  # which fails where totals are no sums
    assert table.counts
    assert not {1, 2} & set(table.values.reshape(-1).tolist())
    assert "all 2 sensitive cells are at or beyond the protection needed" in done.stdout
    assert "From %" in done.stdout


def test_values_are_protected_and_the_report_says_so(tmp_path: Path) -> None:
    done = _run(tmp_path, VALUES, "--audit", "--report", str(tmp_path / "r.csv"), "--json")
    assert done.exit_code == 0
    facts = json.loads(done.stdout)
    assert facts["sensitive"] == 2
    assert facts["short"] == []
    assert facts["intruder"]["exact"] == 0
    with (tmp_path / "r.csv").open() as stream:
        rows = list(csv.DictReader(stream))
    for row in rows:
        if row["sensitive"] == "1":
            assert abs(float(row["released"]) - float(row["true"])) >= float(row["lower"])
    # What is published says nothing of which cells are sensitive.
    assert (tmp_path / "o.csv").read_text().splitlines()[0] == "region,industry,value"


def test_records_with_a_hierarchy_and_a_holding(tmp_path: Path) -> None:
    done = _run(
        tmp_path, RECORDS, "--by", "region,industry", "--value", "turnover", "--holding", "firm",
        "--hierarchy", f"region={tmp_path / 'region.hrc'}", "--p", "10", "--fix", "total",
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    table = read_published(tmp_path / "o.csv")
    total = table.values[table.codes[0].index("_T"), table.codes[1].index("_T")]
    assert total == 2400
    north = [table.codes[0].index(code) for code in ("n1", "n2", "north")]
    mining = table.values[north, table.codes[1].index("mining")]
    assert mining[0] + mining[1] == mining[2]


def test_linked_tables_share_their_totals(tmp_path: Path) -> None:
    done = _run(
        tmp_path, RECORDS, "--by", "region,industry", "--by", "region,size", "--value", "turnover",
        "--p", "10",
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    with (tmp_path / "o.csv").open() as stream:
        rows = list(csv.DictReader(stream))
    assert all(row["industry"] == "_T" or row["size"] == "_T" for row in rows)
    regions = [r for r in rows if r["region"] == "n1"]
    by_industry = sum(float(r["value"]) for r in regions if r["industry"] != "_T")
    by_size = sum(float(r["value"]) for r in regions if r["size"] != "_T")
    assert by_industry == by_size


def test_cells_that_cannot_be_protected_stop_the_release(tmp_path: Path) -> None:
    options = ["--fix", "region,industry"]
    done = _run(tmp_path, VALUES, *options)
    assert done.exit_code == 3
    assert "NOT PROTECTED: 2 of 2 sensitive cells" in done.stdout
    assert "region n, industry a" in " ".join(done.stdout.split())
    assert not (tmp_path / "o.csv").exists()
    done = _run(tmp_path, VALUES, *options, "--withhold")
    assert done.exit_code == 0
    text = (tmp_path / "o.csv").read_text()
    assert "n,a,,primary" in text
    # Each of the two is alone in its line: the other two cells are withheld for their sake.
    assert "n,b,,secondary" in text
    assert read_published(tmp_path / "o.csv").withheld.sum() == 4


@pytest.mark.parametrize("options", [(), ("--spread", "1"), ("--norm", "l2"), ("--fix", "region")])
def test_what_the_audit_proves_is_true(options: tuple[str, ...]) -> None:
    # By one who knows fixed totals, and how far cells went at most: every true figure must fit.
    for seed in range(4):
        rng = np.random.default_rng(seed)
        at = np.stack([rng.integers(0, 4, 40), rng.integers(0, 3, 40)], axis=1).astype(np.int64)
        codes = (("n", "e", "s", "w", "_T"), ("a", "b", "c", "_T"))
        table = Records(
            ("region", "industry"), codes, ((4, 4, 4, 4, -1), (3, 3, 3, -1)), at,
            np.round(rng.lognormal(5, 1.5, 40)), np.arange(40), False,
        ).table()  # fmt: skip
        method = ControlledAdjustment(
            spread=1.0 if "--spread" in options else 0.0,
            norm=Norm.L2 if "--norm" in options else Norm.L1,
        )
        fixed = of_tables(table, [["region"]]) if "--fix" in options else None
        rules = [PriorPosterior(15)]
        result = method.adjust(table, rules, rng, fixed)
        found = exposed(result, rules, method.capacity, fixed)
        near = 1e-6 * np.maximum(1, table.values)
        assert (found.low <= table.values + near).all()
        assert (found.high >= table.values - near).all()


def test_the_same_input_gives_the_same_file(tmp_path: Path) -> None:
    written = []
    for _ in range(2):
        _run(tmp_path, VALUES, "--spread", "0.5")
        written.append((tmp_path / "o.csv").read_bytes())
    assert written[0] == written[1]


def test_the_same_secret_gives_the_same_file_and_another_seed_another(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(VALUES)
    (tmp_path / "secret").write_bytes(b"sixteen bytes, or more")
    written = []
    for chance in (["--secret", str(tmp_path / "secret")],) * 2 + (["--seed", "5"],):
        done = CliRunner().invoke(
            app,
            ["adjust", str(tmp_path / "t.csv"), "--out", str(tmp_path / "o.csv"), "--spread", "2",
             "--force",
             *chance],
        )  # fmt: skip
        assert done.exit_code == 0
        written.append((tmp_path / "o.csv").read_bytes())
    assert written[0] == written[1] != written[2]


@pytest.mark.parametrize("order", [(), ("--order", "2")])
def test_the_same_secret_gives_the_same_figures_in_another_order_of_lines(
    tmp_path: Path, order: tuple[str, ...]
) -> None:
    (tmp_path / "secret").write_bytes(b"sixteen bytes ok, or more")
    header, *lines = RECORDS.splitlines()
    options = ["--by", "region,industry", "--value", "turnover", "--holding", "firm", "--p", "20"]
    options += [*order] if order else ["--spread", "1", "--hierarchy", f"region={tmp_path}/h.hrc"]
    (tmp_path / "h.hrc").write_text(TREE)
    found = []
    for shuffled in (lines, lines[::-1], lines[4:] + lines[:4]):
        (tmp_path / "t.csv").write_text("\n".join([header, *shuffled]) + "\n")
        paths = [str(tmp_path / "t.csv"), "--out", str(tmp_path / "o.csv"), "--force"]
        done = CliRunner().invoke(
            app, ["adjust", *paths, "--secret", str(tmp_path / "secret"), *options]
        )
        assert done.exit_code == 0, done.output
        found.append(sorted((tmp_path / "o.csv").read_text().splitlines()))
    assert found[0] == found[1] == found[2]


def test_records_themselves_are_adjusted(tmp_path: Path) -> None:
    done = _run(
        tmp_path, RECORDS, "--by", "region,industry,size", "--value", "turnover", "--holding",
        "firm", "--hierarchy", f"region={tmp_path / 'region.hrc'}", "--p", "10", "--order", "2",
        "--withhold", "--report", str(tmp_path / "w.csv"),
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    with (tmp_path / "o.csv").open() as stream:
        rows = list(csv.DictReader(stream))
    assert [row["firm"] for row in rows] == list("ABCADEFGHI")
    # A is alone in n2 × mining: 200 must have moved by 20.
    assert abs(float(rows[3]["turnover"]) - 200) >= 20 - 1e-6
    assert "10 records" in done.stdout
    assert (tmp_path / "w.csv").read_text().startswith("region,industry,size,status\n")


def _firms(table: str) -> str:
    """Return records that make the table: the largest firms of each cell, and one with the rest."""
    lines = ["region,industry,firm,turnover"]
    for row in csv.DictReader(table.splitlines()):
        cell = f"{row['region']},{row['industry']}"
        parts = [int(row["max1"]), int(row["max2"])]
        parts += [int(row["value"]) - sum(parts)] if row["contributors"] == "3" else []
        lines += [f"{cell},{cell.replace(',', '')}f{i},{part}" for i, part in enumerate(parts)]
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("records", [False, True])
def test_withheld_cells_are_protected_from_contributors(tmp_path: Path, records: bool) -> None:
    by = ["--by", "region,industry", "--value", "turnover", "--holding", "firm"] if records else []
    text = _firms(TWINS) if records else TWINS
    options = [*by, "--p", "10", "--fix", "region,industry", "--withhold"]
    done = _run(tmp_path, text, *options)
    assert done.exit_code == 0, done.output
    assert "to every contributor as well" in done.stdout
    (tmp_path / "true.csv").write_text(TWINS)
    paths = [str(tmp_path / "o.csv"), "--true", str(tmp_path / "true.csv")]
    audited = CliRunner().invoke(app, ["audit", *paths, "--p", "10", "--json"])
    found = json.loads(audited.stdout)["sensitive"]
    assert found == {"cells": 2, "too_close": [], "too_close_to_contributors": []}


def test_cells_that_change_too_much_are_protected_from_contributors(tmp_path: Path) -> None:
    done = _run(tmp_path, TWINS, "--p", "10", "--beyond", "5", "--json")
    facts = json.loads(done.stdout)
    assert facts["withheld"] == ["region R1, industry I1", "region R1, industry I2"]
    assert facts["contributors_known"]
    # With nothing else empty in R1, the firm with 1,000 of either cell would know that the other
    # is at most the sum of both less 1,000: within 5 of its 1,005.
    with (tmp_path / "o.csv").open() as stream:
        rows = [row for row in csv.DictReader(stream) if row["region"] == "R1"]
    assert sum(row["value"] == "" for row in rows) >= 3


def test_it_is_said_where_contributors_are_not_known(tmp_path: Path) -> None:
    done = _run(tmp_path, VALUES, "--fix", "region,industry", "--withhold")
    assert "Contributors are not in the file" in done.stdout


def test_the_capacity_is_kept_where_a_part_alone_is_moved(tmp_path: Path) -> None:
    # Only 1,005 and 1,005 are moved, by 100 each: with them go the totals of I1 and I2, 5,775 and
    # 5,800, and these may go by 1%, 57 and 58.
    options = ["--p", "10", "--above", "2700", "--report", str(tmp_path / "r.csv")]
    done = _run(tmp_path, TWINS, *options, "--capacity", "1")
    assert done.exit_code == 3
    assert "NOT PROTECTED: 2 of 2 sensitive cells" in done.stdout
    for capacity, more in ((1, ["--withhold"]), (2, [])):
        done = _run(tmp_path, TWINS, *options, "--capacity", str(capacity), *more)
        assert done.exit_code == 0, done.output
        with (tmp_path / "r.csv").open() as stream:
            rows = [row for row in csv.DictReader(stream) if row["sensitive"] == "0"]
        for row in rows:
            true, released = float(row["true"]), float(row["released"])
            assert abs(released - true) <= capacity / 100 * true


def test_figures_are_protected_as_they_are_written_rounded(tmp_path: Path) -> None:
    done = _run(tmp_path, TWINS, "--p", "10", "--coarse", "5")
    assert done.exit_code == 0, done.output
    with (tmp_path / "o.csv").open() as stream:
        rows = {(row["region"], row["industry"]): row for row in csv.DictReader(stream)}
    # The rule asks 1,000 · 10% − 0 of either.
    for industry in ("I1", "I2"):
        assert rows["R1", industry]["status"] == "rounded"
        assert abs(float(rows["R1", industry]["value"]) - 1005) >= 100
    parts = [float(rows["R1", industry]["value"]) for industry in ("I1", "I2", "I3")]
    off = abs(sum(parts) - float(rows["R1", "_T"]["value"]))
    assert "everything adds up." not in " ".join(done.stdout.split())
    assert off > 0


def test_every_cell_to_withhold_is_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Two firms a cell, of 100 and 10 each, and by the 60% rule a cell must change by 60. Where a
    # record changes by 30% at most, without repair, no cell of one large firm is protected.
    monkeypatch.setattr(Repair, "run", lambda _self, a, _short: a)
    monkeypatch.setattr(_Work, "to_places", lambda *_: False)
    text = "region,size,turnover\n" + "".join(
        f"{region},{size},{value}\n" for region in "nsw" for size in "ab" for value in (100, 10)
    )
    options = ["--by", "region,size", "--value", "turnover", "--p", "60", "--order"]
    report = ["--withhold", "--report", str(tmp_path / "w.csv")]
    done = _run(tmp_path, text, *options, "1", "--json", *report)
    # By region, and by size: 200 of 220 and 300 of 330 are of equal firms, R is 20 and 130. A
    # region must change by 60 − 20 = 40 and can by 66.
    assert json.loads(done.stdout)["short_cells"] == []
    done = _run(tmp_path, text, *options, "2", "--json", *report)
    facts = json.loads(done.stdout)
    cells = (tmp_path / "w.csv").read_text().splitlines()
    assert cells[0] == "region,size,status"
    # All inner cells; and the total of every region, or the firm with 100 of n × b would know that
    # n × a is at most 220 − 100, where it must be able to lie 60 above its 110.
    short = [f"{region},{size},short" for region in "nsw" for size in "ab"]
    others = [f"{region},_T,complement" for region in "nsw"]
    assert sorted(cells[1:]) == sorted(short + others)
    assert facts["complements"] == [f"{region}, _T" for region in "nsw"]
    assert facts["short"] == len(facts["short_cells"]) == 6
    # Nothing is written without --withhold, and nothing is said to be.
    (tmp_path / "w.csv").unlink()
    done = _run(tmp_path, text, *options, "2")
    assert done.exit_code == 3
    assert "Nothing is written" in done.stdout
    with pytest.raises(ParameterError, match="with --order it needs --withhold"):
        _run(tmp_path, text, *options, "2", "--report", str(tmp_path / "w.csv"))
    assert not (tmp_path / "w.csv").exists()


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        (COUNTS, ["--p", "10"], "threshold rule alone"),
        (COUNTS, ["--capacity", "0"], "capacity must be a percentage"),
        (COUNTS, ["--capacity", "250"], "at most 100. Got 250"),
        (COUNTS, ["--weight", "one"], "are for magnitudes, not for counts"),
        (COUNTS, ["--margins", "2"], "are for magnitudes, not for counts"),
        (RECORDS, ["--by", "region", "--holding", "firm"], "holding is for sums"),
        (VALUES + "t,a,90,1\n", ["--dominance", "inf,60"], "must look like dominance=2,80"),
        (
            "a,b,value,sensitive,lower,upper\nx,p,90,1,0,9\nx,q,80,0,,\n",
            [],
            "must be above 0 on both sides.* That of a x, b p is not",
        ),
        (COUNTS, ["--value", "x"], "value and holding are for records"),
        (COUNTS, ["--percent", "5"], "percent does nothing here"),
        (TWINS, ["--p", "10", "--percent", "5"], "percent does nothing here"),
        (
            "a,value,sensitive,lower,upper\nx,90,1,9,9\ny,80,0,,\n",
            ["--percent", "5"],
            "percent does nothing here",
        ),
        (
            RECORDS,
            ["--by", "region", "--value", "turnover", "--p", "9", "--order", "1", "--percent", "5"],
            "percent does nothing here",
        ),
        (TWINS, ["--p", "10", "--beyond", "5", "--coarse", "5"], "coarse must be below beyond"),
        (COUNTS, ["--fix", "county"], "no dimension 'county'"),
        (COUNTS, ["--fix", ""], "--fix must name dimensions"),
        (
            RECORDS,
            ["--by", "region", "--by", "industry", "--fix", "region,industry"],
            "Got region,industry, which are in no table together",
        ),
        (COUNTS, ["--hierarchy", "age"], "--hierarchy must have the form"),
        (COUNTS, ["--group", "age"], "--group must have the form"),
        (COUNTS, ["--order", "2"], "--order needs --by"),
        (VALUES, ["--pq", "10"], "the rule pq must look like pq=10,50. Got pq=10"),
        (VALUES, ["--dominance", "1.5,60"], "must look like dominance=2,80"),
        (VALUES, ["--minimum", "3"], "number of contributors"),
        (RECORDS, ["--by", "region", "--order", "1"], "--order needs --value and a rule"),
        (
            RECORDS,
            ["--by", "region", "--value", "turnover", "--p", "10", "--order", "1", "--audit"],
            "--audit cannot be given with --order",
        ),
        (COUNTS + "young,_T,11\n", [], "is 11, but its parts sum to 10"),
    ],
)
def test_mistakes_are_explained(
    text: str, options: list[str], message: str, tmp_path: Path
) -> None:
    with pytest.raises(ParameterError, match=message):
        _run(tmp_path, text, *options)
    assert not (tmp_path / "o.csv").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--percent", "3"], "percent cannot be given with a JJ file"),
        (["--percent", "10"], "percent cannot be given with a JJ file"),
        (["--above", "0"], "above cannot be given with a JJ file"),
        (["--beyond", "0"], "beyond cannot be given with a JJ file"),
        (["--coarse", "5", "--spread", "1"], "coarse and spread cannot be given with a JJ file"),
        (["--margins", "2"], "margins cannot be given with a JJ file"),
        (["--problem", "p.jj"], "--problem is for tables"),
    ],
)
def test_options_that_a_jj_file_leaves_nothing_to_are_refused(
    options: list[str], message: str, tmp_path: Path
) -> None:
    jj, out = tmp_path / "t.jj", tmp_path / "o.jj"
    jj.write_text("0\n2\n0 10 1 u 0 100 5 5 0\n1 10 1 s 0 100 0 0 0\n1\n0 2 : 0 (1) 1 (-1)\n")
    with pytest.raises(ParameterError, match=message):
        CliRunner().invoke(
            app, ["adjust", str(jj), "--out", str(out), *options], catch_exceptions=False
        )
    assert not out.exists()


def test_the_percentage_is_for_what_no_rule_has_an_amount_for(tmp_path: Path) -> None:
    # Two firms in a cell are too few: it must move by 3% of 1,005, which is 31 in whole figures.
    _run(tmp_path, TWINS, "--minimum", "3", "--percent", "3", "--report", str(tmp_path / "r.csv"))
    with (tmp_path / "r.csv").open() as stream:
        moved = [row for row in csv.DictReader(stream) if row["sensitive"] == "1"]
    assert [abs(float(row["released"]) - 1005) for row in moved] == [31, 31]


def test_true_figures_are_not_written_over_released_ones(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="--report must be another file than --out"):
        _run(tmp_path, VALUES, "--report", str(tmp_path / "o.csv"))
    with pytest.raises(ParameterError, match="--report must be in a folder"):
        _run(tmp_path, VALUES, "--report", str(tmp_path / "none" / "r.csv"))


def test_large_true_figures_are_written_in_full(tmp_path: Path) -> None:
    _run(
        tmp_path, "a,value,sensitive\nx,123456789.25,1\ny,98765432,0\n", "--report",
        str(tmp_path / "r.csv"),
    )  # fmt: skip
    with (tmp_path / "r.csv").open() as stream:
        rows = list(csv.DictReader(stream))
    assert [row["true"] for row in rows] == ["123456789.25", "98765432", "222222221.25"]


def test_the_report_is_strict_json(tmp_path: Path) -> None:
    def refuse(word: str) -> None:
        raise AssertionError(word)

    for text in (COUNTS, VALUES):
        done = _run(tmp_path, text, "--json", "--audit")
        facts = json.loads(done.stdout, parse_constant=refuse)
        assert facts["percent_change"][-1]["high"] is None


def test_what_is_said_fits_what_was_done(tmp_path: Path) -> None:
    one = "a,b,value,sensitive\nx,p,100,1\nx,q,500,0\ny,p,300,0\ny,q,120,0\n"
    assert "no cell is sensitive" in _run(tmp_path, one.replace(",1\n", ",0\n")).stdout
    done = _run(tmp_path, one, "--fix", "a,b")
    assert done.exit_code == 3
    assert "Nothing is written" in done.stdout
    done = _run(tmp_path, one, "--fix", "a,b", "--withhold")
    assert done.exit_code == 0
    assert "They are empty in o.csv" in done.stdout


def test_nothing_is_written_over_the_table(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(COUNTS)
    with pytest.raises(ParameterError, match="another file than the table"):
        CliRunner().invoke(
            app,
            ["adjust", str(tmp_path / "t.csv"), "--out", str(tmp_path / "t.csv")],
            catch_exceptions=False,
        )


def test_digits_that_give_moved_figures_away_are_told(tmp_path: Path) -> None:
    # Figures in hundreds. 10% of 100 is 10, so moved figures cannot be hundreds, nor tens that are
    # at most half of it.
    text = VALUES.replace("120,1", "200,1")
    done = _run(tmp_path, text)
    assert "DIGITS: all true figures are multiples of 100, but" in done.stdout
    said = " ".join(done.stdout.split())
    assert "all their digits, ask for a protection of at least 200, or move more" in said
    found = json.loads(_run(tmp_path, text, "--json").stdout)["digits"]
    true = read_cells(tmp_path / "t.csv").values
    released = read_cells(tmp_path / "o.csv").values
    assert found["moved"] == (released != true).sum()
    assert found["off"] == ((released != true) & (released % 100 != 0)).sum() > 0
    assert found["share"] == found["off"] / found["moved"]
    # With all their digits, figures tell nothing.
    text = text.replace("100,1", "103,1").replace("500,0", "517,0").replace("300,0", "299,0")
    assert json.loads(_run(tmp_path, text, "--json").stdout)["digits"] is None


def test_digits_of_tables_of_adjusted_records(tmp_path: Path) -> None:
    options = ["--by", "region,industry", "--value", "turnover", "--p", "10", "--order", "2"]
    done = _run(tmp_path, RECORDS, *options, "--withhold")
    assert "DIGITS: all true figures are multiples of 10, but" in done.stdout
    assert "Round the tables made of these records" in done.stdout


def test_linked_tables_of_records_and_no_others_are_protected(tmp_path: Path) -> None:
    by = ["--by", "region,industry", "--by", "size"]
    done = _run(
        tmp_path, RECORDS, *by, "--value", "turnover", "--dominance", "1,60", "--minimum", "3",
        "--order", "2", "--seed", "1", "--json",
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    facts = json.loads(done.stdout)
    with (tmp_path / "t.csv").open() as true, (tmp_path / "o.csv").open() as released:
        pairs = list(zip(csv.DictReader(true), csv.DictReader(released), strict=True))
    # Cells by hand: contributions of each, and how far its sum moved.
    cells: dict[tuple[str, ...], list[tuple[float, float]]] = {}
    for before, after in pairs:
        for names in ((), ("region",), ("industry",), ("size",), ("region", "industry")):
            key = (*names, *(before[name] for name in names))
            cells.setdefault(key, []).append((float(before["turnover"]), float(after["turnover"])))
    assert facts["cells"] == len(cells)
    for contributions in cells.values():
        x, y = map(sum, zip(*contributions, strict=True))
        largest = max(before for before, _ in contributions)
        need = max(largest / 0.6 - x, x / 10 if len(contributions) < 3 else 0)
        assert abs(y - x) >= need - 1e-9
    assert all(float(after["turnover"]).is_integer() for _, after in pairs)


def test_cells_that_change_too_much_are_empty_and_cannot_be_computed(tmp_path: Path) -> None:
    # 40 of region n, industry a must move by half; its row and column partners take some of it.
    text = (
        "region,industry,value,sensitive,lower,upper\n"
        "n,a,40,1,20,20\nn,b,500,0,,\nn,c,410,0,,\ns,a,300,0,,\ns,b,120,0,,\ns,c,77,0,,\n"
    )
    done = _run(tmp_path, text, "--beyond", "15", "--json")
    assert done.exit_code == 0, done.output
    facts = json.loads(done.stdout)
    assert facts["withheld"] == ["region n, industry a"]
    assert facts["complements"] >= 3
    assert "n,a,,primary" in (tmp_path / "o.csv").read_text()
    audited = CliRunner().invoke(app, ["audit", str(tmp_path / "o.csv"), "--json"])
    assert json.loads(audited.stdout)["exact"] == 0
    with pytest.raises(ParameterError, match="beyond must be a percentage above 0"):
        _run(tmp_path, text, "--beyond", "0")


def test_a_table_goes_out_as_a_jj_file_and_comes_back(tmp_path: Path) -> None:
    problem = tmp_path / "p.jj"
    done = _run(tmp_path, VALUES, "--problem", str(problem), "--json", "--seed", "1")
    assert done.exit_code == 0, done.output
    cost = json.loads(done.stdout)["cost"]
    paths = [str(problem), "--out", str(tmp_path / "o.jj")]
    back = CliRunner().invoke(app, ["adjust", *paths, "--json", "--seed", "1"])
    facts = json.loads(back.stdout)
    assert facts["status"] == "solved"
    # Nine different cells; the same needs of 10% to the unit, the same price: the same cost.
    assert (facts["cells"], facts["sensitive"]) == (9, 2)
    assert facts["cost"] == pytest.approx(cost)
    with pytest.raises(ParameterError, match="rule cannot be given with a JJ file"):
        CliRunner().invoke(app, ["adjust", *paths, "--p", "10", "--force"], catch_exceptions=False)


def test_where_no_table_is_written_no_problem_is(tmp_path: Path) -> None:
    problem = tmp_path / "p.jj"
    done = _run(tmp_path, VALUES, "--fix", "region,industry", "--problem", str(problem))
    assert done.exit_code == 3
    assert not problem.exists()
    assert not (tmp_path / "o.csv").exists()


def test_files_that_were_written_before_one_failed_are_taken_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from discreet.desk.adjust.report import AdjustReport

    def full(report: AdjustReport, path: Path) -> None:
        raise OSError("no space left on device")

    monkeypatch.setattr(AdjustReport, "write", full)
    problem, report = tmp_path / "p.jj", tmp_path / "r.csv"
    with pytest.raises(OSError, match="no space"):
        _run(tmp_path, VALUES, "--problem", str(problem), "--report", str(report))
    assert not problem.exists()
    assert not report.exists()
