"""`make demo-spark`: a census built and served through Spark Connect, compared with a local one.

Starts a Spark Connect server on this machine, builds the same invented census into two stores with
one secret (one keeps the records here, of the other they stay where Spark reads them), asks both
the same questions, says how many figures differ, and serves the second.
"""

from __future__ import annotations

import argparse
import os
import shutil
import socket
import subprocess
import sys
import sysconfig
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from discreet.build import build
from discreet.cli.progress import shown
from discreet.errors import QueryRefused
from discreet.query import Query, Question
from discreet.service.opened import Opened, open_store
from discreet.synth import write

ENGINE = '\n[engine]\nkind = "spark"\nremote = "sc://127.0.0.1:{port}"\n'


@contextmanager
def spark(folder: Path) -> Iterator[int]:
    """Run a Spark Connect server of two threads on this machine; give its port."""
    if shutil.which("java") is None:
        sys.exit("Spark needs Java 17: run make tools, or install openjdk-17-jre-headless.")
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
    home = Path(sysconfig.get_path("purelib")) / "pyspark"
    command = [str(home / "bin" / "spark-submit"), "--master", "local[2]", "--driver-memory", "2g"]
    for name, value in {
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": str(port),
        "spark.sql.shuffle.partitions": "2",
        "spark.ui.enabled": "false",
    }.items():
        command += ["--conf", f"{name}={value}"]
    command += ["--class", "org.apache.spark.sql.connect.service.SparkConnectServer"]
    with (folder / "spark.log").open("wb") as log:
        server = subprocess.Popen(
            [*command, "spark-internal"], stdout=log, stderr=log, cwd=folder,
            env={**os.environ, "SPARK_HOME": str(home)},
        )  # fmt: skip
    try:
        while True:
            if server.poll() is not None:
                sys.exit(f"Spark did not start: see {folder / 'spark.log'}")
            with socket.socket() as caller:
                if caller.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.2)
        yield port
    finally:
        server.kill()
        server.wait()


def make(persons: int, folder: Path, port: int) -> tuple[Path, Path]:
    """Return a store of an invented census here, and one of the same census elsewhere."""
    here, away, drawn = folder / "here", folder / "away", folder / "census"
    with shown() as tell:
        write(persons, drawn, 1, None, lambda done: None)
        build(drawn / "dataset.toml", here, tell)
        away.mkdir(mode=0o700)
        shutil.copy2(here / "secret", away / "secret")
        text = (drawn / "dataset.toml").read_text(encoding="utf-8")
        (drawn / "spark.toml").write_text(text + ENGINE.format(port=port), encoding="utf-8")
        build(drawn / "spark.toml", away, tell)
    return here, away


def figures(opened: Opened, by: list[str]) -> np.ndarray | str:
    """Return the figures of a question, or the code of its refusal."""
    query = Query.parse(by)
    try:
        return opened.releaser.release(Question.of(query, opened.schema)).table.values
    except QueryRefused as refused:
        return refused.code


def compare(here: Path, away: Path, questions: int) -> tuple[int, int, int, int]:
    """Return how many questions were released, went to Spark, their figures, and which differ."""
    one, other = open_store(here, database="sqlite://"), open_store(away, database="sqlite://")
    rng, released, deep, cells, differ = np.random.default_rng(1), 0, 0, 0, 0
    for _ in range(questions):
        variables = rng.permutation(len(one.schema.variables))[: rng.integers(1, 4)]
        chosen = [one.schema.variables[i] for i in variables]
        by = [v.levels[rng.integers(len(v.levels))].id for v in chosen]
        covered = other.engine.covers(Question.of(Query.parse(by), other.schema))
        a, b = figures(one, by), figures(other, by)
        if isinstance(a, str) or isinstance(b, str):
            differ += not (isinstance(a, str) and isinstance(b, str) and a == b)
            continue
        released += 1
        deep += not covered
        cells += a.size
        differ += int((a != b).sum())
    return released, deep, cells, differ


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--persons", type=int, default=3_000_000)
    parser.add_argument("--questions", type=int, default=60)
    parser.add_argument("--folder", type=Path, default=Path("var/demo-spark"))
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--no-serve", action="store_true")
    given = parser.parse_args()
    folder = given.folder.resolve()
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    with spark(folder) as port:
        here, away = make(given.persons, folder, port)
        released, deep, cells, differ = compare(here, away, given.questions)
        print(
            f"{given.questions} questions, {released} of them released with {cells:,} figures, "
            f"{deep} counted by Spark: {differ} differ between the two stores."
        )
        if differ:
            sys.exit(1)
        if not given.no_serve:
            print("Stop with Ctrl-C.")
            program = [sys.executable, "-m", "discreet", "serve", str(away)]
            subprocess.run([*program, "--port", str(given.port)], check=False)


if __name__ == "__main__":
    main()
