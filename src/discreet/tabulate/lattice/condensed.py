"""Records condensed: those that are alike in all columns that matter become one, in their order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from discreet.population import Level, Variable, Version
from discreet.tabulate.engine import Words
from discreet.tabulate.lattice import kernels

CHUNK = 2**22
"""Records that are condensed at a time: about 130 MiB of memory."""

_NO_COUNTS = np.empty(0, np.uint32)
_NO_COUNTS.setflags(write=False)  # of one type with mapped columns, for the kernels

Named = list[tuple[Variable, Level]]
"""Levels of at most 255 categories, those of one variable together and the finest first."""

Columns = NDArray[np.uint8]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Condensed:
    """Some records: a row of codes for each level, and words.

    The first word of a record has its count in the low half and its key in the high one, and is
    the only one; or else it is the count, and the second is the key.
    """

    columns: Columns
    words: Words


def condense(version: Version, levels: Named, alike: bool, folder: Path) -> Iterator[Condensed]:
    """Yield the records of a version, from files that are made in a folder.

    They are condensed if many of them are `alike`, and else as they are.
    """
    packing = Packing.of(levels)
    alike = alike and packing.length <= 64 and 2**32 % version.modulus == 0
    for number, begin in enumerate(range(0, version.rows, CHUNK)):
        end = min(version.rows, begin + CHUNK)
        if alike:
            columns, words = _condensed(version, levels, packing, begin, end)
        else:
            columns, words = _as_they_are(version, levels, begin, end)
        yield _put_aside(columns, words, folder / f"condensed-{number}")


@dataclass(frozen=True)
class Packing:
    """Where the codes of levels lie in one number: larger areas follow from smaller ones."""

    rows: Ints  # of the levels that are in it, by the number of the level
    shift: Ints
    bits: Ints

    @classmethod
    def of(cls, levels: Named) -> Packing:
        """Return a packing in which the longest level is the highest digit, the areas the lowest.

        Records in order of the number are near in all tables, and are near in areas anyway.
        """
        rows = [i for i, (v, _) in enumerate(levels) if i == 0 or v is not levels[i - 1][0]]
        rows.sort(key=lambda i: (levels[i][0].is_geography, -len(levels[i][1])), reverse=True)
        bits = np.array([(len(levels[i][1]) - 1).bit_length() for i in rows])
        return cls(np.array(rows), np.cumsum(bits) - bits, bits)

    @property
    def length(self) -> int:
        """The bits of the number."""
        return int(self.bits.sum())


def _condensed(
    version: Version, levels: Named, packing: Packing, begin: int, end: int
) -> tuple[Columns, Words]:
    """Return some records in the order of their numbers, equal ones added up."""
    codes = np.zeros(end - begin, np.uint64)
    of = [levels[i][0] for i in packing.rows]
    held = np.array([not variable.is_geography for variable in of])
    rows = np.array([version.place[v.id][1] for v in of if not v.is_geography], np.int64)
    kernels.pack(version.codes8, rows, packing.shift[held], begin, codes)
    for i, shift in zip(packing.rows[~held], packing.shift[~held], strict=True):
        codes |= _areas(version, levels[i][1], begin, end).astype(np.uint64) << np.uint64(shift)
    codes, words = kernels.sort(codes, _words(version, begin, end), packing.length)
    found = kernels.merge(codes, words)
    columns = np.empty((len(levels), found), np.uint8)
    kernels.unpack(codes[:found], packing.rows, packing.shift, packing.bits, columns)
    for i, (variable, level) in enumerate(levels):
        if i and variable is levels[i - 1][0]:  # a level that the one before it lies in
            columns[i] = level.of[levels[i - 1][1].member].astype(np.uint8)[columns[i - 1]]
    return columns, words[:found].reshape(1, -1)


def _as_they_are(version: Version, levels: Named, begin: int, end: int) -> tuple[Columns, Words]:
    """Return some records, with count and key in words of their own where sums need that."""
    columns = np.empty((len(levels), end - begin), np.uint8)
    for row, (variable, level) in enumerate(levels):
        if variable.is_geography:
            columns[row] = _areas(version, level, begin, end)
        else:
            columns[row] = version.column(variable)[begin:end]
    if 2**32 % version.modulus == 0:
        return columns, _words(version, begin, end).reshape(1, -1)
    words = np.ones((2, end - begin), np.uint64)
    if version.counts is not None:
        words[0] = version.counts[begin:end]
    words[1] = version.keys[begin:end]
    return columns, words


def _words(version: Version, begin: int, end: int) -> Words:
    """Return the word of each of some records."""
    counts = _NO_COUNTS if version.counts is None else version.counts
    words = np.empty(end - begin, np.uint64)
    kernels.weigh(version.keys, counts, begin, words)
    return words


def _areas(version: Version, level: Level, begin: int, end: int) -> NDArray[np.uint8]:
    """Return the area of each of some records."""
    starts = np.clip(version.area_starts(level), begin, end)
    return np.repeat(np.arange(len(level), dtype=np.uint8), np.diff(starts))


def _put_aside(columns: Columns, words: Words, path: Path) -> Condensed:
    """Return the records mapped from a file that has no name any more and goes with them.

    Those of a billion people would not stay in memory.
    """
    with path.open("xb") as file:
        file.write(np.ascontiguousarray(words).data.cast("B"))
        file.write(columns.data.cast("B"))
    mapped = np.memmap(path, np.uint64, "r", shape=words.shape).view(np.ndarray)
    after = np.memmap(path, np.uint8, "r", mapped.nbytes, columns.shape).view(np.ndarray)
    path.unlink()
    return Condensed(after, mapped)
