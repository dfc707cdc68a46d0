"""Marginal views added up while batches of records pass: no engine counts hundreds of tables."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.compiling import SMALL, there
from discreet.population import Schema, Version
from discreet.population.store import is_narrow
from discreet.query import Question
from discreet.tabulate import ScanEngine
from discreet.tabulate.chosen import choose
from discreet.tabulate.engine import Words
from discreet.tabulate.lattice import tables
from discreet.tabulate.view_files import Key

TOGETHER = 2**22
"""Records that are added up at once: each time costs something for every view."""

_HIGH, _LOW = np.uint64(32), np.uint64(2**32 - 1)

Some = tuple[dict[str, NDArray[Any]], NDArray[Any] | None, NDArray[np.uint32]]
"""Some records: the codes of each variable, the places of their areas, their keys."""


class Viewing:
    """The counts and key sums of the views that are chosen for a schema, so far."""

    def __init__(self, schema: Schema, modulus: int, budget: int, scratch: Path) -> None:
        self.schema = schema
        self._modulus = modulus
        self._scratch = scratch
        self._sums = {
            key: np.zeros((2, *(len(schema.find(name)[1]) for name in key)), np.uint64)
            for key in choose(schema, budget)
        }
        self._waiting: list[Some] = []

    def add(
        self, codes: dict[str, NDArray[Any]], places: NDArray[Any] | None, keys: NDArray[np.uint32]
    ) -> None:
        """Add some records: the codes of each variable, the places of their areas, their keys."""
        if self._sums:
            self._waiting.append((codes, places, keys))
        if sum(len(keys) for _, _, keys in self._waiting) >= TOGETHER:
            self._add_up()

    def packed(self) -> dict[Key, Words]:
        """Return the cells of each view: counts in the low half, key sums in the high one."""
        self._add_up()
        modulus = np.uint64(self._modulus)
        return {key: both[0] | both[1] % modulus << _HIGH for key, both in self._sums.items()}

    def _add_up(self) -> None:
        """Add the records that wait."""
        if not self._waiting:
            return
        version = self._version(_joined(self._waiting))
        self._waiting = []
        for key, packed in self._counted(version):
            self._sums[key][0] += packed & _LOW
            self._sums[key][1] += packed >> _HIGH

    def _counted(self, version: Version) -> Iterator[tuple[Key, Words]]:
        """Yield the cells of each view of some records."""
        left = dict.fromkeys(self._sums)
        if version.rows > SMALL and there():
            narrow = [key for key in left if max(self._sums[key].shape[1:]) <= 255]
            for _, views in tables(version, narrow, self._scratch):
                for key, packed in views:
                    del left[key]
                    yield key, packed
        if not left:
            return
        engine = ScanEngine(version, threads=1)
        for key in left:
            levels = tuple(self.schema.find(name)[1] for name in key)
            table = engine.tabulate(Question(self.schema, levels)).dense()
            yield key, table.counts.astype(np.uint64) | table.keys.astype(np.uint64) << _HIGH
        engine.close()

    def _version(self, some: Some) -> Version:
        """Return some records as a population of their own, in the order of their areas."""
        codes, places, keys = some
        order: Any = slice(None)
        areas = None
        geography = self.schema.geography
        if geography is not None and places is not None:
            order = np.argsort(places, kind="stable")
            each = np.bincount(places, minlength=len(geography.finest))
            areas = np.concatenate([[0], np.cumsum(each)]).astype(np.int64)
        columns: tuple[list[Any], list[Any]] = ([], [])
        for variable in self.schema.columns:
            columns[not is_narrow(variable)].append(codes[variable.id][order])
        narrow = np.array(columns[0], np.uint8).reshape(len(columns[0]), len(keys))
        wide = np.array(columns[1], np.uint16).reshape(len(columns[1]), len(keys))
        sorted_keys = np.ascontiguousarray(keys[order])
        for array in (narrow, wide, sorted_keys):
            array.setflags(write=False)  # of one type with mapped columns, for the kernels
        facts = {"modulus": self._modulus, "rows": len(keys)}
        return Version(Path(), facts, self.schema, narrow, wide, sorted_keys, None, areas)


def _joined(some: list[Some]) -> Some:
    """Return several lots of records as one."""
    codes = {name: np.concatenate([one[0][name] for one in some]) for name in some[0][0]}
    places = [one[1] for one in some if one[1] is not None]
    keys = np.concatenate([one[2] for one in some])
    return codes, np.concatenate(places) if places else None, keys
