"""`discreet lookup`: writes a look-up that the program and ptable's users can read."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from discreet.cli import app
from discreet.errors import ParameterError
from discreet.protect import LookupTable, lookup


def run(*words: object) -> str:
    result = CliRunner().invoke(app, ["lookup", *map(str, words)], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def test_writes_the_design_asked_for(tmp_path: Path) -> None:
    out = tmp_path / "d5v3.csv"
    said = run("--bound", 5, "--variance", 3, "--forbid", "1,2", "--out", out)
    ours = LookupTable.read_csv(out).matrix
    expected = lookup.max_entropy(5, 3, forbid=(1, 2)).matrix
    np.testing.assert_allclose(ours, expected, atol=2e-8)
    assert said.startswith("d5v3.csv: counts 0 to 8")
    assert "mean 0, variance 3 for ones and 3 for large counts; 0% of ones" in said


def test_the_normal_design_admits_its_bias(tmp_path: Path) -> None:
    said = run("--design", "normal", "--variance", 2, "--out", tmp_path / "n.csv")
    assert "mean up to 0.37 off 0" in said


def test_stay_is_a_floor(tmp_path: Path) -> None:
    run("--stay", 0.3, "--out", tmp_path / "s.csv")
    table = LookupTable.read_csv(tmp_path / "s.csv")
    assert (np.diag(table.matrix) >= 0.3 - 1e-8).all()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--variance", "1", "--forbid", "1,2"), "nearest feasible variance is 2"),
        (("--forbid", "one"), "must be integers, separated by commas. Got one"),
        (("--design", "normal", "--stay", "0.1"), "options of the design max-entropy"),
        (("--bound", "0"), "bound must be an integer from 1 to 100"),
    ],
)
def test_what_cannot_be_done_is_refused(
    words: tuple[str, ...], message: str, tmp_path: Path
) -> None:
    with pytest.raises(ParameterError, match=message):
        run(*words, "--out", tmp_path / "x.csv")
    assert not (tmp_path / "x.csv").exists()
