"""dataset.toml: what it may say, and every mistake told by name."""

from __future__ import annotations

from pathlib import Path

import pytest

from discreet.build import Dataset
from discreet.errors import ParameterError

GOOD = """
id = "people"
title = "People of Elsewhere"
source = { files = "p.csv", record_id = "id" }
[variables]
sex = { categories = { 1 = "Male", 2 = "Female" } }
"""


def read(folder: Path, text: str, name: str = "dataset.toml") -> Dataset:
    (folder / "p.csv").touch()
    (folder / name).write_text(text, encoding="utf-8")
    return Dataset.read(folder / name)


def refused(folder: Path, text: str) -> str:
    with pytest.raises(ParameterError) as caught:
        read(folder, text)
    return str(caught.value).replace(f"{folder}/", "")


def source(text: str) -> str:
    return GOOD.replace('{ files = "p.csv", record_id = "id" }', text)


def test_a_description_is_read(tmp_path: Path) -> None:
    dataset = read(tmp_path, 'unit = "persons"\n' + GOOD)
    assert (dataset.id, dataset.title, dataset.unit) == ("people", "People of Elsewhere", "persons")
    assert dataset.source.files == (tmp_path / "p.csv",)
    assert (dataset.source.format, dataset.source.record_id) == ("csv", "id")
    (sex,) = dataset.columns
    assert (sex.id, sex.label, sex.column) == ("sex", "Sex", "sex")
    assert sex.categories is not None
    assert sex.categories.codes == ("1", "2")
    assert sex.categories.labels == ("Male", "Female")
    assert dataset.policy.minimum_population == 10


def test_a_byte_order_mark_and_windows_line_ends_are_read(tmp_path: Path) -> None:
    assert read(tmp_path, "\ufeff" + GOOD.replace("\n", "\r\n")).id == "people"


def test_every_mistake_is_told_at_once(tmp_path: Path) -> None:
    told = refused(tmp_path, GOOD.replace('"people"', '"Peo ple"').replace('"p.csv"', '"q.csv"'))
    assert told == (
        "dataset.toml has 2 mistakes:\n"
        "  - the id of a data set must be 1 to 64 lower-case letters, digits, '_' or '-'. "
        "Got 'Peo ple'.\n"
        "  - there is no file q.csv"
    )


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (GOOD.replace('id = "people"', ""), "dataset.toml must have 'id'."),
        (
            GOOD.replace('"People of Elsewhere"', "3"),
            "'title' in dataset.toml must be a text. Got 3.",
        ),
        (
            "colour = 1\n" + GOOD,
            "dataset.toml: no setting 'colour'; Choices: id, title, unit, engine, source, "
            "variables, geography, policy, accept_differencing, protect, impossible",
        ),
        (
            "titel = 1\n" + GOOD,
            "dataset.toml: no setting 'titel'; did you mean 'title'? Choices: id, title, unit, "
            "engine, source, variables, geography, policy, accept_differencing, protect, "
            "impossible",
        ),
        (source("3"), "'source' in dataset.toml must be a text or a table. Got 3."),
        (source("{}"), "source must have 'files'."),
        (source("{ files = 3 }"), "'files' in source must be a text or a list. Got 3."),
        (source("{ files = [3] }"), "a list of names must hold texts. Got 3."),
        (
            source('{ files = "p.csv" }'),
            "source must name the 'record_id' column (or the 'key' column if record keys are "
            "already assigned, or the 'count' column of a hypercube): without it the same person "
            "would get new noise at every build.",
        ),
        (
            source('{ files = "p.csv", record_id = "id", weight = "w" }'),
            "weights are not supported yet: every record counts once, and protecting weighted "
            "counts needs methods of its own. Take 'weight' out of the source.",
        ),
        (
            source('{ files = "https://example.org/p.csv", record_id = "id" }'),
            "sources must be files on this machine. Got 'https://example.org/p.csv'.",
        ),
        (
            source('{ files = "s3://bucket/*.csv", record_id = "id" }'),
            "sources must be files on this machine. Got 's3://bucket/*.csv'.",
        ),
        (source('{ files = "no*.csv", record_id = "id" }'), "no file matches 'no*.csv' in {}."),
        (
            source('{ files = "p.csv", record_id = "id", format = "xlsx" }'),
            "no format 'xlsx'; Choices: csv, parquet",
        ),
        (
            source('{ files = "dataset.toml", record_id = "id" }'),
            "the files of a source must all end in .csv or all in .parquet, or 'format' must say "
            "which they are. Got .toml.",
        ),
        (
            source('{ files = "p.csv", record_id = "id", delimiter = "||" }'),
            "delimiter must be one character. Got '||'.",
        ),
        (
            source('{ files = "p.csv", record_id = "id", encoding = "utf8" }'),
            "no encoding 'utf8'; did you mean 'utf-8'? Choices: utf-8, latin-1, utf-16",
        ),
        (
            source('{ files = "p.csv", key = { column = "k", modulus = 4294967297 } }'),
            "the modulus of record keys must be an integer from 1 to 4294967296. Got 4294967297.",
        ),
        (
            source('{ files = "p.csv", key = { column = "k", modulus = 0 } }'),
            "the modulus of record keys must be an integer from 1 to 4294967296. Got 0.",
        ),
        (
            source('{ files = "p.csv", key = { column = "k", modulus = 256, bits = 8 } }'),
            "source.key: no setting 'bits'; Choices: column, modulus",
        ),
        (
            GOOD + "Sex = { range = [0, 1] }\n",
            "the id of a variable must be 1 to 64 lower-case letters, digits, '_' or '-'. "
            "Got 'Sex'.",
        ),
        (
            GOOD + "geography = { range = [0, 1] }\n",
            "'geography' is described by [[geography]], not as a variable.",
        ),
        (GOOD + "age = 3\n", "variables.age must be a table. Got 3."),
        (
            GOOD + 'age = { range = [0, 1], levels.sex.groups = { a = "0..1" } }\n',
            "ids must be unique in a data set. Given twice: sex.",
        ),
        (
            GOOD + 'age = { range = [0, 1], levels.geography.groups = { a = "0..1" } }\n',
            "no level may have the id 'geography', which is all of them.",
        ),
        (
            'accept_differencing = ["bands"]\n' + GOOD,
            "no grouping 'bands'; Choices: none",
        ),
        ('policy = "none.toml"\n' + GOOD, "there is no file none.toml"),
        (
            GOOD + 'age = { categories = "from data", levels.b.groups = { a = "0" } }\n',
            "variables.age has levels, so its categories must be listed, not read from the data.",
        ),
    ],
)
def test_a_mistake_is_told(tmp_path: Path, text: str, told: str) -> None:
    # The file is named once, in the sentence or before it.
    before = "" if "dataset.toml" in told else "dataset.toml: "
    assert refused(tmp_path, text) == before + told.format(tmp_path)


