"""What the builder's form holds: which variable stands where, and who is counted.

The state is the address. Reading an address and writing it again gives one canonical address.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from urllib.parse import quote

import numpy as np

from discreet.errors import ParameterError
from discreet.population import Level, Schema, Variable
from discreet.query import Axis, Filter, Question
from discreet.query.parse import parse_where, parts
from discreet.query.question import filters_of, with_filter
from discreet.types import Flags

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
        names = [name.split("@", 1) for name in parts(values.get("by", ""), "by")]
        placed = [schema.find(*name)[1] for name in names]
        filters = filters_of(parse_where(values.get("where") or None), schema)
        axes = Question(schema, tuple(placed), filters).axes
        variables = [axis.variable for axis in axes]
        zone = {}
        for name in ("columns", "layers"):
            for level in parts(values.get(name, ""), name):
                found = schema.find(*level.split("@", 1))[0]
                if found not in variables:
                    raise ParameterError(f"{name} must be among the variables asked for.")
                zone[variables.index(found)] = name
        if "columns" not in values and "layers" not in values and len(placed) > 1:
            zone[min(range(len(axes)), key=lambda i: (len(axes[i]), -i))] = "columns"
        zones: dict[str, list[str]] = {name: [] for name in ZONES}
        for i, axis in enumerate(axes):
            zones[zone.get(i, "rows")].append(axis.level.id)
        return cls(schema, filters=filters).placed({z: tuple(n) for z, n in zones.items()})

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
        return ",".join(f.text for f in self.filters)

    @property
    def axes(self) -> tuple[Axis, ...]:
        """The axes of the table."""
        return self.axes_of(self.by)

    def axes_of(self, levels: tuple[str, ...]) -> tuple[Axis, ...]:
        """Return the axes of some levels."""
        return tuple(self.axis(level) for level in levels)

    def axis(self, name: str) -> Axis:
        """Return a level with the categories that the filters leave."""
        return Axis.of(*self.schema.find(name), self.filters)

    @property
    def question(self) -> Question | None:
        """The question, None while there is no variable."""
        levels = tuple(self.schema.find(name)[1] for name in self.by)
        return Question(self.schema, levels, self.filters) if levels else None

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
        return usual_level(variable) if f is None else f.said.level

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

    def kept(self, variable: str, allowed: Flags | None, level: Level | None = None) -> State:
        """Return the state with a filter on a variable; None, all or nothing takes it away.

        With a level the filter is said at it; otherwise at the coarsest level that can.
        """
        found, _ = self.schema.find(variable)
        if allowed is None or not allowed.any():
            allowed = np.ones(len(found.finest), bool)
        new = Filter(found, allowed, level or found.coarsest(allowed))
        return replace(self, filters=with_filter(self.filters, new, self.schema))


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
