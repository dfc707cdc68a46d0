"""Servers to be attacked: one that keeps its promises, and the same with a fault planted.

They answer from the records of a small synthetic census, so that what they do does not depend on
what the product does. The noise of a figure is drawn by the people in its cell, as the product's
is, or as the fault says.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from itertools import combinations
from math import prod
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from zlib import crc32

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import discreet as dc
from discreet.build import build
from discreet.errors import QueryRefused
from discreet.population import Level
from discreet.study.attacks import Target
from discreet.study.attacks.estimate import Noise
from discreet.synth import write
from discreet.table import ProtectedTable

LEAST = 100
"""People without whom nothing is told, as in the public presets."""


def write_census(folder: Path, persons: int = 20_000, leavers: int = 0) -> Path:
    """Write a synthetic census, some people of which have left, each another output area."""
    write(persons, folder, seed=3, threads=1)
    path = folder / "persons.parquet"
    people = pq.read_table(path)
    areas = people["oa"].to_numpy()
    stays = np.ones(len(areas), bool)
    stays[[np.flatnonzero(areas == area)[7] for area in np.unique(areas)[:leavers]]] = False
    pq.write_table(people.filter(pa.array(stays)), path)
    text = (folder / "dataset.toml").read_text(encoding="utf-8")
    (folder / "dataset.toml").write_text(f'policy = "preset:rounding-3"\n{text}', encoding="utf-8")
    return folder / "dataset.toml"


def build_census(folder: Path, leavers: int = 0) -> Path:
    """Return a store of the census, its secret always the same."""
    out = folder / "store"
    out.mkdir(mode=0o700, parents=True)
    (out / "secret").write_text("5eed" * 16 + "\n", encoding="ascii")
    (out / "secret").chmod(0o600)
    build(write_census(folder / "census", leavers=leavers), out, views=0)
    return out


def _mixed(keys: np.ndarray, salt: int) -> np.ndarray:
    """Return uniforms in [0, 1) from key sums: the finish of SplitMix64."""
    with np.errstate(over="ignore"):
        x = keys.astype(np.uint64) + np.uint64(salt % 2**63) * np.uint64(0x9E3779B97F4A7C15)
        for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
            x = (x ^ (x >> np.uint64(shift))) * np.uint64(factor)
    return ((x ^ (x >> np.uint64(31))) >> np.uint64(11)) / 2.0**53


def answer(dimensions: Any, values: Any, gone: Any, summed: bool = False) -> Any:
    """Return as much of a release as attackers read."""
    shown = ProtectedTable(dimensions, np.where(gone, 0, values), gone)
    parts = np.ones(shown.shape) if summed else None
    table = SimpleNamespace(values=shown.values, withheld=shown.withheld, parts=parts)
    return SimpleNamespace(table=table, withheld=(), hints=())


@dataclass
class Server:
    """A server with a ledger: a class of questions has one table, and answers are sums of it.

    Detail of which a cell holds fewer than 100 people on average lies in at most two tables.
    """

    population: dc.Population
    looks: int = 2
    salt: int = 0
    released: dict[frozenset[str], np.ndarray] = field(default_factory=dict)
    used: Counter[frozenset[str]] = field(default_factory=Counter)

    @property
    def noise(self) -> Noise:
        return Noise.of(self.population.policy.default_tier)

    def target(self) -> Target:
        """Return what attackers see of it."""

        def truth(by: str, where: str | None) -> np.ndarray:
            return self.population.tabulate(by, where).dense().counts.astype(np.int64)

        return Target(
            self.population.schema,
            self.population.policy.default_tier,
            self.population.version.rows,
            self.ask,
            truth,
            lambda: replace(self, released={}, used=Counter()).target(),
        )

    # One question

    def ask(self, by: str, where: str | None, totals: str) -> Any:
        question = self.population.question(by, where)
        levels = tuple(dict.fromkeys([*question.levels, *(f.level for f in question.filters)]))
        names = [level.id for level in levels]
        if len({self._variable(level) for level in levels}) < len(levels):
            raise QueryRefused("FILTER", "A variable is asked for at one level.")
        if prod(map(len, levels)) > 100_000:
            raise QueryRefused("MAX_CELLS", "Too large.")
        table, withheld = self.table(levels)
        keep = [self._kept(question, level) for level in levels]
        table, gone = table[np.ix_(*keep)], withheld[np.ix_(*keep)]
        added = tuple(i for i, name in enumerate(names) if name not in by.split(","))
        if gone.any() and (added or gone.all()):
            raise self.refusal(by, where)
        values, gone = table.sum(axis=added), gone.any(axis=added)
        if totals != "none":
            values, gone = self.with_totals(values, gone, by, where)
        dimensions = question.dimensions
        if totals != "none":
            dimensions = tuple(d.with_total() for d in dimensions)
        summed = bool(added) and any(len(keep[i]) > 1 for i in added)
        return answer(dimensions, values, gone, summed)

    def _variable(self, level: Level) -> str:
        return self.population.schema.find(level.id)[0].id

    def _kept(self, question: Any, level: Level) -> np.ndarray:
        for f in question.filters:
            if f.level is level:
                return f.picked
        return np.arange(len(level))

    def refusal(self, by: str, where: str | None) -> QueryRefused:
        """The one refusal that looked at counts."""
        return QueryRefused("NOT_AVAILABLE", "Not available.")

    def with_totals(self, values: Any, gone: Any, by: str, where: str | None) -> tuple[Any, Any]:
        """Totals are sums of what is shown."""
        for axis in range(values.ndim):
            values = np.concatenate([values, values.sum(axis, keepdims=True)], axis)
            gone = np.concatenate([gone, gone.any(axis, keepdims=True)], axis)
        return values, gone

    # One table of a class

    def table(self, levels: tuple[Level, ...]) -> tuple[np.ndarray, np.ndarray]:
        """Return the figures of a class, and which are withheld."""
        names = [level.id for level in levels]
        of = frozenset(names)
        if of not in self.released:
            guarded = [s for s in self._below(levels) if self._mean(s) < 100]
            if any(self.used[frozenset(s)] >= self.looks for s in guarded):
                raise QueryRefused("USED_UP", "This detail is in as many tables as there may be.")
            self.used.update(frozenset(s) for s in guarded)
            self.released[of] = self.drawn(sorted(of))
        figures = self.released[of].transpose([sorted(of).index(name) for name in names])
        if figures.sum() < LEAST * 2 or figures.mean() < 1:
            raise self.refusal(",".join(names), None)
        return figures, self.withheld(figures, levels)

    def _below(self, levels: Iterable[Level]) -> list[tuple[str, ...]]:
        names = sorted(level.id for level in levels)
        return [s for n in range(1, len(names) + 1) for s in combinations(names, n)]

    def _mean(self, names: Iterable[str]) -> float:
        schema = self.population.schema
        cells = prod(len(schema.find(name)[1]) for name in names)
        return float(self.population.version.rows / cells)

    def drawn(self, names: list[str], where: str | None = None, salt: int = 0) -> np.ndarray:
        """Return figures with the noise of the people in each cell."""
        counts = self.population.tabulate(",".join(names), where).dense()
        true = counts.counts.astype(np.int64)
        uniforms = _mixed(counts.keys, self.salt + salt)
        return self.noise.transition.draw(true, uniforms).astype(np.int64)

    def withheld(self, figures: np.ndarray, levels: tuple[Level, ...]) -> np.ndarray:
        """Return which figures are withheld: those of areas whose tables would be sparse."""
        gone = np.zeros(figures.shape, bool)
        geography = self.population.schema.geography
        for axis, level in enumerate(levels):
            if level in geography.levels and figures.ndim > 1:
                tables = np.moveaxis(figures, axis, 0).reshape(len(level), -1)
                sparse = ((tables > 0) & (tables <= 3)).mean(axis=1) > 0.35
                np.moveaxis(gone, axis, 0)[sparse] = True
        return gone


# Faults


@dataclass
class Sets(Server):
    """Fault: every set of people that a filter can pick has noise of its own, as in version 0.1."""

    def ask(self, by: str, where: str | None, totals: str) -> Any:
        question = self.population.question(by, where)
        values = self.drawn(by.split(","), where, self.fresh(by, where))
        gone = np.zeros(values.shape, bool)
        if question.geography is not None:
            people = (
                np.moveaxis(values, question.geography, 0)
                .reshape(values.shape[question.geography], -1)
                .sum(axis=1)
            )
            np.moveaxis(gone, question.geography, 0)[people < LEAST] = True
        if gone.all() or values.sum() < LEAST:
            raise self.refusal(by, where)
        dimensions = question.dimensions
        if totals != "none":
            values, gone = self.with_totals(values, gone, by, where)
            dimensions = tuple(d.with_total() for d in dimensions)
        return answer(dimensions, values, gone)

    def fresh(self, by: str, where: str | None) -> int:
        return 0


@dataclass
class FreshNoise(Sets):
    """Fault: every question is answered with new noise."""

    def fresh(self, by: str, where: str | None) -> int:
        return crc32(f"{by}&{where}".encode())


@dataclass
class LeakingRefusal(Server):
    """Fault: a refusal says whether anybody is in the group that was asked for."""

    def ask(self, by: str, where: str | None, totals: str) -> Any:
        try:
            return super().ask(by, where, totals)
        except QueryRefused as refusal:
            if not self.population.tabulate(by, where).counts.any():
                raise QueryRefused("EMPTY", "Nobody.") from None
            raise refusal from None


@dataclass
class ExactMargins(Server):
    """Fault: totals are not protected."""

    def with_totals(self, values: Any, gone: Any, by: str, where: str | None) -> tuple[Any, Any]:
        true = self.population.tabulate(by, where).dense().counts.astype(np.int64)
        total, _ = super().with_totals(true, gone, by, where)
        total[tuple(slice(0, n) for n in values.shape)] = values
        return total, super().with_totals(values, gone, by, where)[1]


@dataclass
class LittleNoise(Server):
    """Fault: the method changes only half of what its description says."""

    def drawn(self, names: list[str], where: str | None = None, salt: int = 0) -> np.ndarray:
        figures = super().drawn(names, where, salt)
        counts = self.population.tabulate(",".join(names), where).dense()
        left = _mixed(counts.keys, self.salt + salt + 1) < 0.5
        return np.where(left, counts.counts.astype(np.int64), figures)


@dataclass
class FilteredAreas(Server):
    """Fault: what a table withholds of an area, a filter on the area tells."""

    def ask(self, by: str, where: str | None, totals: str) -> Any:
        area = self.population.schema.geography.finest.id
        if where is not None and where.startswith(f"{area}=") and "," not in where:
            return Sets(self.population, salt=self.salt).ask(by, where, totals)
        return super().ask(by, where, totals)
