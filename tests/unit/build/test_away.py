"""Records built where they are: the same keys, codes and messages as in a build here."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import discreet as dc
from discreet.build import away, build, viewing
from discreet.build.away_source import AwayReader, gathered
from discreet.build.dataset import Dataset
from discreet.errors import Damaged, ParameterError, RecordsUnreachable
from discreet.population import Store
from discreet.population.coded import Coded
from discreet.query import Query, Question
from discreet.service.opened import open_store
from discreet.synth import write
from discreet.tabulate import engine_of
from discreet.tabulate.views import cells_of
from stores import write_town
from tabulations import same

QUESTIONS = ["sex", "ward,age", "district,age_band,health", "rare,ward,sex", "age,health,rare"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A town in two files, out of order, which a store here and one elsewhere are built from."""
    write_town(tmp_path, 3_000)
    people = pq.read_table(tmp_path / "people.parquet")
    people = people.take(np.random.default_rng(5).permutation(len(people)))
    (tmp_path / "people.parquet").unlink()
    pq.write_table(people.slice(0, 1_000), tmp_path / "people-1.parquet")
    pq.write_table(people.slice(1_000), tmp_path / "people-2.parquet")
    text = (tmp_path / "dataset.toml").read_text().replace("people.parquet", "people-*.parquet")
    (tmp_path / "dataset.toml").write_text(text)
    return tmp_path


def change(folder: Path, column: str, row: int, value: Any) -> None:
    """Change a value of the first file."""
    path = folder / "people-1.parquet"
    people = pq.read_table(path)
    values = people.column(column).to_pylist()
    values[row] = value
    changed = pa.array(values, people.schema.field(column).type)
    pq.write_table(people.set_column(people.column_names.index(column), column, changed), path)


def with_the_same_secret(folder: Path) -> Path:
    """Return a new store's folder with the secret of the store here."""
    away = folder / "away"
    away.mkdir(mode=0o700)
    shutil.copy2(folder / "here" / "secret", away / "secret")
    return away


def test_every_count_and_key_sum_is_the_same(folder: Path) -> None:
    build(folder / "dataset.toml", folder / "here")
    build(folder / "dataset.toml", with_the_same_secret(folder), engine="duckdb")
    here, away = Store(folder / "here").open(), Store(folder / "away").open()
    assert away.rows == here.rows == 3_000
    assert here.areas is not None
    assert away.areas is not None
    assert away.areas.tolist() == here.areas.tolist()
    assert not list(away.path.glob("codes.*"))
    for by in QUESTIONS:
        question = Question.of(Query.parse(by), here.schema)
        assert same(engine_of(away).tabulate(question), engine_of(here).tabulate(question)), by


def test_releases_do_not_differ_in_a_figure(folder: Path) -> None:
    build(folder / "dataset.toml", folder / "here")
    build(folder / "dataset.toml", with_the_same_secret(folder), engine="duckdb")
    here, away = open_store(folder / "here"), open_store(folder / "away")
    for by in ("sex,age_band", "district,health"):
        query = Query.parse(by)
        one = here.releaser.release(Question.of(query, here.schema))
        other = away.releaser.release(Question.of(query, away.schema))
        assert np.array_equal(one.table.values, other.table.values)


@pytest.mark.parametrize(
    ("column", "value"), [("sex", 3), ("sex", None), ("id", None), ("ward", None)]
)
def test_bad_values_are_told_as_in_a_build_here(folder: Path, column: str, value: Any) -> None:
    change(folder, column, 7, value)
    with pytest.raises(ParameterError) as here:
        build(folder / "dataset.toml", folder / "here")
    with pytest.raises(ParameterError) as away:
        build(folder / "dataset.toml", folder / "away", engine="duckdb")
    assert str(away.value) == str(here.value)
    assert f"column '{column}'" in str(away.value)
    assert "row 8" in str(away.value)


def test_small_row_groups_are_gathered(folder: Path) -> None:
    # 100 groups of 10 rows and one of 2,000: two files, so two batches, numbered from 1 in each.
    path = folder / "people-1.parquet"
    people = pq.read_table(path)
    pq.write_table(people, path, row_group_size=10)
    reader = AwayReader(Dataset.read(folder / "dataset.toml"), ["id", "sex"])
    batches = list(reader.batches())
    reader.close()
    assert [(batch.first, batch.rows) for batch in batches] == [(1, 1_000), (1, 2_000)]
    assert batches[0].columns["id"].to_pylist() == people.column("id").to_pylist()


