"""DuckDB over coded records in object storage, through PyArrow's file systems and an S3 server."""

from __future__ import annotations

import shutil
import subprocess
import sysconfig
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from pyarrow import fs

import discreet as dc
from clusters import free_port, running
from discreet.build import build
from discreet.errors import Damaged, EngineUnavailable
from discreet.population import Store
from discreet.population.coded import Coded, Elsewhere
from discreet.tabulate import engine_of
from questions import random_questions
from stores import write_town
from tabulations import same

Storage = tuple[str, subprocess.Popen[bytes]]


@pytest.fixture
def storage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """A server of object storage with a bucket; the options of its addresses."""
    port = free_port()
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "a")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "b")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    program = str(Path(sysconfig.get_path("scripts")) / "moto_server")
    command = [program, "-H", "127.0.0.1", "-p", str(port)]
    with running(command, port, tmp_path / "storage") as server:
        options = f"?endpoint_override=127.0.0.1:{port}&scheme=http&region=us-east-1"
        system, _ = fs.FileSystem.from_uri(f"s3://census{options}&allow_bucket_creation=true")
        system.create_dir("census")
        yield options, server.process


def test_folders_of_addresses_keep_their_options() -> None:
    folder = Coded("s3://census/people?region=x")
    assert folder.beside("-coded").child("v1").address == "s3://census/people-coded/v1?region=x"
    assert not folder.local
    assert Coded("/data/people").beside("-coded").address == "/data/people-coded"


@pytest.mark.slow
def test_records_in_object_storage_are_built_and_counted_as_here(
    tmp_path: Path, storage: Storage
) -> None:
    options, server = storage
    town = write_town(tmp_path / "town", 3_000)
    build(town, tmp_path / "here", views=0)
    original = f"s3://census/people{options}"
    system, path = fs.FileSystem.from_uri(original)
    people = pq.read_table(tmp_path / "town" / "people.parquet")
    for i in range(2):
        pq.write_table(people.slice(1_500 * i, 1_500), f"{path}/p{i}.parquet", filesystem=system)
    text = town.read_text().replace('files = "people.parquet", ', "")
    engine = f'[engine]\nkind = "duckdb"\npath = "{original}"\n[variables.sex]'
    town.write_text(text.replace("[variables.sex]", engine))
    (tmp_path / "away").mkdir(mode=0o700)
    shutil.copy2(tmp_path / "here" / "secret", tmp_path / "away" / "secret")
    build(town, tmp_path / "away", views=3 * 80 * 40 * 8)
    here, away = Store(tmp_path / "here").open(), Store(tmp_path / "away").open()
    assert away.elsewhere is not None
    assert away.elsewhere.coded.startswith("s3://census/people-coded/")
    counting = engine_of(away)
    for question in random_questions(here.schema, 20, 3):
        assert same(counting.tabulate(question), engine_of(here).tabulate(question))
    by = "sex,age_band"
    figures = dc.open(tmp_path / "away").release(by).table.values
    assert np.array_equal(figures, dc.open(tmp_path / "here").release(by).table.values)
    _damage_is_found(away.elsewhere)
    server.kill()
    server.wait()
    with pytest.raises(EngineUnavailable):
        engine_of(away).tabulate(random_questions(here.schema, 1, 3)[0])


def _damage_is_found(elsewhere: Elsewhere) -> None:
    """Every file has the checksum that was kept of it, and one with another byte has not."""
    elsewhere.verify(everything=True)
    system, folder = Coded(elsewhere.coded).place()
    (name,) = elsewhere.files
    with system.open_input_stream(f"{folder}/{name}") as file:
        raw = bytearray(file.read())
    raw[len(raw) // 2] ^= 1
    with system.open_output_stream(f"{folder}/{name}") as file:
        file.write(bytes(raw))
    with pytest.raises(Damaged):
        elsewhere.verify(everything=True)
