"""What the builder's form holds: which variable stands where, and who is counted.

The state is the address. Reading an address and writing it again gives one canonical address.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import chain
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
        return cls(schema, filters=filters, **{z: tuple(names) for z, names in zones.items()})

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
        level = self.level_of(variable)
        return next((zone for zone in ZONES if level in getattr(self, zone)), None)

    def level_of(self, variable: str) -> str | None:
        """Return the level at which a variable is in the table."""
        return next((n for n in self.by if self.schema.find(n)[0].id == variable), None)

    def filter_of(self, variable: str) -> Filter | None:
        """Return the filter on a variable."""
        return next((f for f in self.filters if f.variable.id == variable), None)

    # Changes

    def _placed(self, zones: Mapping[str, tuple[str, ...]]) -> State:
        now = {zone: getattr(self, zone) for zone in ZONES}
        return State(self.schema, filters=self.filters, **now | dict(zones))

    def _changed(self, change: Callable[[str], Iterable[str]]) -> State:
        """Return the state with each level replaced by what a change makes of it."""
        return self._placed({z: tuple(chain(*map(change, getattr(self, z)))) for z in ZONES})

    def without(self, variable: str) -> State:
        """Return the state with a variable taken out of the table; a filter on it stays."""
        gone = self.level_of(variable)
        return self._changed(lambda level: () if level == gone else (level,))

    def at_level(self, variable: str, level: str) -> State:
        """Return the state with a variable at another level."""
        found, _ = self.schema.find(variable)
        old, new = self.level_of(found.id), found.level(level).id
        return self._changed(lambda level: (new if level == old else level,))

    def moved(self, variable: str, zone: str, level: str | None = None) -> State:
        """Return the state with a variable at the end of a zone, added if it is not there."""
        if zone not in ZONES:
            raise ParameterError(f"zone must be rows, columns or layers. Got '{zone[:64]}'.")
        found, _ = self.schema.find(variable)
        level = level or self.level_of(found.id) or self.likely_level(found).id
        out = self.without(found.id)
        return out._placed({zone: (*getattr(out, zone), level)})

    def added(self, variable: str) -> State:
        """Return the state with a variable where it is likely to be wanted."""
        found, _ = self.schema.find(variable)
        narrow = len(self.axis(self.likely_level(found).id)) <= 12
        beside = self.rows and not self.columns and narrow
        return self.moved(found.id, "columns" if beside else "rows")

    def likely_level(self, variable: Variable) -> Level:
        """Return the level that is likely to be wanted: that of the areas that were chosen."""
        f = self.filter_of(variable.id) if variable.is_geography else None
        return usual_level(variable) if f is None else f.level

    def shifted(self, variable: str, by: int) -> State:
        """Return the state with a variable one place earlier (−1) or later (1) in its zone."""
        zone, level = self.zone_of(variable), self.level_of(variable)
        if zone is None:
            return self
        levels = list(getattr(self, zone))
        at = levels.index(level)
        levels.insert(min(max(at + by, 0), len(levels) - 1), levels.pop(at))
        return self._placed({zone: tuple(levels)})

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
    order = [like.schema.find(name)[0].id for name in like.by]
    known = {axis.variable.id: axis.level.id for axis in question.axes}
    placed = sorted(known, key=lambda v: order.index(v) if v in order else len(order))
    zones = {
        zone: tuple(known[v] for v in placed if (like.zone_of(v) or "rows") == zone)
        for zone in ZONES
    }
    return State(question.schema, filters=question.filters, **zones)
