"""The files of synthetic businesses: what is in them and what is refused."""

from __future__ import annotations

import csv
import sys
from pathlib import Path

import pytest

from discreet.cli import main
from discreet.errors import ParameterError
from discreet.synth.business import DIMENSIONS, check, write

FILES = ["README.md", "industry.hrc", "product.hrc", "records.csv", "region.hrc"]


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def run(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr(sys, "argv", ["discreet", "synth", *arguments])
    try:
        main()
    except SystemExit as stop:
        return int(stop.code or 0)
    return 0


def test_the_files_hold_the_records_and_their_trees(tmp_path: Path) -> None:
    businesses = write(300, tmp_path / "out", seed=3)
    assert names(tmp_path / "out") == FILES
    with (tmp_path / "out" / "records.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["record"] for row in rows] == [str(number) for number in range(1, 301)]
    assert [int(row["turnover"]) for row in rows] == businesses.turnover.tolist()
    assert [int(row["holding"]) for row in rows] == businesses.holding.tolist()
    for number, dimension in enumerate(DIMENSIONS):
        codes = [dimension.codes[place] for place in businesses.codes[:, number]]
        assert [row[dimension.id] for row in rows] == codes
    for dimension in DIMENSIONS:
        if not dimension.hierarchical:
            continue
        # Read the tree back: the parent of a line is the last line with one @ less.
        above: dict[int, str] = {}
        found = {}
        for line in (tmp_path / "out" / f"{dimension.id}.hrc").read_text().splitlines():
            code = line.lstrip("@")
            depth = len(line) - len(code)
            found[code] = above.get(depth - 1)
            above[depth] = code
        assert found == {
            code: dimension.codes[parent] if parent >= 0 else None
            for code, parent in zip(dimension.codes, dimension.parents, strict=True)
        }


def test_the_same_seed_gives_the_same_files(tmp_path: Path) -> None:
    for name in ("one", "two"):
        write(100, tmp_path / name, seed=5)
    for name in FILES:
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()


def test_a_folder_is_replaced_only_if_synth_has_made_it(tmp_path: Path) -> None:
    out = tmp_path / "out"
    write(100, out)
    write(50, out)
    assert len((out / "records.csv").read_text().splitlines()) == 51
    (out / "notes.txt").write_text("mine")
    with pytest.raises(ParameterError, match="which holds other files"):
        write(100, out)
    other = tmp_path / "other"
    other.mkdir()
    (other / "README.md").write_text("# Mine")
    with pytest.raises(ParameterError, match="out must be a new or empty folder"):
        write(100, other)


@pytest.mark.parametrize("records", [9, 10_000_001])
def test_a_number_out_of_range_is_refused(tmp_path: Path, records: int) -> None:
    with pytest.raises(ParameterError, match="records must be from 10 to 10,000,000"):
        check(records, tmp_path / "out", 1)


def test_the_command_writes_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert run(monkeypatch, "--kind", "business", "--records", "60", "--out", str(out)) == 0
    assert capsys.readouterr().out.startswith("Wrote 60 businesses of ")
    assert names(out) == FILES


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--kind", "business"], "--records must say how many businesses"),
        (["--kind", "business", "--persons", "1000"], "businesses are counted by --records"),
        (
            ["--kind", "business", "--records", "60", "--threads", "2"],
            "--threads is for the census",
        ),
        (["--records", "60"], "people are counted by --persons"),
        ([], "--persons must say how many people"),
    ],
)
def test_wrong_combinations_are_refused_with_one_sentence(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    message: str,
) -> None:
    assert run(monkeypatch, *arguments, "--out", str(tmp_path / "out")) == 2
    assert capsys.readouterr().err.startswith(f"discreet: {message}")
    assert names(tmp_path) == []
