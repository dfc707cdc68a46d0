"""Spark Connect servers in processes of their own, and coded records that they count."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import sysconfig
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.population import Version
from discreet.population.coded import AREA, HIGH, KEY, LOW, Elsewhere, column_of
from discreet.tabulate.engines import spark as sessions

_SERVER = "org.apache.spark.sql.connect.service.SparkConnectServer"
_EXECUTOR = "org.apache.spark.executor.CoarseGrainedExecutorBackend"
_PATIENCE = 600.0  # seconds in which a server must have started, on a machine that does other work


def free_port() -> int:
    """Return a port that nobody listens on."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


@dataclass
class Cluster:
    """A server that listens, its address and what it says."""

    process: subprocess.Popen[bytes]
    port: int
    log: Path

    @property
    def remote(self) -> str:
        return f"sc://127.0.0.1:{self.port}"

    def started(self) -> list[str]:
        """Return the executor of every task that was started, by the log."""
        log = self.log.read_text(errors="replace")
        return re.findall(r"Starting task .*executor (\d+),", log)

    def executors(self) -> dict[str, psutil.Process]:
        """Return the executors that are processes of their own, by their ids."""
        found = {}
        for one in psutil.Process(self.process.pid).children(recursive=True):
            with suppress(psutil.Error):  # one that has just ended
                words = one.cmdline()
                if _EXECUTOR in words:
                    found[words[words.index("--executor-id") + 1]] = one
        return found

    def stop(self) -> None:
        """End the server as a power cut would, and its executors with it."""
        executors = self.executors() if self.process.poll() is None else {}
        self.process.kill()
        self.process.wait()
        for one in executors.values():
            with suppress(psutil.NoSuchProcess):
                one.kill()


def spark_command(port: int, folder: Path, *more: str) -> list[str]:
    """Return the command that runs a Spark Connect server with two executor threads."""
    home = Path(sysconfig.get_path("purelib")) / "pyspark"
    settings = {
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": str(port),
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.codegen.wholeStage": "false",
        "spark.local.dir": str(folder / "local"),
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
    }
    given = [part for key, value in settings.items() for part in ("--conf", f"{key}={value}")]
    return [
        str(home / "bin" / "spark-submit"), "--master", "local[2]", "--driver-memory", "1g",
        # Small questions end before much compiling would pay.
        "--driver-java-options", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        *given, *more, "--class", _SERVER, "spark-internal",
    ]  # fmt: skip


@contextmanager
def running(command: list[str], port: int, folder: Path) -> Iterator[Cluster]:
    """Run a server until it is not needed any more."""
    folder.mkdir(parents=True, exist_ok=True)
    log = folder / "server.log"
    home = str(_home(folder / "home"))
    # Python 3's own of this environment, and Java's logs in the file with all else.
    env = {**os.environ, "SPARK_HOME": home, "PYSPARK_PYTHON": sys.executable}
    env["SPARK_LOCAL_IP"] = "127.0.0.1"
    with log.open("wb") as out:
        process = subprocess.Popen(command, stdout=out, stderr=out, cwd=folder, env=env)
    cluster = Cluster(process, port, log)
    try:
        _wait(cluster)
        yield cluster
    finally:
        cluster.stop()


def _home(folder: Path) -> Path:
    """Return a home of Spark that is its package's, but for what executors write into it."""
    folder.mkdir()
    for path in (Path(sysconfig.get_path("purelib")) / "pyspark").iterdir():
        if path.name != "work":
            (folder / path.name).symlink_to(path)
    return folder


def _wait(cluster: Cluster) -> None:
    end = time.monotonic() + _PATIENCE
    while time.monotonic() < end:
        assert cluster.process.poll() is None, cluster.log.read_text()[-2000:]
        with socket.socket() as caller:
            if caller.connect_ex(("127.0.0.1", cluster.port)) == 0:
                return
        time.sleep(0.1)
    raise AssertionError(f"no server: {cluster.log.read_text()[-2000:]}")


@contextmanager
def spark(folder: Path, *more: str) -> Iterator[Cluster]:
    """Run Spark on Java."""
    port = free_port()
    with running(spark_command(port, folder, *more), port, folder) as cluster:
        yield cluster


