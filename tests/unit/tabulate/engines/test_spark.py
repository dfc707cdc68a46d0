"""Spark Connect servers count, build and fail as they should: Spark on Java, and pysail.

A server takes long to start, so that each is started once, for one test.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event, Thread

import numpy as np
import pyarrow.parquet as pq
import pytest

import discreet as dc
from clusters import Cluster, Watched, counted_by, put_elsewhere, sail, spark, watched
from discreet.build import away_source, build
from discreet.errors import EngineUnavailable, ParameterError, Stopped
from discreet.population import Store, Version
from discreet.population.keys import Secret, digest
from discreet.query import Query, Question
from discreet.service.opened import open_store
from discreet.tabulate import PushDown, ScanEngine, ViewEngine, engine_of
from discreet.tabulate.engines.spark import SparkRunner
from populations import ask, make_version
from questions import random_questions
from servers import running
from stores import write_town
from tabulations import same

PEOPLE = 30_000
QUESTIONS = 200
SOME = 60  # of them for pysail, which takes a tenth of a second for each
FEW = 10  # and for Spark, which takes half a second; benchmarks/engines.py asks both more

FILES = 8
# Two executors of one thread, and one task for each file.
EXECUTORS = (
    "--master", "local-cluster[2,1,1024]",
    "--conf", "spark.executor.memory=512m",
    "--conf", "spark.executor.extraJavaOptions=-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "--conf", f"spark.sql.files.maxPartitionBytes={2**16}",
    "--conf", f"spark.sql.files.openCostInBytes={2**16}",
)  # fmt: skip

BUDGET = 400 * 8
# Their views have 2 x 80, 4 x 5, 40 x 2 and 80 x 5 cells: never do all of them fit into the budget.
ASKED = ("sex,age_band", "district,health", "ward,sex", "age_band,health")


@pytest.fixture(scope="module")
def version() -> Version:
    return make_version(np.random.default_rng(11), PEOPLE, [2, 90, 300, 5], [60, 7, 2])


@pytest.mark.slow
def test_scan_views_duckdb_and_pysail_agree(version: Version, tmp_path: Path) -> None:
    away = put_elsewhere(version, tmp_path / "coded")
    with sail(tmp_path / "sail") as cluster:
        scan = ScanEngine(version)
        duck, distant = engine_of(away), engine_of(counted_by(away, "spark", cluster.remote))
        for i, question in enumerate(random_questions(version.schema, QUESTIONS, 1)):
            counted = scan.tabulate(question)
            for engine in (ViewEngine(version, scan), duck, *([distant] if i < SOME else [])):
                assert same(engine.tabulate(question), counted), question.canonical
        duck.close()
        distant.close()


@pytest.mark.slow
def test_spark(version: Version, tmp_path: Path) -> None:
    away = put_elsewhere(version, tmp_path / "coded")
    with spark(tmp_path / "spark") as cluster:
        engine = engine_of(counted_by(away, "spark", cluster.remote))
        _agrees(version, engine)
        engine.close()
        _sums_do_not_wrap(cluster, tmp_path / "coded")
        _is_stopped_there_when_it_is_here(cluster, tmp_path / "coded")
        _builds_the_same(cluster, tmp_path)
        _reads_tables(cluster, tmp_path)
        _is_lost(cluster, tmp_path)


@pytest.mark.slow
def test_a_killed_executor_changes_nothing(version: Version, tmp_path: Path) -> None:
    """Two executors in processes of their own; one is killed in the middle of a question."""
    away = put_elsewhere(version, tmp_path / "coded", parts=FILES)
    with spark(tmp_path / "spark", *EXECUTORS) as cluster:
        engine = engine_of(counted_by(away, "spark", cluster.remote))
        engine.reach()
        while len(cluster.executors()) < 2:
            time.sleep(0.05)
        before = len(cluster.started())
        question = ask(version, "a,b")  # nothing is joined: every task reads a file
        with ThreadPoolExecutor(1) as pool:
            asked = pool.submit(engine.tabulate, question)
            while len(started := cluster.started()) <= before:
                time.sleep(0.02)
            cluster.executors()[started[-1]].kill()
            assert not asked.done()
            assert same(asked.result(), ScanEngine(version).tabulate(question))
        engine.close()
        # What the executor did, or had done, was done again: by a second attempt.
        log = cluster.log.read_text(errors="replace")
        assert f"Lost executor {started[-1]} " in log
        assert re.search(r"Starting task (\d+\.[1-9]|\S+ in stage \d+\.[1-9])", log)


def _agrees(version: Version, engine: ScanEngine | PushDown) -> None:
    scan = ScanEngine(version)
    for question in random_questions(version.schema, FEW, 1):
        assert same(engine.tabulate(question), scan.tabulate(question)), question.canonical


def _sums_do_not_wrap(cluster: Cluster, coded: Path) -> None:
    runner = SparkRunner(cluster.remote, {"records": str(coded)})
    # Two halves of 10^10 records each: 6.6 · 10^14 a half, and 2^63 raises instead of wrapping.
    half = f"CAST({10**10 * 0xFFFF} AS BIGINT)"
    rows = runner.run(f"SELECT SUM(v) AS v FROM (VALUES ({half}), ({half})) AS t(v)", {}, None)
    assert rows.column("v").to_pylist() == [2 * 10**10 * 0xFFFF]
    with pytest.raises(EngineUnavailable) as told:
        runner.run(f"SELECT SUM(v) FROM (VALUES ({2**63 - 1}), (1)) AS t(v)", {}, None)
    assert "OVERFLOW" in told.value.reason
    runner.close()


def _is_stopped_there_when_it_is_here(cluster: Cluster, coded: Path) -> None:
    runner = SparkRunner(cluster.remote, {"records": str(coded)})
    stop = Event()
    Thread(target=lambda: (time.sleep(1), stop.set())).start()
    # Tasks look at whether they are cancelled between rows of a range, as between rows of a file.
    # (Not so between the rows of a cross join, whose tasks would go on for minutes.)
    endless = f"SELECT COUNT(*) AS n FROM range({10**15})"
    with pytest.raises(Stopped):
        runner.run(endless, {}, stop)
    # The two threads of the cluster are free again: the next question is answered.
    rows = runner.run("SELECT COUNT(*) AS n FROM records", {}, None)
    assert rows.column("n").to_pylist() == [PEOPLE]
    runner.close()


def _with_the_secret(store: Path) -> Path:
    """Return the folder of a new store with the secret of these tests.

    With some secrets a rule that looks at protected counts refuses wards by sex; not with this one.
    """
    store.mkdir(mode=0o700)
    Secret(hashlib.blake2b(b"town", digest_size=32).digest()).write(store / "secret")
    return store


def _builds_the_same(cluster: Cluster, folder: Path) -> None:
    """The same figures, the same messages, and the secret nowhere but in the store."""
    town = write_town(folder / "town", 3_000)
    _with_the_secret(folder / "here")
    build(town, folder / "here", views=0)
    text = town.read_text().replace(
        "[variables.sex]", f'[engine]\nkind = "spark"\nremote = "{cluster.remote}"\n[variables.sex]'
    )
    town.write_text(text)
    away = _with_the_secret(folder / "away")
    with watched() as seen:
        build(town, away, views=BUDGET)
        one, other = dc.open(folder / "here"), dc.open(away)
        for by in ("sex,age_band", "district,health", "ward,sex"):
            assert np.array_equal(one.release(by).table.values, other.release(by).table.values), by
        question = Question.of(Query.parse("rare,ward,age"), open_store(away).schema)
        here = ScanEngine(Store(folder / "here").open())
        assert same(engine_of(Store(away).open()).tabulate(question), here.tabulate(question))
    _tells_bad_values_alike(folder, text)
    _keeps_the_secret(cluster, folder, seen)


def _keeps_the_secret(cluster: Cluster, folder: Path, seen: Watched) -> None:
    """Neither the secret nor what keys are cut from is in anything that Spark was told or has."""
    secret = Secret.read(folder / "away" / "secret")
    people = pq.read_table(folder / "town" / "people.parquet", columns=["id"]).column("id")
    forbidden = traces(secret, [str(one).encode() for one in people.to_pylist()[:200]])
    log = cluster.log.read_bytes()
    # What is looked through is what it should be: each holds something of the questions.
    assert b"parquet" in log
    assert any("GROUP BY" in query for query in seen.queries)
    assert len(seen.plans) == len(seen.queries)
    assert any("== Physical Plan ==" in plan and "key_low" in plan for plan in seen.plans)
    assert any(b"key_low" in request for request in seen.requests)
    assert any("spark.sql.ansi.enabled" in setting for setting in seen.settings)
    coded = list((folder / "town-coded").rglob("*.parquet"))
    assert coded
    files = b"".join(path.read_bytes() for path in coded)
    manifest = json.dumps(Store(folder / "away").open().manifest["engine"]).encode()
    for place in (seen.everything, log, files, manifest):
        for trace in forbidden:
            assert trace not in place
    for path in coded:
        columns = set(pq.read_schema(path).names)
        assert columns == {"v_sex", "v_age", "v_health", "v_rare", "area", "key_low", "key_high"}
    told = seen.everything.lower()
    for word in (b"blake2", b"digest", b"discreet record"):
        assert word not in told, word


def traces(secret: Secret, ids: list[bytes]) -> list[bytes]:
    """Return the secret, what is derived from it and digests of ids, as they would be written.

    Keys themselves lie with the records: they are the low half of a digest. The whole digest, from
    which nothing but the secret can make it, is not to be anywhere.
    """
    raw = [secret.value, bytes.fromhex(secret.fingerprint())]
    raw += [digest(secret, one).to_bytes(8, "little") for one in ids]
    numbers = [str(digest(secret, one)).encode() for one in ids]
    found = [form for one in raw for form in (one, one[::-1], one.hex().encode())]
    return [*found, base64.b64encode(secret.value), repr(secret.value).encode(), *numbers]


def test_traces_are_found() -> None:
    """The look for a secret finds one that is there: in bytes, in digits, and by its digests."""
    secret = Secret(bytes(range(32)))
    forbidden = traces(secret, [b"7"])
    hashed = hashlib.blake2b(b"7", digest_size=8, key=bytes(range(32)), person=b"discreet record\0")
    for said in (bytes(range(32)), bytes(range(32)).hex().encode(), hashed.digest()):
        assert any(trace in b"SELECT " + said + b" FROM" for trace in forbidden)
    assert not any(trace in b"SELECT 1" for trace in forbidden)


def _tells_bad_values_alike(folder: Path, text: str) -> None:
    town = folder / "town" / "bad.toml"
    town.write_text(text.replace('1 = "Male", 2 = "Female"', '1 = "Male"'))
    with pytest.raises(ParameterError) as here:
        build(town, folder / "bad", engine="scan")
    with pytest.raises(ParameterError) as away:
        build(town, folder / "bad")
    assert str(away.value) == str(here.value)
    assert "not a category of 'sex'" in str(away.value)


def _reads_tables(cluster: Cluster, folder: Path) -> None:
    runner = SparkRunner(cluster.remote, {"people": str(folder / "town" / "people.parquet")})
    runner.run("CREATE TABLE IF NOT EXISTS census USING parquet AS SELECT * FROM people", {}, None)
    runner.close()
    text = (folder / "town" / "dataset.toml").read_text()
    text = text.replace('files = "people.parquet", ', "")
    coded = folder / "table-coded"
    text = text.replace("[engine]\n", f'[engine]\ntable = "census"\ncoded = "{coded}"\n')
    (folder / "town" / "table.toml").write_text(text)
    away = _with_the_secret(folder / "away-table")
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(away_source, "CHUNK", 1_000)  # so that the table comes in four shares
        build(folder / "town" / "table.toml", away, views=0)
    one, other = dc.open(folder / "here"), dc.open(away)
    by = "sex,age_band,district"
    assert np.array_equal(one.release(by).table.values, other.release(by).table.values)


def _is_lost(cluster: Cluster, folder: Path) -> None:
    """Covered questions go on; others are refused for now, without an address or a count."""
    opened = open_store(folder / "away")
    covers = {by: opened.engine.covers(Question.of(Query.parse(by), opened.schema)) for by in ASKED}
    opened.close()
    covered = next(by for by in ASKED if covers[by])
    deeper = next(by for by in ASKED if not covers[by])
    with running([folder / "away"], folder / "server") as server:
        table = "/api/v1/datasets/town/table?by="
        cluster.stop()
        before = server.get(table + covered)
        assert before.status_code == 200
        lost = server.get(table + deeper)
        assert lost.status_code == 503
        assert int(lost.headers["Retry-After"]) > 0
        assert lost.json()["error"]["code"] == "UNAVAILABLE"
        assert str(cluster.port) not in lost.text
        assert "127.0.0.1" not in lost.text
        assert server.get(table + covered).content == before.content
