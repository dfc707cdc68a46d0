"""`discreet round`: three modes, what they say and what they refuse."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from discreet.cli import app
from discreet.errors import ParameterError
from discreet.table.files import read_table

WIDE = ",x,y,Total\np,1,5,6\nq,2,2,4\nTotal,3,7,10\n"


def _run(folder: Path, text: str, *options: str) -> tuple[str, Path]:
    (folder / "t.csv").write_text(text)
    out = folder / "o.csv"
    done = CliRunner().invoke(
        app,
        ["round", str(folder / "t.csv"), "--out", str(out), "--force", "--seed", "1", *options],
        catch_exceptions=False,
    )
    assert done.exit_code == 0
    return done.stdout, out


def test_every_figure_is_a_neighbouring_multiple_and_adds_up(tmp_path: Path) -> None:
    said, out = _run(tmp_path, WIDE)
    before, after = read_table(tmp_path / "t.csv"), read_table(out)
    assert after.additivity_gap() == 0
    assert not (after.figures % 3).any()
    assert (np.abs(after.figures - before.figures) < 3).all()
    said = " ".join(said.split())
    assert "solved: every cell and total is next to its count, less than 3 away" in said


def test_only_small_counts_change(tmp_path: Path) -> None:
    said, out = _run(tmp_path, WIDE, "--mode", "small")
    after = read_table(out).counts
    assert after[0, 1] == 5
    assert np.isin(after[[0, 1, 1], [0, 0, 1]], (0, 3)).all()
    assert "counts below 3 rounded, everything adds up" in said


def test_figures_that_do_not_add_up_are_mended_with_the_least_change(tmp_path: Path) -> None:
    said, out = _run(tmp_path, WIDE.replace("p,1,5,6", "p,1,5,8"), "--mode", "additive")
    after = read_table(out)
    assert after.additivity_gap() == 0
    # Row p is 2 off; mending it alone changes 2, and changing anything else changes as much.
    assert np.abs(after.figures - read_table(tmp_path / "t.csv").figures).sum() == 2
    assert "solved: the closest table that adds up" in said


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        (WIDE.replace("p,1,5,6", "p,1,5,8"), [], "row p, column Total is 2 too large"),
        (WIDE.replace("p,1,5,6", "p,-1,5,6"), [], "negative"),
        (WIDE, ["--base", "1"], "base must be an integer of at least 2"),
        (WIDE, ["--secret", "s"], "cannot both be given"),
        (",x,y\np,1,5\n", ["--mode", "additive"], "needs a table with totals"),
    ],
)
def test_bad_input_gets_a_clear_sentence(
    tmp_path: Path, text: str, options: list[str], message: str
) -> None:
    with pytest.raises(ParameterError, match=message):
        _run(tmp_path, text, *options)


def test_the_same_seed_gives_the_same_file(tmp_path: Path) -> None:
    _, out = _run(tmp_path, WIDE)
    first = out.read_text()
    _, out = _run(tmp_path, WIDE)
    assert out.read_text() == first


@pytest.mark.parametrize("mode", ["controlled", "small", "additive"])
def test_the_order_of_a_table_changes_no_draw(tmp_path: Path, mode: str) -> None:
    inner = [
        (r, c, 1 + (3 * i + 5 * j) % 7) for i, r in enumerate("pqr") for j, c in enumerate("xyz")
    ]
    cells = [(r, c, n) for r, c, n in inner] + [("_T", "_T", 40)]
    one = "rows,columns,count\n" + "".join(f"{r},{c},{n}\n" for r, c, n in cells)
    other = "columns,rows,count\n" + "".join(f"{c},{r},{n}\n" for r, c, n in cells[::-1])
    if mode != "additive":
        total = sum(n for *_, n in inner)
        one, other = (text.replace("_T,_T,40", f"_T,_T,{total}") for text in (one, other))
    (tmp_path / "secret").write_bytes(b"0123456789abcdef")
    found = []
    for text in (one, other):
        (tmp_path / "t.csv").write_text(text)
        words = ["--out", str(tmp_path / "o.csv"), "--force", "--secret", str(tmp_path / "secret")]
        done = CliRunner().invoke(
            app, ["round", str(tmp_path / "t.csv"), "--mode", mode, *words], catch_exceptions=False
        )
        assert done.exit_code == 0
        header, *lines = (line.split(",") for line in (tmp_path / "o.csv").read_text().split())
        at = [header.index("rows"), header.index("columns"), 2]
        found.append((sorted([line[i] for i in at] for line in lines), done.stdout))
    assert found[0] == found[1]


@pytest.mark.parametrize(
    ("mode", "status", "gap"),
    [("controlled", "solved", 0), ("additive", "solved", 0), ("small", "feasible", None)],
)
def test_what_is_solved_has_no_gap(
    tmp_path: Path, mode: str, status: str, gap: float | None
) -> None:
    # The largest change of a cell is no gap: controlled, every cell is next to its count.
    found = json.loads(_run(tmp_path, WIDE, "--mode", mode, "--json")[0])
    assert (found["status"], found["gap"]) == (status, gap)
    assert (found["largest_change"] > 0) == (mode != "additive")