@contextmanager
def sail(folder: Path) -> Iterator[Cluster]:
    """Run pysail, which speaks Spark Connect without Java."""
    port = free_port()
    program = str(Path(sysconfig.get_path("scripts")) / "sail")
    command = [program, "spark", "server", "--ip", "127.0.0.1", "--port", str(port)]
    with running(command, port, folder) as cluster:
        yield cluster


@dataclass(frozen=True)
class Watched:
    """All that Spark was told, and how it planned to answer."""

    requests: list[bytes] = field(default_factory=list)
    queries: list[str] = field(default_factory=list)
    plans: list[str] = field(default_factory=list)
    settings: list[str] = field(default_factory=list)

    @property
    def everything(self) -> bytes:
        text = "\n".join([*self.queries, *self.plans, *self.settings])
        return b"\n".join([*self.requests, text.encode()])

    def watch(self, session: Any) -> Any:
        """Keep what goes through a session: every message of the protocol, queries and plans."""
        session.client._stub = _Stub(session.client._stub, self.requests)
        plain = session.sql

        def sql(query: str) -> Any:
            frame = plain(query)
            self.queries.append(query)
            self.plans.append(frame._explain_string(extended=True))
            return frame

        session.sql = sql
        self.settings.append(str(session.conf.getAll))
        return session


class _Stub:
    """Calls of the protocol, their requests kept."""

    def __init__(self, stub: Any, requests: list[bytes]) -> None:
        self._calls, self._requests = stub, requests

    def __getattr__(self, name: str) -> Any:
        call = getattr(self._calls, name)

        def kept(request: Any, *given: Any, **named: Any) -> Any:
            if hasattr(request, "SerializeToString"):
                self._requests.append(request.SerializeToString())
            return call(request, *given, **named)

        return kept


@contextmanager
def watched() -> Iterator[Watched]:
    """Watch every session with a Spark Connect server that is opened from now on."""
    seen, connect = Watched(), sessions._connect
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(sessions, "_connect", lambda remote: seen.watch(connect(remote)))
        yield seen


def coded_table(version: Version, whole: bool = False) -> pa.Table:
    """Return the records of a version as coded records, in no order, with halves of keys or whole.

    DuckDB counted halves in stores of earlier programs.
    """
    columns = {
        column_of(v.id): version.column(v).astype(np.int16 if len(v.finest) <= 255 else np.int32)
        for v in version.schema.columns
    }
    if version.areas is not None:
        areas = np.arange(len(version.areas) - 1, dtype=np.int32)
        columns[AREA] = np.repeat(areas, np.diff(version.areas))
    if whole:
        columns[KEY] = version.keys
    else:
        columns[LOW] = (version.keys & np.uint32(0xFFFF)).astype(np.int32)
        columns[HIGH] = (version.keys >> np.uint32(16)).astype(np.int32)
    return pa.table(columns).take(np.random.default_rng(1).permutation(version.rows))


def put_elsewhere(version: Version, folder: Path, parts: int = 3, whole: bool = False) -> Version:
    """Write the records of a version to Parquet files; return it without them."""
    table = coded_table(version, whole)
    folder.mkdir(parents=True)
    edges = np.linspace(0, len(table), parts + 1).astype(int)
    for i in range(parts):
        part = table.slice(edges[i], edges[i + 1] - edges[i])
        pq.write_table(part, folder / f"part-{i}.parquet")
    files = {path.name: path.stat().st_size for path in folder.iterdir()}
    said = {"kind": "duckdb", "coded": str(folder), "remote": None, "files": files}
    said |= {"whole_keys": True} if whole else {}
    manifest = {**version.manifest, "engine": said, "rows": version.rows, "files": {}}
    return replace(version, manifest=manifest)


def counted_by(version: Version, kind: str, remote: str) -> Version:
    """Return a version whose records are elsewhere, counted by another engine."""
    assert version.elsewhere is not None
    said = {**version.manifest["engine"], "kind": kind, "remote": remote}
    assert Elsewhere(**said)
    return replace(version, manifest={**version.manifest, "engine": said})
