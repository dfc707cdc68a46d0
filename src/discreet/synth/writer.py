"""Writes a synthetic census: blocks drawn by several threads, put into the file in order."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from discreet.errors import ParameterError
from discreet.synth import kernels
from discreet.synth.description import (
    DESCRIPTION,
    FILES,
    MARK,
    PARTS,
    PERSONS,
    write_description,
)
from discreet.synth.folder import Signature, check_seed
from discreet.synth.geography import Geography, lay_out
from discreet.synth.tables import bank
from discreet.synth.variables import IDS

FEWEST, MOST = 1_000, 1_000_000_000
CENSUS = Signature(DESCRIPTION, MARK, FILES)
# A row group: large enough to compress and scan well, small enough that a block for each thread
# and one being written stay far below 100 MB each.
BLOCK = 1_000_000

# Smallest and cheapest to write of those tried (0.21 CPU seconds and 6.7 MB per million people):
# running numbers as differences, codes through dictionaries.
_NUMBERS = ("person_id", "household_id", "oa")
_SCHEMA = pa.schema(
    [
        *(pa.field(name, pa.uint32(), nullable=False) for name in _NUMBERS),
        *(pa.field(name, pa.uint8(), nullable=False) for name in IDS),
    ]
)

Progress = Callable[[int], None]


@dataclass(frozen=True)
class Block:
    """The people of consecutive output areas; households are numbered within the block."""

    first_person: int
    households: int
    household: NDArray[np.uint32]
    oa: NDArray[np.uint32]
    columns: NDArray[np.uint8]  # a row for each variable


def _even(geography: Geography, first: int, last: int, number: int) -> list[int]:
    """Return where so many shares of output areas begin, of about as many people, and their end."""
    starts = geography.starts
    begin, end = int(starts[first]), int(starts[last])
    targets = begin + np.arange(1, number) * ((end - begin) / number)
    inner = np.unique(np.searchsorted(starts, targets))
    return [first, *(int(cut) for cut in inner if first < cut < last), last]


def _cuts(geography: Geography, size: int, parts: list[int]) -> list[int]:
    """Return where blocks of about so many people begin, and where the last one ends."""
    cuts = [0]
    for first, last in pairwise(parts):
        persons = int(geography.starts[last] - geography.starts[first])
        cuts += _even(geography, first, last, -(-persons // size))[1:]
    return cuts


def draw(geography: Geography, seed: int, first: int, last: int) -> Block:
    """Return the people of output areas first to last, last excluded."""
    start, end = int(geography.starts[first]), int(geography.starts[last])
    columns = np.empty((kernels.COLUMNS, end - start), dtype=np.uint8)
    household = np.empty(end - start, dtype=np.uint32)
    areas = geography.areas(first, last)
    households = kernels.populate(bank(), np.uint64(seed), first, areas, columns, household)
    codes = np.arange(first + 1, last + 1, dtype=np.uint32)
    oa = np.repeat(codes, areas.persons)
    return Block(start, households, household, oa, columns)


def blocks(
    geography: Geography, seed: int, threads: int, size: int, parts: list[int] | None = None
) -> Iterator[Block]:
    """Yield the blocks in order; each thread draws one ahead, so few are in memory at a time.

    No block reaches over the beginning of a part.
    """
    cuts = _cuts(geography, size, parts or [0, geography.size])
    with ThreadPoolExecutor(threads) as pool:
        waiting: deque[Future[Block]] = deque()
        try:
            for first, last in pairwise(cuts):
                waiting.append(pool.submit(draw, geography, seed, first, last))
                if len(waiting) == threads:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()


def _table(block: Block, households_before: int) -> pa.Table:
    rows = block.columns.shape[1]
    first = block.first_person + 1
    person = np.arange(first, first + rows, dtype=np.uint32)
    household = block.household + np.uint32(households_before + 1)
    arrays = [person, household, block.oa, *block.columns]
    # From buffers: pa.array would import pandas, which takes longer than drawing a million people.
    columns = [
        pa.Array.from_buffers(field.type, rows, [None, pa.py_buffer(array)])
        for field, array in zip(_SCHEMA, arrays, strict=True)
    ]
    return pa.Table.from_arrays(columns, schema=_SCHEMA)


def _file(path: Path) -> pq.ParquetWriter:
    return pq.ParquetWriter(
        path,
        _SCHEMA,
        compression="snappy",
        use_dictionary=list(IDS),
        column_encoding=dict.fromkeys(_NUMBERS, "DELTA_BINARY_PACKED"),
    )


def _write_persons(
    paths: list[Path], geography: Geography, seed: int, threads: int, progress: Progress
) -> int:
    """Write the microdata to one file after another; return the number of households."""
    households = 0
    parts = _even(geography, 0, geography.size, len(paths))
    begins = dict(zip((int(geography.starts[cut]) for cut in parts[:-1]), paths, strict=True))
    with ExitStack() as writing:
        for block in blocks(geography, seed, threads, BLOCK, parts):
            if block.first_person in begins:
                writing.close()  # the file before
                file = writing.enter_context(_file(begins[block.first_person]))
            file.write_table(_table(block, households), row_group_size=len(block.oa))
            households += block.households
            progress(len(block.oa))
    return households


def check(
    persons: int, out: Path, seed: int, threads: int | None, parts: int | None = None
) -> None:
    """Raise the error that `write` would raise for these values, if any."""
    if not FEWEST <= persons <= MOST:
        raise ParameterError(f"persons must be from {FEWEST:,} to {MOST:,}. Got {persons:,}.")
    check_seed(seed)
    if threads is not None and threads < 1:
        raise ParameterError(f"threads must be at least 1. Got {threads}.")
    if parts is not None and not 1 <= parts <= persons // FEWEST:
        raise ParameterError(
            f"parts must be from 1 to {persons // FEWEST:,}, so that each has at least {FEWEST:,} "
            f"people. Got {parts:,}."
        )
    CENSUS.check(out)


def write(
    persons: int,
    out: Path,
    seed: int = 1,
    threads: int | None = None,
    progress: Progress | None = None,
    parts: int | None = None,
) -> int:
    """Return the number of households of a synthetic census written into the folder `out`.

    The folder gets `persons.parquet`, `dataset.toml` and a list of areas for each level; it
    appears when all is written, and nothing is left behind on an error. The same persons and
    seed give the same people whatever the number of threads. `progress` is called with the
    number of people written since the last call. With `parts` the people are in so many files of
    a folder `persons`, for engines that read several at a time. Memory is that of some blocks.
    """
    out = Path(out).absolute()
    check(persons, out, seed, threads, parts)
    threads = threads if threads is not None else os.cpu_count() or 1
    with CENSUS.replaced(out) as fresh:
        geography = lay_out(persons, seed)
        paths = [fresh / PERSONS]
        if parts is not None:
            (fresh / PARTS).mkdir()
            paths = [fresh / PARTS / f"part-{i:05}.parquet" for i in range(parts)]
        households = _write_persons(paths, geography, seed, threads, progress or (lambda _: None))
        source = PERSONS if parts is None else f"{PARTS}/*.parquet"
        write_description(fresh, geography, persons, seed, source)
    return households
