"""The files: what is in them, what is refused, and that nothing is left half-done."""

from __future__ import annotations

import csv
import sys
import tomllib

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from discreet.build import build
from discreet.cli import app, main
from discreet.errors import ParameterError
from discreet.synth import check, write, writer
from discreet.synth.geography import lay_out
from discreet.synth.variables import IDS
from discreet.synth.writer import blocks, draw

FILES = [
    "dataset.toml",
    "la.csv",
    "nuts2.csv",
    "oa.csv",
    "persons.parquet",
    "region.csv",
    "ward.csv",
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    out = tmp_path_factory.mktemp("synth") / "census"
    write(30_000, out, seed=4, threads=2)
    return out


def read_csv(path):
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_exactly_these_files_are_written(folder):
    assert names(folder) == FILES
    assert names(folder.parent) == ["census"]


def test_the_microdata_have_small_columns_and_unique_sorted_ids(folder):
    table = pq.read_table(folder / "persons.parquet")
    assert table.column_names == ["person_id", "household_id", "oa", *IDS]
    assert all(table.schema.field(name).type == pa.uint8() for name in IDS)
    assert table.num_rows == 30_000
    assert np.array_equal(table["person_id"].to_numpy(), np.arange(1, 30_001))
    assert (np.diff(table["oa"].to_numpy().astype(np.int64)) >= 0).all()
    assert table["household_id"].to_numpy().min() == 1


def test_the_description_is_what_the_reader_of_data_sets_expects(folder):
    text = tomllib.loads((folder / "dataset.toml").read_text(encoding="utf-8"))
    assert text["id"] == "census"
    assert text["title"] == "Synthetic census of 30,000 people"
    assert text["unit"] == "persons"
    assert text["source"] == {
        "files": ["persons.parquet"],
        "record_id": "person_id",
        "household_id": "household_id",
    }
    assert list(text["variables"]) == list(IDS)
    age = text["variables"]["age"]
    assert age["range"] == [0, 100]
    bands = age["levels"]["age_band"]["groups"]
    assert len(bands) == 21
    assert bands["1"] == {"label": "0 to 4", "of": "0..4"}
    assert bands["20"] == {"label": "95 to 99", "of": "95..99"}
    assert bands["21"] == {"label": "100 and over", "of": "100..100"}
    geography = text["geography"]
    assert [level["id"] for level in geography] == ["oa", "ward", "la", "region", "nuts2"]
    assert geography[0]["column"] == "oa"
    assert all(level["categories"] == f"{level['id']}.csv" for level in geography)


def test_the_lists_of_areas_are_nested_and_hold_every_code(folder):
    above = None
    for level in ("nuts2", "region", "la", "ward", "oa"):
        rows = read_csv(folder / f"{level}.csv")
        codes = [row["code"] for row in rows]
        assert codes == [str(code) for code in range(1, len(rows) + 1)]
        assert len({row["label"] for row in rows}) == len(rows)
        if above is None:
            assert list(rows[0]) == ["code", "label"]
        else:
            assert {row["parent"] for row in rows} == set(above)
        above = codes
    used = pq.read_table(folder / "persons.parquet", columns=["oa"])["oa"].unique()
    assert sorted(map(str, used.to_pylist()), key=int) == above


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_the_file_is_the_same_for_any_number_of_threads(tmp_path, folder, threads, monkeypatch):
    monkeypatch.setattr(writer, "BLOCK", 4_000)
    write(30_000, tmp_path / "out", seed=4, threads=threads)
    written = pq.ParquetFile(tmp_path / "out" / "persons.parquet")
    assert written.num_row_groups == 8  # 30,000 people in blocks of at most about 4,000
    assert written.read().equals(pq.read_table(folder / "persons.parquet"))


@pytest.mark.parametrize("parts", [1, 7, 30])
def test_people_in_parts_are_the_same_people(tmp_path, folder, parts, monkeypatch):
    monkeypatch.setattr(writer, "BLOCK", 4_000)
    out = tmp_path / "out"
    write(30_000, out, seed=4, threads=2, parts=parts)
    assert names(out) == sorted({*FILES, "persons"} - {"persons.parquet"})
    files = sorted((out / "persons").iterdir())
    assert [path.name for path in files] == [f"part-{i:05}.parquet" for i in range(parts)]
    whole = pa.concat_tables([pq.read_table(path) for path in files])
    assert whole.equals(pq.read_table(folder / "persons.parquet"))
    # Even shares, up to an output area on either side: none has 700 people.
    for path in files:
        assert abs(pq.read_metadata(path).num_rows - 30_000 / parts) < 700
    described = tomllib.loads((out / "dataset.toml").read_text(encoding="utf-8"))
    assert described["source"]["files"] == ["persons/*.parquet"]


def test_a_census_in_parts_is_built_and_replaced(tmp_path):
    out = tmp_path / "out"
    write(3_000, out, threads=1, parts=3)
    assert build(out / "dataset.toml", tmp_path / "store", views=0).rows == 3_000
    write(2_000, out, threads=1, parts=2)
    assert len(names(out / "persons")) == 2
    (out / "persons" / "notes.parquet").write_text("mine", encoding="utf-8")
    with pytest.raises(ParameterError, match="which holds other files"):
        write(2_000, out, threads=1)
    (out / "persons" / "notes.parquet").unlink()
    write(2_000, out, threads=1)
    assert names(out) == FILES


def test_a_part_has_at_least_a_thousand_people(tmp_path):
    check(3_999, tmp_path / "out", 1, 1, 3)
    for parts in (0, 4):
        with pytest.raises(ParameterError, match=rf"parts must be from 1 to 3.* Got {parts}\."):
            check(3_999, tmp_path / "out", 1, 1, parts)


@pytest.mark.parametrize("persons", [1_000, 1_001, 1_776, 2_500])
def test_a_hamlet_works_too(tmp_path, persons):
    households = write(persons, tmp_path / "out", threads=1)
    table = pq.read_table(tmp_path / "out" / "persons.parquet")
    assert table.num_rows == persons
    assert len(table["household_id"].unique()) == households
    assert len(read_csv(tmp_path / "out" / "nuts2.csv")) == 2


def test_progress_adds_up_to_the_people(tmp_path, monkeypatch):
    monkeypatch.setattr(writer, "BLOCK", 2_000)
    steps: list[int] = []
    write(10_000, tmp_path / "out", progress=steps.append)
    assert len(steps) == 5
    assert sum(steps) == 10_000


@pytest.mark.parametrize(
    ("persons", "seed", "threads", "message"),
    [
        (999, 1, 1, "persons must be from 1,000 to 1,000,000,000. Got 999."),
        (1_000_000_001, 1, 1, "persons must be from 1,000 to 1,000,000,000. Got 1,000,000,001."),
        (1_000, -1, 1, "seed must be from 0"),
        (1_000, 2**63, 1, "seed must be from 0"),
        (1_000, 1, 0, "threads must be at least 1. Got 0."),
    ],
)
def test_bad_values_are_refused_with_one_sentence(tmp_path, persons, seed, threads, message):
    with pytest.raises(ParameterError) as caught:
        write(persons, tmp_path / "out", seed, threads)
    assert str(caught.value).startswith(message)
    assert names(tmp_path) == []


def test_the_smallest_and_largest_number_of_people_are_accepted(tmp_path):
    check(1_000, tmp_path / "out", 0, None)
    check(1_000_000_000, tmp_path / "out", 2**63 - 1, 1)


def test_a_folder_of_somebody_else_is_left_alone(tmp_path):
    (tmp_path / "dataset.toml").write_text('id = "mine"\n', encoding="utf-8")
    with pytest.raises(ParameterError, match="out must be a new or empty folder"):
        write(1_000, tmp_path)
    assert names(tmp_path) == ["dataset.toml"]


def test_a_file_is_no_folder(tmp_path):
    (tmp_path / "out").write_text("", encoding="utf-8")
    with pytest.raises(ParameterError, match="out must be a folder"):
        write(1_000, tmp_path / "out")


def test_a_place_that_cannot_be_written_is_refused(tmp_path):
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(ParameterError, match="out must be a place to write to"):
        write(1_000, tmp_path / "file" / "out")


def test_a_census_is_replaced_unless_somebody_put_a_file_beside_it(tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    write(1_000, out, threads=1)
    write(2_000, out, threads=1)
    assert pq.read_metadata(out / "persons.parquet").num_rows == 2_000
    assert names(tmp_path) == ["out"]
    (out / "notes.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(ParameterError, match="which holds other files"):
        write(1_000, out)
    assert pq.read_metadata(out / "persons.parquet").num_rows == 2_000


def test_an_error_on_the_way_leaves_the_old_census_and_nothing_else(tmp_path):
    out = tmp_path / "out"
    write(1_000, out, threads=1)

    def fail(_done: int) -> None:
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        write(2_000, out, threads=2, progress=fail)
    assert names(tmp_path) == ["out"]
    assert pq.read_metadata(out / "persons.parquet").num_rows == 1_000


def test_the_command_writes_and_says_so(tmp_path):
    out = tmp_path / "out"
    arguments = ["synth", "--persons", "1500", "--out", str(out), "--seed", "3"]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0
    assert "1,500 people" in result.stdout
    assert result.stderr == "Drawing people …\n"  # apart from the result; a bar on a screen
    assert names(out) == FILES


def test_the_command_refuses_with_one_sentence(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(
        sys, "argv", ["discreet", "synth", "--persons", "5", "--out", str(tmp_path)]
    )
    with pytest.raises(SystemExit) as stop:
        main()
    assert stop.value.code == 2
    message = "discreet: persons must be from 1,000 to 1,000,000,000. Got 5.\n"
    assert capsys.readouterr().err == message


@pytest.mark.parametrize("threads", [1, 2, 4])
@pytest.mark.parametrize("size", [3_000, 20_000])
def test_people_depend_on_neither_threads_nor_blocks(threads, size):
    geography = lay_out(40_000, 8)
    whole = draw(geography, 8, 0, geography.size)
    parts = list(blocks(geography, 8, threads, size))
    assert len(parts) > 1
    assert np.array_equal(np.concatenate([p.columns for p in parts], axis=1), whole.columns)
    assert np.array_equal(np.concatenate([p.oa for p in parts]), whole.oa)
    before = np.cumsum([0, *(p.households for p in parts)])
    joined = np.concatenate([p.household + b for p, b in zip(parts, before, strict=False)])
    assert np.array_equal(joined, whole.household)
    assert before[-1] == whole.households


def test_another_seed_gives_other_people():
    geography = lay_out(2_000, 1)
    one, other = draw(geography, 1, 0, geography.size), draw(geography, 2, 0, geography.size)
    assert not np.array_equal(one.columns, other.columns)
