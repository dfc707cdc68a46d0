"""Methods on records in a study: read once, protected anew for every draw, counted as asked."""

from __future__ import annotations

import copy
import shutil
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.build.dataset import Dataset
from discreet.build.ingest import Ingest, wanted
from discreet.build.protecting import apply_steps
from discreet.build.raw import Raw
from discreet.build.source import Reader
from discreet.build.steps import BaseStep, CubeStep, Step
from discreet.population.keys import Secret
from discreet.progress import silent
from discreet.query import Query, Question
from discreet.study.model import Table
from discreet.types import Integers


@dataclass(frozen=True, eq=False)
class Drawn:
    """Tables of protected records; `kept` counts the records of each cell that nobody touched.

    None where records were replaced, so that none is the same as before.
    """

    tables: list[Integers]
    kept: list[Integers] | None


class Records:
    """The records of a data set as some steps need them: read once, copied for each draw."""

    def __init__(self, description: Path, steps: tuple[Step, ...]) -> None:
        self.steps = steps
        self._folder = TemporaryDirectory()
        base = Path(self._folder.name) / "read"
        base.mkdir()
        dataset = replace(Dataset.read(description), protect=steps)
        secret = Secret(bytes(32))  # of a study, of which nothing is released
        with closing(Reader(dataset.source, wanted(dataset), base)) as reader:
            self._ingest = Ingest(dataset, reader, secret, base)
            with closing(self._ingest):
                self._ingest.read(silent)
                self._ingest.check()
        self._raw = Raw(self._ingest)
        self._before = _finest(self._raw)

    def close(self) -> None:
        """Remove the folder."""
        self._folder.cleanup()

    def draw(self, tables: Sequence[Table], secret: bytes) -> Drawn:
        """Return the tables after the steps, which take all chance from the secret."""
        with TemporaryDirectory(dir=self._folder.name) as name:
            folder = Path(name) / "drawn"
            shutil.copytree(self._ingest.scratch, folder)
            ingest = copy.copy(self._ingest)
            ingest.scratch = folder
            ingest._raw = dict(self._ingest._raw)
            apply_steps(self.steps, ingest, Secret(secret), silent)
            raw = Raw(ingest)
            after = _finest(raw)
            weights = ingest.raw("count", np.uint32) if ingest.has("count") else None
        questions = [_question(table, raw) for table in tables]
        found = [_counted(question, after, weights) for question in questions]
        rows = len(next(iter(self._before.values())))
        if weights is not None or len(next(iter(after.values()))) != rows or _replaced(self.steps):
            return Drawn(found, None)
        same = np.ones(rows, bool)
        for name_, codes in self._before.items():
            same &= codes == after[name_]
        return Drawn(found, [_counted(q, self._before, same) for q in questions])


def _replaced(steps: Sequence[Step]) -> bool:
    """Whether the last step puts other records in the place of all."""
    return isinstance(steps[-1], BaseStep | CubeStep)


def _question(table: Table, raw: Raw) -> Question:
    by = tuple((name, level or None) for name, _, level in (n.partition("@") for n in table.by))
    return Question.of(Query(by, table.where), raw.schema)


def _finest(raw: Raw) -> dict[str, NDArray[Any]]:
    """Return the finest category of each record, by variable."""
    return {
        variable.id: raw.column(variable.finest.id)[0].astype(np.int32)
        for variable in raw.schema.variables
    }


def _counted(
    question: Question, columns: dict[str, NDArray[Any]], weights: NDArray[Any] | None
) -> Integers:
    """Return the counts of a question, straight from the records."""
    shape = tuple(len(axis) for axis in question.axes)
    rows = len(next(iter(columns.values())))
    cell, there = np.zeros(rows, np.int64), np.ones(rows, bool)
    for axis in question.axes:
        place = axis.position()[columns[axis.variable.id]]
        there &= place >= 0
        cell = cell * len(axis) + np.maximum(place, 0)
    for one in question.filters:
        there &= one.allowed[columns[one.variable.id]]
    given = there.astype(np.int64) if weights is None else np.where(there, weights, 0)
    sums = np.bincount(cell, weights=given, minlength=int(np.prod(shape)))
    return np.rint(sums).astype(np.int64).reshape(shape)
