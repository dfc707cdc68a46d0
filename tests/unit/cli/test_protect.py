"""`discreet protect`: layouts, repeatability, what it says and what it refuses."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from discreet.cli import app
from discreet.errors import ParameterError
from discreet.protect import CellKeyPerturbation, KeyMix, lookup, plain_uniforms
from discreet.protect.registry import METHODS
from discreet.table.files import read_table

LONG = "sex,area,count\n" + "".join(
    f"{sex},{area},{count}\n"
    for (sex, area), count in zip(
        [(sex, area) for sex in "fm" for area in "abcde"],
        [1, 2, 0, 14, 7, 4, 4, 1, 1, 22],
        strict=True,
    )
)
WIDE = ",a,b,Total\nx,1,2,3\ny,0,5,5\nTotal,1,7,8\n"


@pytest.fixture
def long(tmp_path: Path) -> Path:
    (tmp_path / "long.csv").write_text(LONG)
    return tmp_path / "long.csv"


@pytest.fixture
def wide(tmp_path: Path) -> Path:
    (tmp_path / "wide.csv").write_text(WIDE)
    return tmp_path / "wide.csv"


def run(*words: object) -> str:
    """Run the command and return what it says; a refusal comes through as it is raised."""
    result = CliRunner().invoke(
        app, ["protect", *map(str, words), "--force"], catch_exceptions=False
    )
    assert result.exit_code == 0, result.output
    return result.output


@pytest.mark.parametrize("name", METHODS)
def test_every_named_method_writes_the_layout_it_read(name: str, long: Path, wide: Path) -> None:
    options = ["--option", "fraction=0.5"] if name == "sampling" else []
    for table in (long, wide):
        out = table.with_name("out.csv")
        said = run(table, "-m", name, "-o", out, "--seed", 1, *options)
        assert said.startswith(f"out.csv: {name}")
        assert said.count("\n") == 1
        before, after = read_table(table), read_table(out)
        assert (after.header, after.dimensions, after.layout) == (
            before.header,
            before.dimensions,
            before.layout,
        )
        assert after.additivity_gap() == 0  # totals are sums of what is released


def test_it_says_what_changed_and_what_was_kept(long: Path) -> None:
    out = long.with_name("out.csv")
    words = ("-m", "semi-controlled-rounding", "--option", "axis=sex", "--option", "base=5")
    said = run(long, *words, "-o", out, "--seed", 3)
    before, after = read_table(long).counts, read_table(out).counts
    changed = np.abs(before - after)
    assert f"{np.count_nonzero(changed)} of 10 cells changed" in said
    assert f"and {changed.max()} at most" in said
    assert "totals by sex to less than 5" in said
    assert (np.abs(before.sum(axis=1) - after.sum(axis=1)) < 5).all()


def test_a_secret_gives_the_same_table_the_same_answer(long: Path) -> None:
    secret = long.with_name("secret")
    secret.write_bytes(b"0123456789abcdef")
    words = (long, "-m", "cell-key-perturbation", "--secret", secret, "-o")
    outs = [long.with_name(name) for name in ("1.csv", "2.csv")]
    for out in outs:
        run(*words, out)
    assert outs[0].read_bytes() == outs[1].read_bytes()
    secret.write_bytes(b"another secret of 16")
    run(*words, outs[1])
    assert outs[0].read_bytes() != outs[1].read_bytes()


def test_without_a_secret_or_a_seed_draws_differ(long: Path) -> None:
    # The chance that ten cells come out alike ten times is below 0.5^10 even for coins.
    texts = set()
    for number in range(10):
        out = long.with_name(f"{number}.csv")
        run(long, "-m", "cell-key-perturbation", "-o", out)
        texts.add(out.read_text())
    assert len(texts) > 1


def test_totals_may_be_protected_themselves(wide: Path) -> None:
    out = wide.with_name("out.csv")
    said = run(wide, "-m", "random-rounding", "-o", out, "--totals", "protected", "--seed", 1)
    assert "totals protected alone" in said
    assert not (read_table(out).figures % 3).any()


@pytest.mark.parametrize("totals", ["summed", "protected"])
def test_a_file_without_totals_gets_them(totals: str, long: Path, wide: Path) -> None:
    # 2 × 5 cells, then 2 + 5 totals and the grand total.
    out = long.with_name("out.csv")
    said = run(long, "-m", "random-rounding", "-o", out, "--totals", totals, "--seed", 1)
    how = {"protected": "protected alone", "summed": "summed from the protected cells"}[totals]
    assert f"totals {how}" in said
    lines = out.read_text().splitlines()
    assert len(lines) == 1 + 10 + 8
    assert [line.rpartition(",")[0] for line in lines[11:]] == [
        "f,_T", "m,_T", "_T,a", "_T,b", "_T,c", "_T,d", "_T,e", "_T,_T",
    ]  # fmt: skip
    after = read_table(out)
    assert (after.figures % 3 == 0).all()
    # Of 56 people a total rounded by itself is 54 or 57.
    assert after.figures[-1] in (54, 57) or totals == "summed"
    assert after.additivity_gap() == 0 or totals == "protected"
    wide.write_text(",a,b\nx,1,2\ny,0,5\n")
    run(wide, "-m", "random-rounding", "-o", out, "--totals", totals, "--seed", 1)
    words = [line.split(",") for line in out.read_text().splitlines()]
    assert words[0] == ["", "a", "b", "Total"]
    assert [row[0] for row in words] == ["", "x", "y", "Total"]
    # Unasked, the file comes back as it was.
    run(wide, "-m", "random-rounding", "-o", out, "--seed", 1)
    assert out.read_text().splitlines()[0] == ",a,b"


def test_cells_are_fitted_to_any_set_of_protected_margins(long: Path) -> None:
    rng = np.random.default_rng(4)
    true = rng.poisson(9, (3, 4, 5))
    rows = "".join(f"{i},a{j},{k}x,{true[i, j, k]}\n" for i, j, k in np.ndindex(true.shape))
    long.write_text("sex,area,age,count\n" + rows)
    out = long.with_name("out.csv")
    words = (long, "-m", "random-rounding", "-o", out, "--seed", 2)
    said = run(*words, "--fit", "sex,area", "--fit", "age")
    assert "fitted to the protected totals of area by sex, age; kept: zeros" in said
    released = read_table(out).counts
    # The first margin is as protected: multiples of 3, less than 3 from the truth. The second has
    # its total and is protected itself; the cells are integers, not multiples any more.
    first, second = released.sum(axis=2), released.sum(axis=(0, 1))
    assert not (first % 3).any()
    assert np.abs(first - true.sum(axis=2)).max() < 3
    assert first.sum() == second.sum()
    assert np.abs(second - true.sum(axis=(0, 1))).max() < 3 + np.abs(first.sum() - true.sum())
    assert (released % 3).any()
    assert not released[true == 0].any()
    # Without fitting the totals by sex and area are sums of rounded cells, further away.
    run(*words)
    assert np.abs(read_table(out).counts.sum(axis=2) - true.sum(axis=2)).max() >= 3
    assert run(*words, "--fit", "total").count("protected totals of all") == 1
    # Three margins that are linked in a circle need the integer programme.
    run(*words, "--fit", "sex,area", "--fit", "area,age", "--fit", "sex,age")
    assert not (read_table(out).counts.sum(axis=2) % 3).any()


def test_margins_of_an_invariant_perturbation_are_not_the_true_ones(long: Path) -> None:
    # The totals by area, 5, 6, 1, 15 and 29, are far from one another: made invariant for them the
    # matrix would leave them true. As it is it moves 1 with ½ and each of the others with ⅒:
    # all stay with ½·0.9⁴ = 0.33, in 20 draws with 2·10⁻¹⁰.
    true, out = read_table(long).counts, long.with_name("out.csv")
    words = (long, "-m", "stochastic-perturbation", "--option", "invariant=yes", "--fit", "area")
    moved = 0
    for seed in range(20):
        assert "a count that no other cell is near stays" in run(*words, "-o", out, "--seed", seed)
        moved += (read_table(out).counts.sum(axis=0) != true.sum(axis=0)).any()
    assert moved > 0


def test_totals_that_do_not_add_up_are_mentioned(wide: Path) -> None:
    wide.write_text(WIDE.replace("7,8", "7,9"))
    said = run(wide, "-m", "random-rounding", "-o", wide.with_name("out.csv"))
    assert "did not add up" in said


def test_the_printed_matrix_is_named_and_the_invariant_one_is_to_be_had(long: Path) -> None:
    out = long.with_name("out.csv")
    words = (long, "-m", "stochastic-perturbation", "-o", out, "--seed", 1)
    assert "the matrix as printed is biased, a count of 1 becomes 2.25 on average" in run(*words)
    # Among 300 ones, 200 twos and 100 threes: as printed 180 ones would be left, ±12.
    counts = [1] * 300 + [2] * 200 + [3] * 100
    rows = "".join(f"f,{i},{count}\n" for i, count in enumerate(counts))
    long.write_text("sex,area,count\n" + rows)
    said = run(*words, "--option", "invariant=yes", "--option", "exact=yes")
    assert "biased" not in said
    assert "(invariant=yes, exact=yes)" in said
    released = read_table(out).counts
    assert (np.abs(np.bincount(released.ravel(), minlength=4)[:4] - [0, 300, 200, 100]) <= 1).all()
    assert (released.ravel() != counts).mean() > 0.1


def test_a_matrix_and_a_look_up_from_files(long: Path) -> None:
    matrix, out = long.with_name("matrix.csv"), long.with_name("out.csv")
    matrix.write_text("0.5,0.5\n0.5,0.5\n")
    run(
        long,
        "-m",
        "stochastic-perturbation",
        "--option",
        f"matrix={matrix}",
        "-o",
        out,
        "--seed",
        1,
    )
    assert read_table(out).counts[0, 2] == 0  # a zero stays, though the matrix could move it
    result = CliRunner().invoke(app, ["lookup", "-o", str(long.with_name("lookup.csv"))])
    assert result.exit_code == 0
    words = ("-m", "cell-key-perturbation", "--option", f"file={long.with_name('lookup.csv')}")
    run(long, *words, "-o", out)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("-m", "rounding"), "no method 'rounding'"),
        (("-m", "random-rounding", "--option", "basis=3"), "did you mean 'base'"),
        (("-m", "random-rounding", "--option", "base"), "the form name=value"),
        (("-m", "random-rounding", "--option", "base=x"), "base must be an integer. Got x"),
        (("-m", "random-rounding", "--option", "base=1"), "from 2 to 100. Got 1"),
        (("-m", "random-rounding", *["--option", "base=3"] * 2), "must be given once"),
        (("-m", "random-rounding", "--seed", "-1"), "must not be negative"),
        (("-m", "random-rounding", "--secret", "x", "--seed", "1"), "cannot both be given"),
        (("-m", "random-rounding", "--secret", "nowhere"), "must be a readable file"),
        (("-m", "same-margins", "--totals", "protected"), "cell by cell; same-margins does not"),
        (("-m", "sampling"), "sampling needs the option fraction, a number"),
        (("-m", "random-rounding", "--fit", "age"), "no dimension 'age'"),
        (("-m", "random-rounding", "--fit", "sex,area"), "must leave a dimension out"),
        (
            ("-m", "random-rounding", "--fit", "sex", "--totals", "protected"),
            "--fit cannot come with --totals protected",
        ),
        (("-m", "cell-key-perturbation", "--option", "design=flat"), "no design 'flat'"),
        (("-m", "stochastic-perturbation", "--option", "matrix=none.csv"), "'published' or"),
        (("-m", "stochastic-perturbation", "--option", "exact=maybe"), "exact must be yes or no"),
    ],
)
def test_what_cannot_be_done_is_refused(
    words: tuple[str, ...], message: str, long: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(long.parent)
    with pytest.raises(ParameterError, match=message):
        run(long, *words, "-o", "out.csv")
    assert not Path("out.csv").exists()


def test_the_table_itself_is_not_overwritten(long: Path) -> None:
    with pytest.raises(ParameterError, match="another file"):
        run(long, "-m", "random-rounding", "-o", long)
    assert long.read_text() == LONG


def test_the_help_names_every_method() -> None:
    text = "".join(CliRunner().invoke(app, ["protect", "--help"]).output.split())
    assert all(name in text for name in METHODS)


def shuffled(path: Path) -> Path:
    """The same table with its dimensions and its lines in another order."""
    header, *lines = path.read_text().splitlines()

    def turned(line: str) -> str:
        *codes, count = line.split(",")
        return ",".join([*codes[::-1], count])

    other = path.with_name("shuffled.csv")
    other.write_text(
        "\n".join([turned(header), *map(turned, lines[1::2] + lines[0::2][::-1])]) + "\n"
    )
    return other


def cells(path: Path) -> dict[frozenset[tuple[str, str]], str]:
    header, *lines = (line.split(",") for line in path.read_text().splitlines())
    return {frozenset(zip(header[:-1], line[:-1], strict=True)): line[-1] for line in lines}


TOTALS = "f,_T,24\nm,_T,32\n_T,a,5\n_T,b,6\n_T,c,1\n_T,d,15\n_T,e,29\n_T,_T,56\n"


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("totals", ["", TOTALS], ids=["inner", "totals"])
def test_the_order_of_a_table_changes_no_draw(name: str, totals: str, long: Path) -> None:
    long.write_text(LONG + totals)
    secret = long.with_name("secret")
    secret.write_bytes(b"0123456789abcdef")
    options = {
        "sampling": ["--option", "fraction=0.5"],
        "semi-controlled-rounding": ["--option", "axis=area"],
        "random-rounding": ["--totals", "protected"],
    }.get(name, [])
    other = shuffled(long)
    assert cells(other) == cells(long)
    outs = [long.with_name("1.csv"), long.with_name("2.csv")]
    said = [
        run(table, "-m", name, "-o", out, "--secret", secret, *options)
        for table, out in zip((long, other), outs, strict=True)
    ]
    assert cells(outs[0]) == cells(outs[1])
    assert said[0].removeprefix("1.csv") == said[1].removeprefix("2.csv")


def test_a_place_of_an_axis_is_that_in_the_file(long: Path) -> None:
    outs = [long.with_name("1.csv"), long.with_name("2.csv"), long.with_name("3.csv")]
    for out, axis in zip(outs, ("sex", "0", "1"), strict=True):
        words = ("--option", f"axis={axis}", "--seed", 3)
        run(long, "-m", "semi-controlled-rounding", "-o", out, *words)
    assert outs[0].read_bytes() == outs[1].read_bytes() != outs[2].read_bytes()


PTABLE = """i,j,p,v,p_int_lb,p_int_ub,type
0,0,1,0,0,1,all
1,0,0.5,-1,0,0.5,all
1,2,0.5,1,0.5,1,all
2,1,0.25,-1,0,0.25,all
2,2,0.5,0,0.25,0.75,all
2,3,0.25,1,0.75,1,all
"""
KEYED = """sex,area,ckey,count
f,a,0.5,1
f,b,0.75000001,9
m,a,0.50000001,1
m,b,0,0
f,_T,0.25000001,10
m,_T,0.50000001,1
_T,a,0.00000001,2
_T,b,0.75000001,9
_T,_T,0.75000002,11
"""


@pytest.fixture
def keyed(tmp_path: Path) -> Path:
    (tmp_path / "ptable.csv").write_text(PTABLE)
    (tmp_path / "keyed.csv").write_text(KEYED)
    return tmp_path / "keyed.csv"


def by_keys(table: Path, *words: object) -> list[int]:
    """Return the figures that the command writes, in the order of the file."""
    out = table.with_name("out.csv")
    lookup = f"file={table.with_name('ptable.csv')}"
    run(table, "-m", "cell-key-perturbation", "--option", lookup, "-o", out, *words)
    lines = out.read_text().splitlines()
    assert "ckey" not in lines[0]
    return [int(line.rpartition(",")[2]) for line in lines[1:]]


def test_a_column_of_cell_keys_picks_the_changes(keyed: Path) -> None:
    # The first upper bound that is at least the key: 1 at 0.5 is in the first half and becomes 0,
    # at 0.50000001 in the second and becomes 2; 9 at 0.75000001 is in the last quarter: 10.
    assert by_keys(keyed, "--keys", "ckey")[:4] == [0, 10, 2, 0]
    # Totals by their own keys: 10 at 0.25…1 stays, 1 becomes 2, 2 at 0.00000001 becomes 1, 9
    # becomes 10, and 11 becomes 12.
    found = by_keys(keyed, "--keys", "ckey", "--totals", "protected")
    assert found == [0, 10, 2, 0, 10, 2, 1, 10, 12]


def test_totals_that_the_file_lacks_have_the_sums_of_keys(keyed: Path) -> None:
    by_keys(keyed, "--keys", "ckey", "--totals", "protected")
    whole = set(keyed.with_name("out.csv").read_text().splitlines())
    keyed.write_text("".join(f"{line}\n" for line in KEYED.splitlines() if "_T" not in line))
    by_keys(keyed, "--keys", "ckey", "--totals", "protected")
    assert set(keyed.with_name("out.csv").read_text().splitlines()) == whole


def test_sums_of_whole_keys_are_reduced_and_order_does_not_matter(keyed: Path) -> None:
    # The same keys in eighths, not reduced: 4/8, 7/8, 5/8 and 0.
    rows = ["f,a,12,1", "f,b,7,9", "m,a,21,1", "m,b,0,0"]
    for lines, expected in ((rows, [0, 10, 2, 0]), (rows[::-1], [0, 2, 10, 0])):
        keyed.write_text("sex,area,ckey,count\n" + "\n".join(lines) + "\n")
        assert by_keys(keyed, "--keys", "ckey", "--modulus", 8) == expected


def test_figures_by_keys_are_the_librarys(keyed: Path) -> None:
    secret = keyed.with_name("secret")
    secret.write_bytes(b"0123456789abcdef")
    keys = np.arange(0, 4000, 17) % 4096
    counts = np.arange(len(keys)) % 5
    rows = "".join(f"{i},{key},{n}\n" for i, (key, n) in enumerate(zip(keys, counts, strict=True)))
    keyed.write_text("area,ckey,count\n" + rows)
    method = CellKeyPerturbation(lookup.read_csv(keyed.with_name("ptable.csv")))
    words = ("--keys", "ckey", "--modulus", 4096)
    plain = method.apply(counts, plain_uniforms(keys, 4096))
    assert by_keys(keyed, *words) == plain.tolist()
    mixed = method.apply(counts, KeyMix(b"0123456789abcdef").uniforms(keys.astype(np.uint64)))
    assert by_keys(keyed, *words, "--secret", secret) == mixed.tolist()
    assert mixed.tolist() != plain.tolist()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--modulus", 8), "--modulus comes with --keys."),
        (("--keys", "rkey"), "no column in 'keyed.csv': 'rkey'"),
        (("--keys", "ckey", "--seed", 1), "--keys cannot come with --fit or --seed"),
        (("--keys", "ckey", "--fit", "sex"), "--keys cannot come with --fit or --seed"),
        (
            ("--keys", "ckey", "--modulus", 8),
            "whole numbers of 0 or more: line 2 has '0.5'",
        ),
        (("--keys", "sex"), "must be numbers from 0 to 1,048,576: line 2 has 'f'"),
    ],
)
def test_keys_that_cannot_be_used_are_refused(
    keyed: Path, words: tuple[object, ...], told: str
) -> None:
    keyed.write_text("".join(f"{line}\n" for line in KEYED.splitlines() if "_T" not in line))
    if words == ("--keys", "sex"):
        keyed.write_text("sex,area,count\nf,a,1\nf,b,2\n")
    with pytest.raises(ParameterError, match=re.escape(told)):
        by_keys(keyed, *words)


def test_keys_are_for_methods_that_act_cell_by_cell(keyed: Path) -> None:
    with pytest.raises(ParameterError, match="--keys is for methods that act cell by cell"):
        run(keyed, "-m", "controlled-rounding", "-o", keyed.with_name("o.csv"), "--keys", "ckey")
