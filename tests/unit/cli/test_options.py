"""What commands print can go to a file, and shells complete the names of methods."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

import discreet as dc
from discreet.cli import app
from discreet.cli.options import method_names
from discreet.errors import ParameterError
from stores import build_town


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("town")
    build_town(place, place / "store", rows=2_000)
    dc.open(place / "store").release("sex").write(place / "t.json", "json-stat")
    (place / "counts.csv").write_text("area,sex,count\nA,m,5\nA,f,4\nB,m,6\nB,f,9\n")
    return place


def run(*words: object) -> Result:
    return CliRunner().invoke(app, [str(word) for word in words])


@pytest.mark.parametrize(
    "command",
    [
        ["info", "store"],
        ["ledger", "store"],
        ["risk", "counts.csv"],
        ["verify", "t.json", "--store", "store"],
    ],
)
def test_what_would_be_printed_is_written(
    command: list[str], place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(place)
    printed, out = run(*command), tmp_path / "report"
    done = run(*command, "-o", out)
    assert done.exit_code == printed.exit_code == 0, done.exception
    assert done.output == ""
    assert out.read_text() == printed.output != ""
    assert out.stat().st_mode & 0o777 == 0o600  # a report may hold true counts
    assert isinstance(run(*command, "-o", out).exception, ParameterError)
    assert run(*command, "-o", out, "--force").exit_code == 0


def test_the_status_of_a_report_is_kept(place: Path, tmp_path: Path) -> None:
    text = (place / "t.json").read_text()
    (tmp_path / "t.json").write_text(text.replace('"label":', '"Label":', 1))
    done = run("verify", tmp_path / "t.json", "--store", place / "store", "-o", tmp_path / "said")
    assert done.exit_code == 1
    assert isinstance(done.exception, SystemExit), done.exception
    assert "altered" in (tmp_path / "said").read_text()


def test_names_of_methods_are_completed() -> None:
    assert method_names("cell-") == ["cell-key-perturbation"]
    assert "random-rounding" in method_names("")