def test_batches_are_gathered_up_to_a_size() -> None:
    batches = [pa.record_batch({"v": [i] * 4}) for i in range(5)]
    # 4 + 4 rows reach 8, twice; the last 4 stay alone, and no row is lost.
    found = list(gathered(iter(batches), 8))
    assert [batch.num_rows for batch in found] == [8, 8, 4]
    assert pa.concat_batches(found).equals(pa.concat_batches(batches))


def test_a_build_that_fails_leaves_nothing(folder: Path) -> None:
    change(folder, "sex", 7, 3)
    with pytest.raises(ParameterError):
        build(folder / "dataset.toml", folder / "away", engine="duckdb")
    assert not (folder / "away").exists()
    assert not list(Path(f"{folder}-coded").glob("*"))


def test_an_id_that_occurs_twice_is_refused(folder: Path) -> None:
    twice = pq.read_table(folder / "people-2.parquet").column("id")[0].as_py()
    change(folder, "id", 0, twice)
    with pytest.raises(ParameterError, match="must hold each record id once") as told:
        build(folder / "dataset.toml", folder / "away", engine="duckdb")
    assert repr(str(twice)) in str(told.value)


def test_a_column_that_is_not_there_is_named(folder: Path) -> None:
    text = (folder / "dataset.toml").read_text().replace('record_id = "id"', 'record_id = "no"')
    (folder / "dataset.toml").write_text(text)
    with pytest.raises(ParameterError, match="must have a column 'no'"):
        build(folder / "dataset.toml", folder / "away", engine="duckdb")


def test_the_same_records_are_the_same_edition(folder: Path) -> None:
    build(folder / "dataset.toml", folder / "away", engine="duckdb")
    build(folder / "dataset.toml", folder / "away", engine="duckdb")
    assert Store(folder / "away").open().edition == 1


