"""`make demo-spark`: a census built and served through Spark Connect, compared with a local one.

Starts a Spark Connect server on this machine, builds the same invented census into two stores with
one secret (one keeps the records here, of the other they stay where Spark reads them), asks both
the same questions, some of them beyond the marginal views so that Spark has to count, says how many
figures differ, and serves the second.
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
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import Any

import numpy as np

from discreet.build import build
from discreet.cli.progress import shown
from discreet.errors import QueryRefused
from discreet.query import Query, Question
from discreet.service.opened import Opened, open_store
from discreet.synth import write
from discreet.table import CountTable

ENGINE = '\n[engine]\nkind = "spark"\nremote = "sc://127.0.0.1:{port}"\n'


LARGEST = 2_000_000  # cells of a question


@contextmanager
def spark(folder: Path) -> Iterator[Callable[[], int]]:
    """Run a Spark Connect server of two threads on this machine; give what waits for its port."""
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

    def wait() -> int:
        while server.poll() is None:
            with socket.socket() as caller:
                if caller.connect_ex(("127.0.0.1", port)) == 0:
                    return port
            time.sleep(0.2)
        sys.exit(f"Spark did not start: see {folder / 'spark.log'}")

    try:
        yield wait
    finally:
        server.kill()
        server.wait()


def make(persons: int, folder: Path, wait: Callable[[], int]) -> tuple[Path, Path]:
    """Return a store of an invented census here, and one of the same census elsewhere.

    Spark starts while the first is built.
    """
    here, away, drawn = folder / "here", folder / "away", folder / "census"
    with shown() as tell:
        write(persons, drawn, 1, None, lambda done: None)
        build(drawn / "dataset.toml", here, tell)
        away.mkdir(mode=0o700)
        shutil.copy2(here / "secret", away / "secret")
        text = (drawn / "dataset.toml").read_text(encoding="utf-8")
        (drawn / "spark.toml").write_text(text + ENGINE.format(port=wait()), encoding="utf-8")
        build(drawn / "spark.toml", away, tell)
    return here, away


def opened(store: Path) -> Opened:
    """Return a store open to questions, with a ledger of its own for as long as it is."""
    return open_store(store, database="sqlite://")


def random_questions(of: Opened) -> Iterator[Question]:
    """Yield questions of up to five variables at any level."""
    rng, variables = np.random.default_rng(1), of.schema.variables
    while True:
        chosen = [variables[i] for i in rng.permutation(len(variables))[: rng.integers(1, 6)]]
        by = [v.levels[rng.integers(len(v.levels))].id for v in chosen]
        question = Question.of(Query.parse(by), of.schema)
        if question.cells <= LARGEST:
            yield question


def figures(of: Opened, question: Question) -> np.ndarray | str:
    """Return the figures of a question, or the code of its refusal."""
    try:
        return of.releaser.release(question).table.values
    except QueryRefused as refused:
        return refused.code


@dataclass
class Tally:
    """What was compared: questions, those released, their figures, and what differs."""

    questions: int = 0
    released: int = 0
    beyond: int = 0  # released, and counted by Spark because no view covers them
    figures: int = 0
    differ: int = 0

    def add(self, one: np.ndarray | str, other: np.ndarray | str, covered: bool) -> None:
        """Compare two answers to a question."""
        self.questions += 1
        if isinstance(one, str) or isinstance(other, str):
            self.differ += not (isinstance(one, str) and isinstance(other, str) and one == other)
            return
        self.released += 1
        self.beyond += not covered
        self.figures += one.size
        self.differ += int((one != other).sum()) if one.shape == other.shape else one.size


def compare(one: Opened, other: Opened, questions: int, beyond: int) -> Tally:
    """Return the tally of as many questions, and more until so many are beyond the views."""
    tally, counted = Tally(), watch(other.engine.behind)
    for question in random_questions(one):
        if tally.questions >= questions and other.engine.covers(question):
            continue
        before = counted()
        a, b = figures(one, question), figures(other, question)
        tally.add(a, b, counted() == before)
        if tally.questions >= questions and tally.beyond >= beyond:
            break
        if tally.questions >= 20 * questions:
            sys.exit(f"only {tally.beyond} questions went to Spark.")
    return tally


def watch(engine: Any) -> Callable[[], int]:
    """Return what says how many questions an engine has counted from now on."""
    counted, tabulate = [0], engine.tabulate

    def counting(question: Question, stop: Event | None = None) -> CountTable:
        counted[0] += 1
        table: CountTable = tabulate(question, stop)
        return table

    engine.tabulate = counting
    return lambda: counted[0]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--persons", type=int, default=3_000_000)
    parser.add_argument("--questions", type=int, default=60)
    parser.add_argument("--beyond", type=int, default=20, help="questions that Spark must count")
    parser.add_argument("--folder", type=Path, default=Path("var/demo-spark"))
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--no-serve", action="store_true")
    given = parser.parse_args()
    folder = given.folder.resolve()
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    with spark(folder) as wait:
        here, away = make(given.persons, folder, wait)
        began = time.monotonic()
        with closing(opened(here)) as one, closing(opened(away)) as other:
            tally = compare(one, other, given.questions, given.beyond)
        print(
            f"{tally.questions} questions in {time.monotonic() - began:.0f} s, {tally.released} "
            f"released with {tally.figures:,} figures; {tally.beyond} of them are beyond the views "
            f"and were counted by Spark: {tally.differ} figures differ between the two stores."
        )
        if tally.differ:
            sys.exit(1)
        if not given.no_serve:
            print("Stop with Ctrl-C.")
            program = [sys.executable, "-m", "discreet", "serve", str(away)]
            subprocess.run([*program, "--port", str(given.port)], check=False)


if __name__ == "__main__":
    main()
