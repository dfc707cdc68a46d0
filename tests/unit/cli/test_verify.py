"""From a built store to files and back: `discreet verify`, with the store and with the key."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner, Result

import discreet as dc
from discreet.build import build
from discreet.cli import app
from discreet.errors import ParameterError
from discreet.release.formats import FORMATS

DATASET = """
id = "town"
title = "The town"
unit = "people"
policy = "preset:rounding-3"

[source]
files = ["people.csv"]
record_id = "person"

[variables.sex]
label = "Sex"
categories = { 1 = "Male", 2 = "Female" }

[variables.age]
label = "Age"
range = [0, 9]
"""


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("town")
    rng = np.random.default_rng(5)
    sex, age = rng.integers(1, 3, 3_000), rng.integers(0, 10, 3_000)
    rows = "".join(f"{i},{s},{a}\n" for i, (s, a) in enumerate(zip(sex, age, strict=True)))
    (folder / "people.csv").write_text("person,sex,age\n" + rows)
    (folder / "dataset.toml").write_text(DATASET)
    build(folder / "dataset.toml", folder / "store")
    return folder / "store"


@pytest.fixture(scope="module")
def release(store: Path) -> dc.Release:
    return dc.open(store).release("age,sex", totals="protected")


def run(*words: object) -> Result:
    return CliRunner().invoke(app, [str(word) for word in words])


@pytest.mark.parametrize("format", FORMATS)
def test_a_release_verifies(format: str, release: dc.Release, store: Path, tmp_path: Path) -> None:
    release.write(tmp_path / "t", format)
    for asked in (["--store", store], ["--key", store / "signing.pub"]):
        done = run("verify", tmp_path / "t", *asked)
        assert done.exit_code == 0, done.output
        assert done.output.splitlines()[0] == f"t ({format}): genuine"
        assert "by=sex,age, totals protected" in done.output


def test_what_a_format_does_not_hold_is_said(
    release: dc.Release, store: Path, tmp_path: Path
) -> None:
    """CSV holds all that was signed. PX has one figure for a cell: no bounds of it."""
    said = {}
    for format in ("csv", "px"):
        release.write(tmp_path / f"t.{format}", format)
        said[format] = run("verify", tmp_path / f"t.{format}", "--store", store).output
    line = "  signed, but not in this file to be compared: "
    assert line not in said["csv"]
    columns = [f"the column {name}" for name in release.table.told]
    assert f"{line}{', '.join(columns)}\n" in said["px"]


def test_the_changed_cell_is_named(release: dc.Release, store: Path, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    release.write(path, "csv")
    was = int(release.table.values[0, 0])
    line = f"0,0,1,Male,{was},".encode()
    text = path.read_bytes()
    assert line in text
    path.write_bytes(text.replace(line, f"0,0,1,Male,{was + 3},".encode()))
    records = (store / "records").read_bytes()
    done = run("verify", path, "--store", store)
    assert done.exit_code == 1
    assert "t.csv (csv): altered" in done.output
    assert f"sex 1, age 0: {was + 3} instead of {was}" in done.output
    assert (store / "records").read_bytes() == records, "verifying is no release"
    alone = run("verify", path, "--key", store / "signing.pub")
    assert alone.exit_code == 1
    assert "instead of" not in alone.output


def test_another_version_cannot_name_cells(
    release: dc.Release, store: Path, tmp_path: Path
) -> None:
    origin = {**vars(release.provenance), "data_version": "older"}
    assert dc.open(store).again(origin) is None
    again = dc.open(store).again(vars(release.provenance))
    assert again is not None
    # The order asked for is not part of a question: dimensions come back in the schema's.
    assert [d.level for d in again.table.dimensions] == ["sex", "age"]
    assert (release.table.values == again.table.values.T).all()


def test_store_or_key(store: Path, tmp_path: Path) -> None:
    for asked in ([], ["--store", store, "--key", store / "signing.pub"]):
        done = run("verify", tmp_path / "t", *asked)
        assert isinstance(done.exception, ParameterError)
        assert "either --store or --key" in str(done.exception)
    done = run("verify", tmp_path / "t", "--store", tmp_path)
    assert "has signed a file" in str(done.exception)


@pytest.mark.parametrize("text", ['{"findings": []}', "{}"])
def test_a_file_of_another_kind_is_said_to_be_one(store: Path, tmp_path: Path, text: str) -> None:
    (tmp_path / "other.json").write_text(text)
    told = run("verify", tmp_path / "other.json", "--store", store)
    assert isinstance(told.exception, dc.ParameterError)
    assert str(told.exception) == (
        "'other.json' must be a file that this program writes: it is none of them."
    )
