"""`discreet study`: the folder it writes, and what it refuses."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from discreet.cli import app
from discreet.errors import ParameterError
from discreet.study.run import Block, Part, Worker
from studies import write_cube

FILES = {"results.csv", "results.parquet", "map.svg", "report.html"}
STUDY = """
title = "Rounding"
draws = 2
[data]
cube = "cube.csv"
[[methods]]
method = "random-rounding"
base = [3, 5]
"""


def invoke(*arguments: object) -> str:
    found = CliRunner().invoke(app, ["study", *map(str, arguments)])
    if found.exception is not None and not isinstance(found.exception, SystemExit):
        raise found.exception
    return found.output


@pytest.fixture
def study(tmp_path: Path) -> Path:
    write_cube(tmp_path / "cube.csv")
    (tmp_path / "study.toml").write_text(STUDY, encoding="utf-8")
    return tmp_path / "study.toml"


def test_a_study_writes_its_folder_and_prints_the_finding(study: Path, tmp_path: Path) -> None:
    said = invoke(study, "--out", tmp_path / "out")
    assert "under the limit" in said
    assert {path.name for path in (tmp_path / "out").iterdir()} == FILES
    # All of it comes from true counts: for the custodian alone.
    assert {path.stat().st_mode & 0o777 for path in (tmp_path / "out").iterdir()} == {0o600}


def test_a_study_is_not_written_over_unless_told(study: Path, tmp_path: Path) -> None:
    invoke(study, "--out", tmp_path / "out")
    first = (tmp_path / "out" / "results.csv").read_bytes()
    with pytest.raises(ParameterError, match="is there already"):
        invoke(study, "--out", tmp_path / "out")
    invoke(study, "--out", tmp_path / "out", "--force")
    assert (tmp_path / "out" / "results.csv").read_bytes() == first
    invoke(study, "--out", tmp_path / "out", "--force", "--seed", 2)
    assert (tmp_path / "out" / "results.csv").read_bytes() != first


def test_a_stopped_study_says_that_it_goes_on_and_does(
    study: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    invoke(study, "--out", tmp_path / "whole")
    kept, drawn = Worker.part, list[Block]()

    def part(worker: Worker, block: Block) -> Part:
        if len(drawn) == 2:
            raise KeyboardInterrupt
        drawn.append(block)
        return kept(worker, block)

    monkeypatch.setattr(Worker, "part", part)
    said = CliRunner().invoke(app, ["study", str(study), "--out", str(tmp_path / "out")])
    assert said.exit_code != 0
    assert "The same command goes on from here." in said.output
    assert len(list((tmp_path / "out" / ".parts").iterdir())) == 2
    drawn.pop()  # one more may be drawn: that of the last setting
    invoke(study, "--out", tmp_path / "out")
    whole, resumed = ((tmp_path / out / "results.csv").read_bytes() for out in ("whole", "out"))
    assert resumed == whole


def test_quick_takes_a_table(study: Path, tmp_path: Path) -> None:
    said = invoke("--quick", study.parent / "cube.csv", "--out", tmp_path / "out")
    assert "Cell keys, variance 1" in said
    assert {path.name for path in (tmp_path / "out").iterdir()} == FILES


def test_a_folder_named_after_a_paper_is_not_its_study(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command given twice, its own folder there: still the paper, which has no cube here."""
    monkeypatch.chdir(tmp_path)
    Path("shlomo2015").mkdir()
    with pytest.raises(ParameterError, match=r"country\.parquet"):
        invoke("shlomo2015", "--out", "shlomo2015")


def test_one_of_the_two_must_be_given(study: Path, tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="give a study file, or --quick and a table"):
        invoke("--out", tmp_path / "out")
    with pytest.raises(ParameterError, match="--out must name the folder"):
        invoke(study)
    with pytest.raises(ParameterError, match="--out must be a folder"):
        invoke(study, "--out", study)
