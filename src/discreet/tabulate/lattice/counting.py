"""Tables of counts and key sums over many sets of levels, for little more than a few scans."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from concurrent.futures import ThreadPoolExecutor
from math import prod
from pathlib import Path

import numpy as np

from discreet.population import Version
from discreet.tabulate.engine import Words
from discreet.tabulate.lattice import kernels
from discreet.tabulate.lattice.condensed import Condensed, Named, condense
from discreet.tabulate.lattice.covers import Key, covers

LEAST, MOST = 2**14, 2**21
"""Cells of a wide table, as many as condensed records: 16 MiB at most. Of 2^20 and 2^22 cells there
are more tables, or each takes longer; both cost a tenth more."""

COARSE = 32
"""Areas of a level up to which records of it are condensed together with those of no area."""


def tables(
    version: Version, wanted: Collection[Key], scratch: Path
) -> Iterator[tuple[Key, list[tuple[Key, Words]]]]:
    """Yield the cells of the tables that are wanted, counts low and key sums high.

    Those that are added up from one wide table come together, with the levels of the wide one.

    A key names levels of at most 255 categories in the order of the schema. Files in `scratch`
    hold the condensed records, and are removed as they have been read.
    """
    geography = version.schema.geography
    fine = {level.id for level in geography.levels if len(level) > COARSE} if geography else set()
    # Where small areas matter few records are alike, so the other tables do without them.
    for small in (False, True):
        keys = [key for key in wanted if small != fine.isdisjoint(key)]
        named = {name for key in keys for name in key}
        levels = [(v, level) for v in version.schema.variables for level in v.levels]
        levels = [(v, level) for v, level in levels if level.id in named]
        if not version.rows or not levels:
            continue
        parts = list(condense(version, levels, not small, scratch))
        yield from _all(parts, levels, keys, np.uint64(version.modulus))


def _all(
    parts: list[Condensed], levels: Named, wanted: Collection[Key], modulus: np.uint64
) -> Iterator[tuple[Key, list[tuple[Key, Words]]]]:
    """Yield the tables that are wanted, from condensed records."""
    size = {level.id: len(level) for _, level in levels}
    of = {level.id: variable.id for variable, level in levels}
    records = sum(part.columns.shape[1] for part in parts)
    wide = covers(wanted, size, of, min(MOST, max(LEAST, records)))
    threads = len(os.sched_getaffinity(0))
    with ThreadPoolExecutor(threads, thread_name_prefix="lattice") as pool:
        for i in range(0, len(wide), threads):  # few at a time: all of them would fill the memory
            some = wide[i : i + threads]
            counted = pool.map(lambda one: _counted(parts, levels, *one), some)
            for (name, _), found in zip(some, counted, strict=True):
                yield name, [(key, _packed(halves, modulus)) for key, halves in found]


def _counted(
    parts: list[Condensed], levels: Named, wide: Key, keys: list[Key]
) -> list[tuple[Key, Words]]:
    """Return the tables that are added up from a wide one."""
    row = np.array([[level.id for _, level in levels].index(name) for name in wide])
    shape = tuple(len(levels[i][1]) for i in row)
    stride = np.array([prod(shape[i + 1 :]) for i in range(len(shape))])
    halves = len(parts[0].words)
    cells = np.zeros((halves, prod(shape)), np.uint64)
    for part in parts:
        for half in range(halves):
            kernels.add(part.columns, row, stride, part.words[half], cells[half])
    held = {wide: cells.reshape(halves, *shape)}
    size = dict(zip(wide, shape, strict=True))
    return [(key, _added_up(key, held, wide, size)) for key in keys]


def _added_up(key: Key, held: dict[Key, Words], wide: Key, size: dict[str, int]) -> Words:
    """Return a table, from one that has a level more; the longest levels go first."""
    if key not in held:
        more = min((name for name in wide if name not in key), key=lambda name: size[name])
        above = tuple(name for name in wide if name in key or name == more)
        cells = _added_up(above, held, wide, size)
        at = 1 + above.index(more)
        shape = cells.shape[:at] + cells.shape[at + 1 :]
        out = np.empty((prod(shape[:at]), prod(shape[at:])), np.uint64)
        kernels.fold(cells.reshape(len(out), size[more], -1), out)
        held[key] = out.reshape(shape)
    return held[key]


def _packed(halves: Words, modulus: np.uint64) -> Words:
    """Return a table with count and key sum in one word each."""
    high = np.uint64(32)
    if len(halves) == 2:
        return np.asarray(halves[0] | halves[1] % modulus << high)
    if modulus == 2**32:
        return np.asarray(halves[0])
    return np.asarray(halves[0] & np.uint64(2**32 - 1) | (halves[0] >> high) % modulus << high)


def warm_up() -> None:
    """Call every kernel as `tables` does, so that it is compiled and kept."""
    columns, words, keys = (
        np.zeros((1, 2), np.uint8),
        np.ones((1, 2), np.uint64),
        np.zeros(2, np.uint32),
    )
    codes, none = np.zeros(2, np.uint64), np.zeros(1, np.int64)
    for array in (columns, words, keys):
        array.setflags(write=False)  # of one type with what is mapped
    kernels.pack(columns, none, none, 0, codes)
    kernels.weigh(keys, keys, 0, codes)
    kernels.merge(*kernels.sort(codes, codes.copy(), 8))
    kernels.unpack(codes, none, none, none, columns.copy())
    cells = np.zeros((1, 2), np.uint64)
    kernels.add(columns, none, none, words[0], cells[0])
    kernels.fold(cells.reshape(1, 2, 1), np.zeros((1, 1), np.uint64))
