"""What the builder's form holds: which variable stands where, and who is counted.

The state is the address. Reading an address and writing it again gives one canonical address.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from urllib.parse import quote

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError
from discreet.population import Level, Schema, Variable
from discreet.query import Axis, Filter, Query, Question
from discreet.query.parse import encode

ZONES = ("layers", "columns", "rows")
_HANDFUL = 25
"""A level with more categories than this is not what someone who adds a variable wants first."""


def address(path: str, values: Mapping[str, str | None]) -> str:
    """Return a path with a query that people can read: commas and bars stay as they are."""
    parts = [
        f"{key}={quote(text, safe=',|=@:')}" for key, text in values.items() if text is not None
    ]
    return f"{path}?{'&'.join(parts)}" if parts else path


@dataclass(frozen=True, eq=False)
class State:
    """The levels in each zone, and the filters."""

    schema: Schema
    rows: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    layers: tuple[str, ...] = ()
    filters: tuple[Filter, ...] = ()

    @classmethod
    def read(cls, values: Mapping[str, str], schema: Schema) -> State:
        """Return the state that an address says, or complain about what it does not know."""
        placed = [_level(schema, name) for name in _names(values.get("by", ""))]
        variables = [schema.find(level)[0].id for level in placed]
        for variable in variables:
            if variables.count(variable) > 1:
                raise ParameterError(f"'{variable}' must stand in a table once.")
        filters = _filters(schema, values.get("where", ""))
        zone = {}
        for name in ("columns", "layers"):
            for level in _names(values.get(name, "")):
                found = schema.find(*level.split("@", 1))[0].id
                if found not in variables:
                    raise ParameterError(f"{name} must be among the variables asked for.")
                zone[variables.index(found)] = name
        state = cls(schema, tuple(placed), filters=filters)
        if "columns" not in values and "layers" not in values and len(placed) > 1:
            sizes = [len(axis) for axis in state.axes]
            zone[max(i for i, size in enumerate(sizes) if size == min(sizes))] = "columns"
        return replace(
            state,
            rows=tuple(level for i, level in enumerate(placed) if i not in zone),
            columns=tuple(level for i, level in enumerate(placed) if zone.get(i) == "columns"),
            layers=tuple(level for i, level in enumerate(placed) if zone.get(i) == "layers"),
        )

    def values(self) -> dict[str, str | None]:
        """Return what an address says of this state."""
        return {
            "by": ",".join(self.by),
            "columns": ",".join(self.columns),
            "layers": ",".join(self.layers) or None,
            "where": self.where or None,
        }

    @property
    def by(self) -> tuple[str, ...]:
        """All levels, in the order in which the table nests them."""
        return (*self.layers, *self.rows, *self.columns)

    @property
    def where(self) -> str:
        """The filters as text."""
        return ",".join(said(f) for f in self.filters)

    def axes_of(self, levels: tuple[str, ...]) -> tuple[Axis, ...]:
        """Return the axes of some levels."""
        return tuple(self.axis(level) for level in levels)

    @property
    def axes(self) -> tuple[Axis, ...]:
        """The axes of the table."""
        return self.axes_of(self.by)

    def axis(self, name: str) -> Axis:
        """Return a level with the categories that the filters leave."""
        variable, level = self.schema.find(name)
        shown = np.ones(len(level), bool)
        for f in self.filters:
            if f.variable is variable:
                shown[:] = False
                shown[level.of[f.allowed]] = True
        return Axis(variable, level, np.flatnonzero(shown))

    @property
    def question(self) -> Question | None:
        """The question, None while there is no variable."""
        return Question(self.schema, self.axes, self.filters) if self.by else None

    def zone_of(self, variable: str) -> str | None:
        """Return the zone a variable stands in."""
        for zone in ZONES:
            if self.level_in(zone, variable) is not None:
                return zone
        return None

    def level_in(self, zone: str, variable: str) -> str | None:
        """Return the level of a variable in a zone."""
        levels: tuple[str, ...] = getattr(self, zone)
        return next((name for name in levels if self.schema.find(name)[0].id == variable), None)

    def level_of(self, variable: str) -> str | None:
        """Return the level at which a variable is in the table."""
        zone = self.zone_of(variable)
        return None if zone is None else self.level_in(zone, variable)

    def filter_of(self, variable: str) -> Filter | None:
        """Return the filter on a variable."""
        return next((f for f in self.filters if f.variable.id == variable), None)

    # Changes

    def placed(self, zones: Mapping[str, tuple[str, ...]]) -> State:
        """Return the state with other levels in some zones."""
        return State(
            self.schema,
            zones.get("rows", self.rows),
            zones.get("columns", self.columns),
            zones.get("layers", self.layers),
            self.filters,
        )

    def without(self, variable: str) -> State:
        """Return the state with a variable taken out of the table; a filter on it stays."""
        level = self.level_of(variable)
        return self.placed(
            {zone: tuple(n for n in getattr(self, zone) if n != level) for zone in ZONES}
        )

    def moved(self, variable: str, zone: str, level: str | None = None) -> State:
        """Return the state with a variable at the end of a zone, added if it is not there."""
        if zone not in ZONES:
            raise ParameterError(f"zone must be rows, columns or layers. Got '{zone[:64]}'.")
        found, _ = self.schema.find(variable)
        level = level or self.level_of(found.id) or self.likely_level(found).id
        out = self.without(found.id)
        return out.placed({zone: (*getattr(out, zone), level)})

    def added(self, variable: str) -> State:
        """Return the state with a variable where it is likely to be wanted."""
        found, _ = self.schema.find(variable)
        narrow = len(self.axis(self.likely_level(found).id)) <= 12
        return self.moved(
            found.id, "columns" if self.rows and not self.columns and narrow else "rows"
        )

    def likely_level(self, variable: Variable) -> Level:
        """Return the level that is likely to be wanted: that of the areas that were chosen."""
        f = self.filter_of(variable.id) if variable.is_geography else None
        return usual_level(variable) if f is None else said_level(f)

    def shifted(self, variable: str, by: int) -> State:
        """Return the state with a variable one place earlier (−1) or later (1) in its zone."""
        zone = self.zone_of(variable)
        if zone is None:
            return self
        levels = list(getattr(self, zone))
        at = levels.index(self.level_in(zone, variable))
        to = min(max(at + by, 0), len(levels) - 1)
        levels.insert(to, levels.pop(at))
        return self.placed({zone: tuple(levels)})

    def at_level(self, variable: str, level: str) -> State:
        """Return the state with a variable at another level."""
        found, _ = self.schema.find(variable)
        new = found.level(level).id
        old = self.level_of(found.id)
        return self.placed(
            {z: tuple(new if n == old else n for n in getattr(self, z)) for z in ZONES}
        )

    def swapped(self) -> State:
        """Return the state with rows and columns exchanged."""
        return replace(self, rows=self.columns, columns=self.rows)

    def kept(
        self, variable: str, allowed: NDArray[np.bool_] | None, level: Level | None = None
    ) -> State:
        """Return the state with a filter on a variable; None, all or nothing takes it away.

        With a level the filter is said at it; otherwise at the coarsest level that can.
        """
        found, _ = self.schema.find(variable)
        others = {f.variable.id: f for f in self.filters if f.variable is not found}
        if allowed is not None and allowed.any() and not allowed.all():
            others[found.id] = Filter(found, allowed, level or _coarsest(found, allowed))
        order = [v.id for v in self.schema.variables]
        return replace(self, filters=tuple(others[v] for v in order if v in others))


def said_level(f: Filter) -> Level:
    """Return the level at which a filter is said: the one it was named at, if that still can."""
    return f.level if _can_say(f.level, f.allowed) else _coarsest(f.variable, f.allowed)


def said(f: Filter) -> str:
    """Return a filter as an address says it."""
    level = said_level(f)
    shown = dict.fromkeys(level.of[f.allowed].tolist())
    return f"{level.id}={'|'.join(encode(level.codes[i]) for i in sorted(shown))}"


def _coarsest(variable: Variable, allowed: NDArray[np.bool_]) -> Level:
    return next(v for v in reversed(variable.levels) if _can_say(v, allowed))


def _can_say(level: Level, allowed: NDArray[np.bool_]) -> bool:
    some = np.zeros(len(level), bool)
    some[level.of[allowed]] = True
    return bool(np.array_equal(some[level.of], allowed))


def usual_level(variable: Variable) -> Level:
    """Return the level someone is likely to want: the finest with a handful of categories."""
    return next((v for v in variable.levels if len(v) <= _HANDFUL), variable.levels[-1])


def of_question(question: Question, like: State) -> State:
    """Return the state of another question, its variables standing as they do in this one."""
    found = State(question.schema, filters=question.filters)
    zones: dict[str, list[tuple[int, str]]] = {zone: [] for zone in ZONES}
    order = [like.schema.find(name)[0].id for name in like.by]
    for axis in question.axes:
        zone = like.zone_of(axis.variable.id) or "rows"
        place = order.index(axis.variable.id) if axis.variable.id in order else len(order)
        zones[zone].append((place, axis.level.id))
    return found.placed({z: tuple(n for _, n in sorted(zones[z])) for z in ZONES})


def _names(text: str) -> list[str]:
    return [part.strip() for part in text[:10_000].split(",") if part.strip()]


def _level(schema: Schema, name: str) -> str:
    return schema.find(*name.split("@", 1))[1].id


def _filters(schema: Schema, where: str) -> tuple[Filter, ...]:
    if not where.strip():
        return ()
    # A question must have a variable; which one does not matter to its filters.
    return Question.of(Query.parse(schema.variables[0].id, where), schema).filters