def test_records_of_an_earlier_program_are_counted_and_compared(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their keys are in halves, where those of records that are written now are whole."""
    with monkeypatch.context() as patch:
        patch.setattr(away, "keeps_whole", lambda kind: False)
        build(folder / "dataset.toml", folder / "away", engine="duckdb")
    before = Store(folder / "away").open()
    build(folder / "dataset.toml", folder / "away", engine="duckdb")
    now = Store(folder / "away").open()
    assert before.elsewhere is not None
    assert now.elsewhere is not None
    assert (before.elsewhere.whole_keys, now.elsewhere.whole_keys) == (False, True)
    assert now.edition == 1
    for by in QUESTIONS:
        question = Question.of(Query.parse(by), now.schema)
        assert same(engine_of(before).tabulate(question), engine_of(now).tabulate(question)), by
    dc.open(folder / "away").release("sex")
    change(folder, "sex", 0, 3 - pq.read_table(folder / "people-1.parquet")["sex"][0].as_py())
    with pytest.raises(ParameterError, match=r"Here\s+2 differ"):
        build(folder / "dataset.toml", folder / "away", engine="duckdb")


def test_keys_are_written_as_they_are(folder: Path) -> None:
    build(folder / "dataset.toml", folder / "away", engine="duckdb")
    group = pq.ParquetFile(next(coded_folder(folder / "away").iterdir())).metadata.row_group(0)
    columns = {group.column(i).path_in_schema: group.column(i) for i in range(group.num_columns)}
    assert "key_low" not in columns
    key = columns["record_key"]
    assert (key.physical_type, key.compression, key.has_dictionary_page) == (
        "INT32",
        "UNCOMPRESSED",
        False,
    )
    assert columns["v_sex"].has_dictionary_page


def test_too_few_changes_are_refused_and_many_are_a_new_edition(folder: Path) -> None:
    build(folder / "dataset.toml", folder / "away", engine="duckdb")
    dc.open(folder / "away").release("sex")
    before = pq.read_table(folder / "people-1.parquet")
    change(folder, "sex", 0, 3 - before.column("sex")[0].as_py())
    # One record that changed counts twice: as left and come.
    with pytest.raises(ParameterError, match=r"Here\s+2 differ"):
        build(folder / "dataset.toml", folder / "away", engine="duckdb")
    flipped = pc.subtract(pa.scalar(3, before.column("sex").type), before.column("sex"))
    place = before.column_names.index("sex")
    pq.write_table(before.set_column(place, "sex", flipped), folder / "people-1.parquet")
    build(folder / "dataset.toml", folder / "away", engine="duckdb")
    assert Store(folder / "away").open().edition == 2


def test_a_store_does_not_change_its_engine_unnoticed(folder: Path) -> None:
    build(folder / "dataset.toml", folder / "here")
    with pytest.raises(ParameterError, match="cannot be compared"):
        build(folder / "dataset.toml", folder / "here", engine="duckdb")
    assert Store(folder / "here").open().elsewhere is None


def test_old_versions_take_their_records_with_them(folder: Path) -> None:
    for _ in range(3):
        build(folder / "dataset.toml", folder / "away", engine="duckdb", keep=2)
    kept = {path.name for path in (folder / "away" / "versions").iterdir()}
    assert {path.name for path in Path(f"{folder}-coded").iterdir()} == kept
    assert len(kept) == 2


def test_records_that_were_changed_are_not_counted(folder: Path) -> None:
    build(folder / "dataset.toml", folder / "away", engine="duckdb")
    version = Store(folder / "away").open()
    assert version.elsewhere is not None
    next(Path(version.elsewhere.coded).glob("*.parquet")).unlink()
    with pytest.raises(Damaged):
        engine_of(version).tabulate(Question.of(Query.parse("sex"), version.schema))


def modes(path: Path) -> int:
    return path.stat().st_mode & 0o777


def coded_folder(store: Path) -> Path:
    """Return the folder of the coded records of a store."""
    elsewhere = Store(store).open().elsewhere
    assert elsewhere is not None
    return Path(elsewhere.coded)


def spoil(path: Path) -> None:
    """Change a byte of a file in its middle: its size and its time stay."""
    before, raw = path.stat(), bytearray(path.read_bytes())
    raw[len(raw) // 2] ^= 1
    path.write_bytes(raw)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def test_only_the_owner_can_read_coded_records(folder: Path) -> None:
    umask = os.umask(0o022)
    try:
        build(folder / "dataset.toml", folder / "away", engine="duckdb")
    finally:
        os.umask(umask)
    coded = coded_folder(folder / "away")
    assert modes(coded) == modes(coded.parent) == 0o700
    assert {modes(path) for path in coded.iterdir()} == {0o600}


def test_a_folder_that_is_an_address_of_this_machine_is_guarded_too(folder: Path) -> None:
    path, coded = folder / "dataset.toml", folder / "coded here"
    engine = f'[engine]\nkind = "duckdb"\ncoded = "file://{coded}"\n[variables.sex]'
    path.write_text(path.read_text().replace("[variables.sex]", engine))
    build(path, folder / "away")
    assert modes(coded) == modes(coded_folder(folder / "away")) == 0o700


def test_csv_is_refused_in_a_sentence(folder: Path) -> None:
    path = folder / "dataset.toml"
    path.write_text(path.read_text().replace("people-*.parquet", "people.csv"))
    (folder / "people.csv").write_text("id,sex\n1,1\n")
    with pytest.raises(ParameterError, match=r"reads Parquet\. people\.csv is CSV"):
        build(path, folder / "away", engine="duckdb")


def test_a_file_that_is_no_parquet_is_refused_in_a_sentence(folder: Path) -> None:
    (folder / "people-1.parquet").write_text("id,sex\n1,1\n")
    with pytest.raises(ParameterError, match="must be Parquet files"):
        build(folder / "dataset.toml", folder / "away", engine="duckdb")


def test_a_file_is_called_what_the_description_calls_it(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    change(folder, "sex", 7, 3)
    monkeypatch.chdir(folder)
    with pytest.raises(ParameterError) as told:
        build(Path("dataset.toml"), Path("away"), engine="duckdb")
    assert "people-1.parquet" in str(told.value)
    assert str(folder) not in str(told.value)


def test_a_changed_byte_is_found_before_the_first_answer(folder: Path) -> None:
    """Names, sizes and times are as they were: only the checksum tells."""
    build(folder / "dataset.toml", folder / "away", engine="duckdb")
    spoil(next(coded_folder(folder / "away").iterdir()))
    version = Store(folder / "away").open()
    question = Question.of(Query.parse("sex"), version.schema)
    with pytest.raises(Damaged, match="not as it was written"):
        engine_of(version).tabulate(question)
    with pytest.raises(Damaged):  # and nothing more is read
        version.guard.check()


def test_a_file_that_changes_later_is_found_too(folder: Path) -> None:
    build(folder / "dataset.toml", folder / "away", engine="duckdb")
    version = Store(folder / "away").open()
    question, counting = Question.of(Query.parse("sex"), version.schema), engine_of(version)
    counting.tabulate(question)
    path = next(coded_folder(folder / "away").iterdir())
    spoil(path)
    os.utime(path)
    with pytest.raises(Damaged, match="not as it was written"):
        counting.tabulate(question)


def test_a_copy_that_was_put_back_is_counted(folder: Path) -> None:
    build(folder / "dataset.toml", folder / "away", engine="duckdb")
    version, coded = Store(folder / "away").open(), coded_folder(folder / "away")
    question, counting = Question.of(Query.parse("sex"), version.schema), engine_of(version)
    expected = counting.tabulate(question)
    shutil.copytree(coded, folder / "copy")
    shutil.rmtree(coded)
    with pytest.raises(RecordsUnreachable) as told:
        counting.tabulate(question)
    assert "not there" in told.value.reason
    assert "Build again" not in told.value.reason
    shutil.copytree(folder / "copy", coded, copy_function=shutil.copyfile)
    assert same(counting.tabulate(question), expected)


def test_files_in_other_storage_are_read_when_their_time_changed(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What cannot be read in passing is compared by size and time, and read when asked to."""
    build(folder / "dataset.toml", folder / "away", engine="duckdb")
    monkeypatch.setattr(Coded, "local", property(lambda self: False))
    elsewhere = Store(folder / "away").open().elsewhere
    assert elsewhere is not None
    path = next(Path(elsewhere.coded).iterdir())
    spoil(path)
    elsewhere.verify()
    with pytest.raises(Damaged):
        elsewhere.verify(everything=True)
    os.utime(path)
    with pytest.raises(Damaged):
        elsewhere.verify()


def test_the_secret_is_in_nothing_that_leaves_the_store(folder: Path) -> None:
    build(folder / "dataset.toml", folder / "away", engine="duckdb")
    secret = (folder / "away" / "secret").read_bytes().strip()
    version = Store(folder / "away").open()
    assert version.elsewhere is not None
    for path in Path(version.elsewhere.coded).iterdir():
        raw = path.read_bytes()
        assert secret not in raw
        assert bytes.fromhex(secret.decode()) not in raw
    assert secret.decode() not in json.dumps(version.manifest)


@pytest.mark.parametrize(
    ("engine", "text"),
    [
        ('kind = "spark"', "needs the address"),
        ('kind = "duckdb"\ntable = "people"', "reads Parquet"),
        ('kind = "duckdb"\ntable = "a"\npath = "b"', "not both"),
        ('kind = "presto"', "Choices: scan, duckdb, spark"),
        ('kind = "duckdb"\nhost = "x"', "host"),
    ],
)
def test_engines_that_cannot_be(folder: Path, engine: str, text: str) -> None:
    path = folder / "dataset.toml"
    path.write_text(
        path.read_text().replace("[variables.sex]", f"[engine]\n{engine}\n[variables.sex]")
    )
    with pytest.raises(ParameterError, match=text):
        build(path, folder / "away")


def test_a_hypercube_is_built_here(folder: Path) -> None:
    path = folder / "dataset.toml"
    path.write_text(path.read_text().replace('record_id = "id"', 'count = "id"'))
    with pytest.raises(ParameterError, match="a hypercube is built on this machine"):
        build(path, folder / "away", engine="duckdb")


@pytest.mark.parametrize("small", [2**16, 0], ids=["one by one", "together"])
def test_views_that_are_added_up_in_passing_are_those_of_a_build_here(
    tmp_path: Path, small: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the synthetic census files say what areas lie in, so that views need no engine."""
    monkeypatch.setattr(viewing, "SMALL", small)
    monkeypatch.setattr(viewing, "TOGETHER", 700)
    write(2_000, tmp_path / "census", 1, 1, lambda done: None)
    build(tmp_path / "census" / "dataset.toml", tmp_path / "here", views=2**19)
    (tmp_path / "away").mkdir(mode=0o700)
    shutil.copy2(tmp_path / "here" / "secret", tmp_path / "away" / "secret")
    build(tmp_path / "census" / "dataset.toml", tmp_path / "away", views=2**19, engine="duckdb")
    here, away = Store(tmp_path / "here").open(), Store(tmp_path / "away").open()
    names = sorted(path.name for path in here.views.iterdir())
    assert sorted(path.name for path in away.views.iterdir()) == names
    assert len(names) > 10
    for name in names:
        cells = cells_of(here, here.views / name)
        assert np.array_equal(cells_of(away, away.views / name), cells), name
