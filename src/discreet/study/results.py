"""What a study found: means over draws, the frontier, what dominates what, and the finding."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from discreet import risk
from discreet.errors import ParameterError, unknown
from discreet.files import written
from discreet.study.measures import weights_for
from discreet.study.model import Printed, Setting, Study, full_name
from discreet.study.ranking import dominated, frontier
from discreet.study.run import yardstick
from discreet.table.sheet import Sheet


@dataclass(frozen=True)
class Value:
    """A mean over draws with its standard error; `undefined` draws had no value."""

    mean: float
    error: float
    draws: int
    undefined: int = 0

    def __float__(self) -> float:
        return self.mean


@dataclass(frozen=True)
class Row:
    """A line of the results: one measure of one table under one setting."""

    table: str
    method: str
    setting: str
    on: str
    variable: str
    category: str
    measure: str
    value: Value

    @property
    def full(self) -> str:
        """Method and setting in one."""
        return full_name(self.method, self.setting)


@dataclass(frozen=True)
class Point:
    """A setting in a table, on the map."""

    table: str
    method: str
    setting: str
    risk: Value
    utility: Value

    @property
    def full(self) -> str:
        """Method and setting in one."""
        return full_name(self.method, self.setting)


@dataclass(frozen=True, eq=False, repr=False)
class Results:
    """What a study found. It prints, plots, filters, and is a data frame.

    >>> found = dc.study([[40, 2, 9], [1, 58, 12]], ["random-rounding"], draws=10)
    >>> sorted(found.settings)
    ['None', 'Random rounding, base 3']
    """

    study: Study
    rows: tuple[Row, ...]
    seconds: float = 0.0

    # As values

    @cached_property
    def _by(self) -> dict[tuple[str, str, str], Value]:
        whole = (row for row in self.rows if not row.variable)
        return {(row.table, row.full, row.measure): row.value for row in whole}

    @property
    def tables(self) -> tuple[str, ...]:
        """The names of the tables that are left."""
        return tuple(dict.fromkeys(row.table for row in self.rows))

    @property
    def settings(self) -> tuple[str, ...]:
        """The names of the settings that are left, the untouched table among them."""
        return tuple(dict.fromkeys(row.full for row in self.rows))

    def value(self, table: str, setting: str, measure: str) -> Value:
        """Return a mean with its standard error."""
        for kind, name, choices in (
            ("table", table, self.tables),
            ("setting", setting, self.settings),
            ("measure", measure, self.study.judged.every),
        ):
            if name not in choices:
                raise unknown(kind, name, choices)
        return self._by[table, setting, measure]

    def printed_beside(self) -> list[tuple[Printed, float]]:
        """Return every published figure that the study has too, with ours."""
        by = {
            (row.table, row.full, row.measure, row.variable, row.category): row.value.mean
            for row in self.rows
        }
        found = []
        for one in self.study.printed:
            key = (one.table, one.setting, one.measure, one.variable, one.category)
            if one.measure == "before":
                found.append((one, self._risk_before(one)))
            elif key in by:
                found.append((one, by[key]))
        return found

    @property
    def _weights(self) -> tuple[float, ...]:
        return weights_for(self.study.judged.risk, self.study.judged.weights)

    def _risk_before(self, one: Printed) -> float:
        table = next(t for t in self.study.tables if t.name == one.table)
        counts = table.counts
        if one.variable:
            axis = table.by.index(one.variable)
            counts = np.asarray(counts.take(table.codes[axis].index(one.category), axis=axis))
        return float(risk.before(counts, self._weights))

    @cached_property
    def before(self) -> dict[str, float]:
        """The risk of each table before protection."""
        return {
            t.name: float(risk.before(t.counts, self._weights))
            for t in self.study.tables
            if t.name in self.tables
        }

    @cached_property
    def judged(self) -> tuple[str, ...]:
        """The tables that have a risk: of one without small cells some measures have none."""
        name = self.study.judged.risk
        defined = {
            t for (t, _, m), value in self._by.items() if m == name and value.mean == value.mean
        }
        return tuple(table for table in self.tables if table in defined)

    @cached_property
    def apart(self) -> dict[str, str]:
        """The settings that cannot be ranked with the others, and what they are judged by.

        Ranked are those of the yardstick that most settings have. A measure that means the same
        for every method, as `transition-seen` does, leaves none apart.
        """
        there = [self.setting(name) for name in self.settings]
        sticks = {s.full: yardstick(self.study, s) for s in there if not s.untouched}
        if not sticks:
            return {}
        listed = list(sticks.values())
        first = max(dict.fromkeys(listed), key=listed.count)
        found = {name: " and ".join(mine) for name, mine in sticks.items() if mine != first}
        return found | {name: "" for name in sticks if self._unmeasured(name)}

    def _unmeasured(self, name: str) -> bool:
        values = (self._by[table, name, self.study.judged.risk].mean for table in self.judged)
        return any(value != value for value in values)

    @cached_property
    def points(self) -> tuple[Point, ...]:
        """Every setting that can be ranked in every table that has a risk, None left out."""
        judged, found = self.study.judged, []
        for table in self.judged:
            for name in self.settings:
                setting = self.setting(name)
                if not setting.untouched and name not in self.apart:
                    both = (self._by[table, name, m] for m in (judged.risk, judged.utility))
                    found.append(Point(table, setting.name, setting.label, *both))
        return tuple(found)

    def setting(self, name: str) -> Setting:
        """Return a setting by its name."""
        return next(one for one in self.study.settings if one.full == name)

    # What follows

    @cached_property
    def frontier(self) -> frozenset[tuple[str, str]]:
        """The (table, setting) that no other setting beats in that table on both measures."""
        return frontier(self.points, self.study.judged)

    @cached_property
    def dominated(self) -> dict[str, tuple[str, ...]]:
        """The settings that others beat in all tables at once, and by which."""
        return dominated(self.points, self.study.judged)

    @cached_property
    def under(self) -> dict[str, int]:
        """In how many tables each setting is at or below the limit of risk."""
        limit = self.study.judged.limit
        names = dict.fromkeys(p.full for p in self.points)
        return {
            name: sum(p.risk.mean <= limit for p in self.points if p.full == name) for name in names
        }

    @cached_property
    def finding(self) -> str:
        """The outcome in one or two sentences, computed."""
        from discreet.study.words import finding

        return finding(self)

    # As other things

    def filter(
        self,
        table: str | Iterable[str] | None = None,
        method: str | Iterable[str] | None = None,
        measure: str | Iterable[str] | None = None,
    ) -> Results:
        """Return the results of some tables, methods or measures alone."""
        wanted = {"table": table, "method": method, "measure": measure}
        rows = self.rows
        for field, given in wanted.items():
            if given is None:
                continue
            names = [given] if isinstance(given, str) else list(given)
            known = dict.fromkeys(getattr(row, field) for row in rows)
            for name in names:
                if name not in known:
                    raise unknown(field, name, known)
            keep = set(names)
            if field == "measure":
                keep |= {self.study.judged.risk, self.study.judged.utility}
            rows = tuple(row for row in rows if getattr(row, field) in keep)
        return replace(self, rows=rows)

    @property
    def sheet(self) -> Sheet:
        """The results, tidy: a line for each table, setting and measure."""
        header = (
            "table", "method", "setting", "on", "variable", "category", "measure", "mean",
            "standard_error", "draws", "undefined",
        )  # fmt: skip
        lines = [
            (
                row.table, row.method, row.setting, row.on, row.variable, row.category, row.measure,
                _plain(row.value.mean), _plain(row.value.error), row.value.draws,
                row.value.undefined,
            )
            for row in self.rows
        ]  # fmt: skip
        return Sheet(header, tuple(zip(*lines, strict=True)))

    def to_arrow(self) -> Any:
        """Return the results as an Arrow table."""
        return self.sheet.to_arrow()

    def to_pandas(self) -> Any:
        """Return the results as a pandas data frame."""
        return self.sheet.to_pandas()

    def plot(self, path: str | Path | None = None) -> str:
        """Return the risk-utility map as SVG, and write it where a file is named."""
        from discreet.study.map import draw

        text = draw(self)
        if path is not None:
            with written(Path(path), 0o600) as file:
                file.write(text.encode())
        return text

    def report(self, path: str | Path) -> None:
        """Write the report as a page by itself."""
        from discreet.study.report import page

        with written(Path(path), 0o600) as file:
            file.write(page(self).encode())

    def write(self, folder: str | Path) -> None:
        """Write results.csv, results.parquet, map.svg and report.html into a folder."""
        import pyarrow.parquet as pq

        out = Path(folder)
        if not out.is_dir():
            raise ParameterError(f"out must be a folder. Got {out}.")
        self.sheet.write(out / "results.csv")
        with written(out / "results.parquet", 0o600) as file:
            pq.write_table(self.to_arrow(), file)
        self.plot(out / "map.svg")
        self.report(out / "report.html")

    def _repr_html_(self) -> str:
        return self.plot()

    def __repr__(self) -> str:
        # No figure: what is shown of true counts ends in logs and saved notebooks.
        tables, settings = len(self.tables), len(self.settings) - 1
        return (
            f"<Results: {tables} table{'s' * (tables != 1)}, {settings} setting"
            f"{'s' * (settings != 1)}, {self.study.draws} draws. print() shows them>"
        )

    def __str__(self) -> str:
        from discreet.study.words import text

        return text(self)


def _plain(value: float) -> float | None:
    return value if value == value else None