def test_no_variable_is_a_mistake(tmp_path: Path) -> None:
    text = GOOD.split("[variables]")[0] + "[variables]\n"
    assert refused(tmp_path, text) == "dataset.toml: a data set must have at least one variable."


def test_what_is_not_toml_is_told(tmp_path: Path) -> None:
    assert refused(tmp_path, "id = ").startswith("dataset.toml is not TOML: ")


def test_files_are_named_once_and_in_order(tmp_path: Path) -> None:
    for name in ("b.csv", "a.csv"):
        (tmp_path / name).touch()
    (tmp_path / "same.csv").symlink_to(tmp_path / "a.csv")
    files = '{ files = ["b.csv", "?.csv", "./../FOLDER/a.csv", "same.csv"], record_id = "id" }'
    dataset = read(tmp_path, source(files.replace("FOLDER", tmp_path.name)))
    assert [path.name for path in dataset.source.files] == ["b.csv", "a.csv", "p.csv"]


def test_a_folder_is_no_source(tmp_path: Path) -> None:
    (tmp_path / "d.csv").mkdir()
    told = refused(tmp_path, source('{ files = "d.csv", record_id = "id" }'))
    assert told == "dataset.toml: there is no file d.csv"


def test_a_path_that_a_reader_would_expand_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a[1].csv").touch()
    told = refused(tmp_path, source('{ files = "a[1].csv", record_id = "id" }'))
    assert told == ("dataset.toml: the path of a source must not contain * ? or [. Got a[1].csv.")


@pytest.mark.parametrize("modulus", [2, 256, 10**8, 2**32])
def test_moduli(tmp_path: Path, modulus: int) -> None:
    text = source(f'{{ files = "p.csv", key = {{ column = "k", modulus = {modulus} }} }}')
    assert read(tmp_path, text).source.key == ("k", modulus)


def test_a_policy_file_is_read(tmp_path: Path) -> None:
    (tmp_path / "policy.toml").write_text("minimum_population = 25\n")
    assert read(tmp_path, 'policy = "policy.toml"\n' + GOOD).policy.minimum_population == 25


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            "minimum_population = 0",
            "policy.toml: minimum_population must be an integer of at least 1. Got 0.",
        ),
        (
            "minimum_population = true",
            "'minimum_population' in policy.toml must be an integer. Got True.",
        ),
    ],
)
def test_a_bad_policy_is_told(tmp_path: Path, text: str, told: str) -> None:
    (tmp_path / "policy.toml").write_text(text)
    assert refused(tmp_path, 'policy = "policy.toml"\n' + GOOD) == f"dataset.toml: {told}"
