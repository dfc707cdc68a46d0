"""Marginal views added up while batches of records pass: no engine counts hundreds of tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.population import Schema, Version
from discreet.population.store import is_narrow
from discreet.query import Question
from discreet.tabulate import ScanEngine
from discreet.tabulate.chosen import choose
from discreet.tabulate.engine import Words
from discreet.tabulate.view_files import Key


class Viewing:
    """The counts and key sums of the views that are chosen for a schema, so far."""

    def __init__(self, schema: Schema, modulus: int, budget: int) -> None:
        self.schema = schema
        self._modulus = modulus
        self._questions = {
            key: Question(schema, tuple(schema.find(name)[1] for name in key))
            for key in choose(schema, budget)
        }
        self._sums = {
            key: np.zeros((2, *(len(axis) for axis in question.axes)), np.uint64)
            for key, question in self._questions.items()
        }

    def add(
        self, codes: dict[str, NDArray[Any]], places: NDArray[Any] | None, keys: NDArray[np.uint32]
    ) -> None:
        """Add some records: the codes of each variable, the places of their areas, their keys."""
        if not self._questions:
            return
        engine = ScanEngine(self._version(codes, places, keys), threads=1)
        for key, question in self._questions.items():
            table = engine.tabulate(question).dense()
            self._sums[key][0] += table.counts
            self._sums[key][1] += table.keys
        engine.close()

    def packed(self) -> dict[Key, Words]:
        """Return the cells of each view: counts in the low half, key sums in the high one."""
        high, modulus = np.uint64(32), np.uint64(self._modulus)
        return {key: both[0] | both[1] % modulus << high for key, both in self._sums.items()}

    def _version(
        self, codes: dict[str, NDArray[Any]], places: NDArray[Any] | None, keys: NDArray[np.uint32]
    ) -> Version:
        """Return some records as a population of their own, in the order of their areas."""
        order: Any = slice(None)
        areas = None
        geography = self.schema.geography
        if geography is not None and places is not None:
            order = np.argsort(places, kind="stable")
            areas = np.searchsorted(places[order], np.arange(len(geography.finest) + 1))
        columns: tuple[list[Any], list[Any]] = ([], [])
        for variable in self.schema.columns:
            columns[not is_narrow(variable)].append(codes[variable.id][order])
        narrow = np.array(columns[0], np.uint8).reshape(len(columns[0]), len(keys))
        wide = np.array(columns[1], np.uint16).reshape(len(columns[1]), len(keys))
        sorted_keys = np.ascontiguousarray(keys[order])
        for array in (narrow, wide, sorted_keys):
            array.setflags(write=False)  # of one type with mapped columns, for the kernels
        facts = {"modulus": self._modulus}
        return Version(Path(), facts, self.schema, narrow, wide, sorted_keys, None, areas)
