"""A draft describes its file, and a store can be built of it."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from typer.testing import CliRunner

import discreet as dc
from discreet.build.draft import draft
from discreet.cli import app
from discreet.errors import ParameterError
from stores import write_town

ROWS = [
    f"p{i:03};h{i // 3};{i // 40 % 2 + 1};{i % 40};{'young' if i % 40 < 20 else 'old'};{i * 7.5};"
    f"w{i % 10 // 2};{'N' if i % 10 // 2 < 2 else 'S'};{'' if i == 5 else 'ä' if i % 3 else 'b,c'}"
    for i in range(400)
]
CSV = "\n".join(["person_id;hhid;SEX;age;group;income;ward;region;odd", *ROWS]) + "\n"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "People 2021.csv"
    path.write_text(CSV, encoding="utf-8")
    return path


def test_columns_are_taken_for_what_they_are(file: Path) -> None:
    found = tomllib.loads(draft(file))
    assert found["id"] == "people-2021"
    assert found["source"] == {
        "files": "People 2021.csv",
        "delimiter": ";",
        "record_id": "person_id",
        "household_id": "hhid",
    }
    assert list(found["variables"]) == ["sex", "age", "odd"]
    assert found["variables"]["sex"] == {
        "label": "SEX",
        "column": "SEX",
        "categories": {"1": "1", "2": "2"},
    }
    age = found["variables"]["age"]
    assert age["range"] == [0, 39]
    assert age["levels"]["group"]["groups"] == {
        "young": [str(i) for i in range(20)],
        "old": [str(i) for i in range(20, 40)],
    }
    assert found["variables"]["odd"]["categories"] == {"b,c": "b,c", "ä": "ä"}
    assert [area["id"] for area in found["geography"]] == ["ward", "region"]


def test_what_is_guessed_is_said(file: Path) -> None:
    text = draft(file)
    assert "guessed: no value is there twice" in text
    assert "# 1 records have no value" in text
    assert '1 = "1"  # 200\n' in text  # every second forty of 400
    assert "#   income (400 values)" in text


def test_a_store_is_built_of_a_draft(tmp_path: Path) -> None:
    write_town(tmp_path, rows=2_000)
    (tmp_path / "kept").mkdir()
    out = tmp_path / "kept" / "town.toml"
    done = CliRunner().invoke(app, ["init", str(tmp_path / "people.parquet"), "-o", str(out)])
    assert done.exit_code == 0, done.output
    population = dc.build(None, out, tmp_path / "store", views=0)
    assert [v.id for v in population.schema.variables] == [
        "sex", "age", "health", "rare", "geography",
    ]  # fmt: skip
    assert population.tabulate("district").counts.sum() == 2_000
    again = CliRunner().invoke(app, ["init", str(tmp_path / "people.parquet"), "-o", str(out)])
    assert isinstance(again.exception, ParameterError)  # it is there already


def test_a_table_of_counts_is_a_hypercube(tmp_path: Path) -> None:
    (tmp_path / "cube.csv").write_text("sex,n\n1,20\n2,30\n")
    found = tomllib.loads(draft(tmp_path / "cube.csv"))
    assert found["source"] == {"files": "cube.csv", "count": "n"}


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("x.txt", "a\n1\n", "must be a file of records"),
        ("x.csv", "a,b\n", "at least one record"),
        ("x.parquet", "no", "cannot be read"),
    ],
)
def test_what_is_no_file_of_records_is_refused(
    tmp_path: Path, name: str, content: str, message: str
) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(ParameterError, match=message):
        draft(tmp_path / name)


def test_a_file_in_latin_1_is_read(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_bytes("id,c\n1,é\n2,é\n3,b\n".encode("latin-1"))
    found = tomllib.loads(draft(tmp_path / "x.csv"))
    assert found["source"]["encoding"] == "latin-1"
    assert set(found["variables"]["c"]["categories"]) == {"é", "b"}


def test_missing_values_are_no_category_and_are_said(tmp_path: Path) -> None:
    """A coarser column that lacks values is no level: its groups would not hold every code."""
    rows = [
        f"{i},{i % 4},{'' if i % 40 == 3 else 'low' if i % 4 < 2 else 'high'},"
        f"{'' if i == 7 else f'w{i % 3}'},{'' if i % 40 == 5 else i % 2}"
        for i in range(400)
    ]
    path = tmp_path / "people.csv"
    path.write_text("\n".join(["id,grade,step,ward,sex", *rows]) + "\n")
    text = draft(path)
    assert "None" not in text
    found = tomllib.loads(text)
    assert "levels" not in found["variables"]["grade"]
    assert found["variables"]["step"]["categories"] == {"high": "high", "low": "low"}
    assert found["variables"]["sex"]["categories"] == {"0": "0", "1": "1"}
    # step in 10 of 400 rows, ward in one, sex in 10
    lines = [line for line in text.splitlines() if "have no value" in line]
    assert [int(line.split()[1]) for line in lines] == [10, 10, 1]
    done = CliRunner().invoke(app, ["init", str(path), "-o", str(tmp_path / "d.toml")])
    assert "Note: 3 columns have missing values, which a build refuses" in done.output
