"""The public names: a population and what can be asked of it."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from threading import Event

from discreet.population import Schema, Store, Version
from discreet.query import Query, Question
from discreet.table import CountTable
from discreet.tabulate import Engine, ScanEngine, ViewEngine


class Population:
    """An open version of a population: what it holds, and its cross-tabulations.

    Keeps answering from the version it was opened on, whatever is built meanwhile.
    """

    def __init__(self, version: Version, engine: Engine | None = None) -> None:
        self.version = version
        self._engine = engine or ViewEngine(version, ScanEngine(version), version.views)

    @property
    def schema(self) -> Schema:
        """The variables, levels and categories."""
        return self.version.schema

    def question(self, query: Query) -> Question:
        """Return the question as this population understands it, or complain with the choices."""
        return Question.of(query, self.schema)

    def tabulate(self, query: Query, stop: Event | None = None) -> CountTable:
        """Return the true counts of a cross-tabulation, for the custodian: they disclose.

        Setting `stop` ends a running tabulation with `TabulationStopped`.
        """
        return self._engine.tabulate(self.question(query), stop)


def open(path: str | PathLike[str]) -> Population:
    """Return the current version of the population in a store."""
    return Population(Store(Path(path)).open())
