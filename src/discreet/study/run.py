"""Runs a study: settings times draws in blocks, by several processes, taken up where it stopped.

A draw depends on the seed of the study, its setting and its number alone: any number of workers
makes the same figures. A block that is done is a file, so that a study that was stopped goes on
from there; memory holds one draw of a hypercube for each worker.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from hashlib import sha256
from itertools import pairwise
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

from discreet import __version__, risk
from discreet.build.steps import SwapStep
from discreet.errors import InternalError, ParameterError
from discreet.files import written
from discreet.progress import Tell, silent
from discreet.protect import IndividualSwapping
from discreet.study.judge import Known, Pairs, pairs_of
from discreet.study.measures import BY_METHOD, MEASURES, POOLED, UNLIKE, Context, weights_for
from discreet.study.methods import drawn
from discreet.study.model import On, Setting, Study, Table
from discreet.study.records import Records
from discreet.types import Floats, Integers

SLICED = (
    "transition",
    "conditional-entropy",
    "conditional-entropy-as-printed",
    "score",
    "hellinger",
    "relative-absolute",
    "average-absolute",
)
"""The measures that are taken of rows and columns too, where a study asks for them."""
BLOCK_CELLS = 3_000_000
MOST_DRAWS = 10
"""Few enough that all workers have some draws of a setting that takes long."""
ALONE = 400_000
"""Cells times draws below which another process would take longer to start than to help."""


@dataclass(frozen=True)
class Unit:
    """What is measured: a table, or a row or column of it."""

    table: int
    axis: int | None = None
    place: int = 0

    def of(self, counts: Integers) -> Integers:
        """Return the counts of the unit."""
        return counts if self.axis is None else np.asarray(counts.take(self.place, axis=self.axis))


@dataclass(frozen=True)
class Block:
    """Some draws of one setting."""

    setting: int
    first: int
    last: int


@dataclass(frozen=True, eq=False)
class Part:
    """What a block found: values by unit, draw and measure, and where cells went, by table."""

    values: Floats
    pairs: tuple[tuple[Pairs, ...], ...]


def units(study: Study) -> list[Unit]:
    """Return what is measured, tables first."""
    found = [Unit(i) for i in range(len(study.tables))]
    if study.judged.slices:
        for i, table in enumerate(study.tables):
            sizes = enumerate(table.counts.shape)
            found += [Unit(i, axis, place) for axis, n in sizes for place in range(n)]
    return found


def blocks(study: Study) -> list[Block]:
    """Return the work in pieces; nothing is drawn twice where nothing is changed."""
    cells = sum(cube.counts.size for cube in study.cubes)
    size = max(1, min(MOST_DRAWS, BLOCK_CELLS // cells))
    found = []
    for i, setting in enumerate(study.settings):
        draws = 1 if setting.untouched else study.draws
        ends = [*range(0, draws, 1 if setting.on is On.RECORDS else size), draws]
        found += [Block(i, *both) for both in pairwise(ends)]
    return found


class Worker:
    """Draws and measures; holds what all blocks of a study share."""

    def __init__(self, study: Study) -> None:
        self.study = study
        self.units = units(study)
        self._records: Records | None = None

    def close(self) -> None:
        """Remove what was written for the draws."""
        if self._records is not None:
            self._records.close()

    def part(self, block: Block) -> Part:
        """Return what the draws of a block give."""
        setting, study = self.study.settings[block.setting], self.study
        known = [known_of(setting, table) for table in study.tables]
        values, pairs = [], []
        for draw in range(block.first, block.last):
            try:
                tables, kept = self.released(setting, draw)
            except InternalError as error:  # a method that found no table for these data
                raise ParameterError(
                    f"{setting.full} cannot act on these data: {error} Leave it out of the study."
                ) from None
            values.append([self._measured(unit, tables, kept, known) for unit in self.units])
            both = zip(study.tables, tables, strict=True)
            pairs.append(tuple(pairs_of(table.counts, released) for table, released in both))
        by_unit = np.array(values, np.float64).transpose(1, 0, 2)
        return Part(by_unit, tuple(zip(*pairs, strict=True)))

    def released(self, setting: Setting, draw: int) -> tuple[list[Integers], list[Integers] | None]:
        """Return a draw of every table, and of records how many of each cell were not touched."""
        study = self.study
        own = [table for table in study.tables if table.of is None]
        tables, kept = self._drawn(setting, draw, own)
        for table in study.tables[len(own) :]:
            assert table.of is not None
            tables.append(table.cut.of(tables[table.of]))
            if kept is not None:
                kept.append(table.cut.of(kept[table.of]))
        return tables, kept

    def _drawn(
        self, setting: Setting, draw: int, own: list[Table]
    ) -> tuple[list[Integers], list[Integers] | None]:
        study = self.study
        if setting.on is On.RECORDS:
            if self._records is None or self._records.steps is not setting.steps:
                assert study.dataset is not None
                self.close()
                self._records = Records(study.dataset, setting.steps)
            found = self._records.draw(own, _digest(study, setting, draw, "records"))
            return found.tables, found.kept
        assert setting.made is not None
        if setting.on is On.CUBE:
            cubes = [
                drawn(setting.made, cube.counts, _generator(study, setting, draw, f"cube {i}"))
                for i, cube in enumerate(study.cubes)
            ]
            return [table.cut.of(cubes[table.cube]) for table in own], None
        return [
            drawn(setting.made, t.counts, _generator(study, setting, draw, f"table {t.name}"))
            for t in own
        ], None

    def _measured(
        self,
        unit: Unit,
        tables: list[Integers],
        kept: list[Integers] | None,
        known: list[Known],
    ) -> list[float]:
        table, judged = self.study.tables[unit.table], self.study.judged
        F, G = unit.of(table.counts), unit.of(tables[unit.table])
        groups = tuple(table.by.index(n) for n in judged.subgroups if n in table.by) or (0,)
        context = Context(judged.weights, groups)
        found = []
        for name in judged.every:
            of = MEASURES[name].of
            if unit.axis is not None and (name not in SLICED or not F.any()):
                found.append(float("nan"))
            elif name == "small-records-as-printed" and kept is not None:
                untouched = unit.of(kept[unit.table])
                found.append(risk.unchanged_small_records_swapped(F, untouched))
            elif of is not None:
                found.append(of(F, G, context))
            else:
                found.append(by_method(name, F, G, known[unit.table], judged.weights))
        return found


def known_of(setting: Setting, table: Table) -> Known:
    """Return what is known of a setting: its rate, or its transition where it acts on the table."""
    made = setting.made
    if isinstance(made, IndividualSwapping):
        return Known(rate=made.rate, multiplier=setting.multiplier)
    for step in setting.steps:
        if isinstance(step, SwapStep):
            return Known(rate=step.swapping.rate, multiplier=setting.multiplier)
    if made is not None and setting.on is On.TABLE and table.of is None:
        return Known.of(made, table.counts.ndim, setting.multiplier)
    return Known(multiplier=setting.multiplier)


RATE = "the rate that people are swapped at"
CHANCES = "the chances of the method"
SEEN = "what was seen over all draws"
RECORDS = "records that nobody touched"
CELLS = "cells that stayed as they were"


def yardstick(study: Study, setting: Setting) -> tuple[str, ...]:
    """Return what the risk of the map goes by for a setting: settings with the same are ranked."""
    name = study.judged.risk
    if name not in UNLIKE or setting.untouched:
        return ()
    if name == "small-records-as-printed":
        return (RECORDS if setting.on is On.RECORDS else CELLS,)
    found = [known_of(setting, table) for table in study.tables]
    told = [RATE if k.rate is not None else CHANCES if k.complete else SEEN for k in found]
    return tuple(dict.fromkeys(told))


def by_method(
    name: str, true: Integers, released: Integers, known: Known, weights: tuple[float, ...]
) -> float:
    """Return a risk that needs the method, NaN where all draws must be seen first.

    Swapping has no contents to observe: its matrix stands for cells that are not there.
    """
    if name not in BY_METHOD or name in POOLED or not known.complete:
        return float("nan")
    if known.rate is not None and name == "transition-observed":
        return float("nan")
    contents: Any = "observed" if name == "transition-observed" else "expected"
    return float(known.after(true, released, weights_for(name, weights), contents))


def _digest(study: Study, setting: Setting, draw: int, what: str) -> bytes:
    return sha256(f"{study.seed}|{setting.key}|{draw}|{what}".encode()).digest()


def _generator(study: Study, setting: Setting, draw: int, what: str) -> np.random.Generator:
    words = np.frombuffer(_digest(study, setting, draw, what), np.uint32)
    return np.random.default_rng(words.tolist())


def run(
    study: Study, folder: Path | None = None, workers: int = 1, tell: Tell = silent
) -> dict[Block, Part]:
    """Return what every block found; those whose file is in the folder are not drawn again."""
    todo = blocks(study)
    found: dict[Block, Part] = {}
    mark = _mark(study)
    for block in todo:
        path = _path(folder, mark, study, block)
        if path is not None and path.exists():
            found[block] = _read(path, len(study.tables))
    left = [block for block in todo if block not in found]
    tell("drawing", len(found), len(todo))
    for block, part in _each(study, left, workers):
        found[block] = part
        path = _path(folder, mark, study, block)
        if path is not None:
            _write(path, part)
        tell("drawing", len(found), len(todo))
    return {block: found[block] for block in todo}


def _each(study: Study, left: list[Block], workers: int) -> Iterator[tuple[Block, Part]]:
    if workers <= 1 or len(left) <= 1:
        worker = Worker(study)
        try:
            for block in left:
                yield block, worker.part(block)
        finally:
            worker.close()
        return
    pool = ProcessPoolExecutor(
        min(workers, len(left)), get_context("spawn"), initializer=_begin, initargs=(study,)
    )
    try:
        asked: dict[Future[Part], Block] = {pool.submit(_work, block): block for block in left}
        for future in as_completed(asked):
            yield asked[future], future.result()
    finally:
        pool.shutdown(cancel_futures=True)


_OURS: list[Worker] = []  # of a worker process, which does nothing else


def _begin(study: Study) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # whoever started the workers ends them
    _OURS.append(Worker(study))


def _work(block: Block) -> Part:
    return _OURS[0].part(block)


def workers_for(study: Study) -> int:
    """Return how many processes are worth starting: all processors, or none beside this one."""
    cells = sum(cube.counts.size for cube in study.cubes)
    steps = any(setting.on is On.RECORDS for setting in study.settings)
    small = cells * study.draws * len(study.settings) < ALONE and not steps
    return 1 if small else len(os.sched_getaffinity(0))


def _mark(study: Study) -> str:
    told = repr((__version__, study.fingerprint, study.judged, study.seed))
    return sha256(told.encode()).hexdigest()


def _path(folder: Path | None, mark: str, study: Study, block: Block) -> Path | None:
    if folder is None:
        return None
    setting = study.settings[block.setting]
    told = repr((mark, setting.key, setting.multiplier, block.first, block.last))
    return folder / f"{sha256(told.encode()).hexdigest()[:32]}.npz"


def _write(path: Path, part: Part) -> None:
    arrays: dict[str, Any] = {"values": part.values}
    for t, drawn_ in enumerate(part.pairs):
        arrays[f"pairs{t}"] = np.concatenate(drawn_)
        arrays[f"sizes{t}"] = np.array([len(pairs) for pairs in drawn_])
    with written(path) as file:
        np.savez(file, **arrays)


def _read(path: Path, tables: int) -> Part:
    with np.load(path) as held:
        pairs = tuple(
            tuple(np.split(held[f"pairs{t}"], np.cumsum(held[f"sizes{t}"])[:-1]))
            for t in range(tables)
        )
        return Part(held["values"], pairs)
