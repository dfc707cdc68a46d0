"""A question looked up in a schema, and its one canonical form.

Two texts that ask for the same thing must be one question, or the second would be answered with
fresh noise. So the order of variables does not count, nor the order of codes, nor the level at
which the same people are picked (ages 0 to 4 one by one, or their band).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from math import prod

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError
from discreet.population.schema import Level, Schema, Variable
from discreet.query.parse import Named, Query, encode
from discreet.table import Dimension
from discreet.types import Flags

_PLACES, _FILTERS, _PLAIN = (
    "places",
    "filters",
    "plain",
)  # what a schema remembers for its questions
_KEPT = 64  # filters that are kept…
_FEW = 100  # …if they have no more codes than this


@dataclass(frozen=True, eq=False)
class Filter:
    """The part of the population that is counted: which finest categories of a variable.

    `level` is the finest at which the question names categories, and can say them: no category of
    it is picked in part.
    """

    variable: Variable
    allowed: Flags
    level: Level

    def __post_init__(self) -> None:
        if not self.level.can_say(self.allowed):
            raise ParameterError(
                f"a filter on '{self.variable.id}' must pick whole categories of '{self.level.id}'."
            )

    @cached_property
    def picked(self) -> NDArray[np.intp]:
        """The categories of its level that it picks."""
        return np.flatnonzero(self.level.holding(self.allowed))

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels of the categories that it picks."""
        return tuple(self.level.labels[i] for i in self.picked)

    @cached_property
    def restated(self) -> Filter:
        """This filter at the coarsest level that can say it."""
        return replace(self, level=self.variable.coarsest(self.allowed))

    @cached_property
    def rank(self) -> int:
        """The place of the coarsest level of the variable's chain that can say it, 1 the first."""
        chain = enumerate(reversed(self.variable.chain), 1)
        return next(rank for rank, level in chain if level.can_say(self.allowed))

    def widened(self, level: Level) -> Filter:
        """Return the filter that picks every category of a level that this one picks from."""
        return Filter(self.variable, level.holding(self.allowed)[level.of], level)

    @property
    def text(self) -> str:
        """The filter as it is asked for."""
        return f"{self.level.id}={'|'.join(encode(self.level.codes[i]) for i in self.picked)}"

    @cached_property
    def canonical(self) -> str:
        """The filter at the coarsest level that can say it, codes in the schema's order."""
        return self.restated.text


@dataclass(frozen=True, eq=False)
class Axis:
    """A variable of the table at a level; `kept` are the indices of the categories it shows."""

    variable: Variable
    level: Level
    kept: NDArray[np.intp]

    @classmethod
    def of(cls, variable: Variable, level: Level, filters: Iterable[Filter]) -> Axis:
        """Return the axis with the categories that the filters leave."""
        for f in filters:
            if f.variable is variable:
                return cls(variable, level, np.flatnonzero(level.holding(f.allowed)))
        return cls(variable, level, np.arange(len(level)))

    @classmethod
    def whole(cls, schema: Schema, level: Level) -> Axis:
        """Return the axis with all categories of a level: one object for it."""
        found: Axis | None = schema.memo.get(level)
        if found is None:
            found = schema.memo[level] = cls.of(schema.find(level.id)[0], level, ())
        return found

    def __len__(self) -> int:
        return len(self.kept)

    @cached_property
    def dimension(self) -> Dimension:
        """The axis as the table describes it."""
        whole = len(self.kept) == len(self.level)
        codes, labels = self.level.codes, self.level.labels
        return Dimension(
            self.variable.id,
            self.level.id,
            self.level.label,
            codes if whole else tuple(codes[i] for i in self.kept),
            labels if whole else tuple(labels[i] for i in self.kept),
        )

    def position(self, finest: NDArray[np.intp] | slice = slice(None)) -> NDArray[np.int64]:
        """Return the place along the axis of finest categories, −1 where they are not shown."""
        place = np.full(len(self.level), -1, np.int64)
        place[self.kept] = np.arange(len(self.kept))
        return place[self.level.of[finest]]

    @property
    def parents(self) -> NDArray[np.integer]:
        """The area of the next larger level that each shown area lies in."""
        above = self.variable.above(self.level)
        if not above:
            return np.zeros(len(self), np.int64)
        return np.asarray(above[0].of[self.level.member[self.kept]])


@dataclass(frozen=True, eq=False)
class Question:
    """A question that this schema can answer; two are equal if their canonical forms are.

    `levels` has a level for each variable of the table, in the order asked.
    """

    schema: Schema
    levels: tuple[Level, ...]
    filters: tuple[Filter, ...] = ()

    def __post_init__(self) -> None:
        seen = set()
        for level in self.levels:
            variable = self.schema.find(level.id)[0].id
            if variable in seen:
                raise ParameterError(
                    f"'{variable}' must stand in a table once. It is asked for again as "
                    f"'{level.id}'."
                )
            seen.add(variable)

    @classmethod
    def of(cls, query: Query, schema: Schema) -> Question:
        """Return the question; the error for an unknown name lists the choices."""
        filters = filters_of(query.where, schema)
        levels = tuple(schema.find(*name)[1] for name in query.by)
        return cls(schema, levels, filters) if filters else cls.plain(schema, levels)

    @classmethod
    def plain(cls, schema: Schema, levels: tuple[Level, ...]) -> Question:
        """Return the question without filters for some levels: one object, which knows its axes."""
        found: Question = schema.kept((_PLAIN, levels), lambda: cls(schema, levels))
        return found

    def _for(self, levels: tuple[Level, ...]) -> Question:
        """Return the question for other levels, with the same filters."""
        if self.filters:
            return Question(self.schema, levels, self.filters)
        return Question.plain(self.schema, levels)

    # As a table

    @cached_property
    def axes(self) -> tuple[Axis, ...]:
        """The axes of the table, in the order asked."""
        whole = tuple([Axis.whole(self.schema, level) for level in self.levels])
        if not self.filters:
            return whole
        limited = {f.variable.id for f in self.filters}
        return tuple(
            Axis.of(axis.variable, axis.level, self.filters)
            if axis.variable.id in limited
            else axis
            for axis in whole
        )

    @cached_property
    def ranks(self) -> tuple[int, ...]:
        """By variable the coarsest level of its chain that can say the question, 0 for none."""
        found = [0] * len(self.schema.variables)
        for axis in self.axes:
            found[self._places[axis.variable.id]] = axis.variable.ranks[axis.level.id]
        for f in self.filters:
            at = self._places[f.variable.id]
            found[at] = max(found[at], f.rank)
        return tuple(found)

    @property
    def _places(self) -> dict[str, int]:
        """The place of each variable among those of the schema."""
        variables = self.schema.variables
        found: dict[str, int] = self.schema.kept(
            _PLACES, lambda: {variable.id: i for i, variable in enumerate(variables)}
        )
        return found

    @property
    def dimensions(self) -> tuple[Dimension, ...]:
        """The dimensions of the answer, in the order asked."""
        return tuple(axis.dimension for axis in self.axes)

    @property
    def cells(self) -> int:
        """The number of cells of the answer, known before anything is counted."""
        return prod(len(axis) for axis in self.axes)

    @property
    def geography(self) -> int | None:
        """Which axis shows areas, None where none does."""
        return next((i for i, axis in enumerate(self.axes) if axis.variable.is_geography), None)

    @property
    def areas(self) -> Axis | None:
        """The axis that shows areas, None where none does."""
        return None if self.geography is None else self.axes[self.geography]

    def shows(self, variable: Variable) -> bool:
        """Whether a variable is in the table."""
        return any(axis.variable is variable for axis in self.axes)

    def place_of(self, variable: Variable, level: Level) -> NDArray[np.int64]:
        """Return where each category of a level goes along its axis, −1 where nowhere.

        Of a variable that is not shown, 0 for the categories that are counted. The level must be
        able to say the question: any finest category of a category then stands for it.
        """
        finest = level.member
        axis = next((axis for axis in self.axes if axis.variable is variable), None)
        place = np.zeros(len(level), np.int64) if axis is None else axis.position(finest)
        f = self.filter_on(variable)
        there = finest >= 0
        return np.where(there if f is None else there & f.allowed[finest], place, -1)

    def filter_on(self, variable: Variable | None) -> Filter | None:
        """Return the filter on a variable, None where there is none."""
        return next((f for f in self.filters if f.variable is variable), None)

    # As text

    @property
    def by(self) -> str:
        """The variables as they are asked for."""
        return ",".join(level.id for level in self.levels)

    @property
    def where(self) -> str:
        """The filters as they are asked for; empty where there are none."""
        return ",".join(f.text for f in self.filters)

    @cached_property
    def canonical(self) -> str:
        """The one text of this question: variables and filters in the order of the schema."""
        text = f"by={','.join(self.levels[i].id for i in self.order)}"
        if self.filters:
            text += "&where=" + ",".join(f.canonical for f in self.filters)
        return text

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Question) and self._identity == other._identity

    def __hash__(self) -> int:
        return hash(self._identity)

    @property
    def _identity(self) -> tuple[str, str]:
        return self.schema.id, self.canonical

    # As other questions

    @cached_property
    def order(self) -> list[int]:
        """The axes in the order of the schema."""
        place = [self._places[axis.variable.id] for axis in self.axes]
        return sorted(range(len(place)), key=place.__getitem__)

    @cached_property
    def ordered(self) -> Question:
        """This question with its variables in the order of the schema."""
        return self._for(tuple(self.levels[i] for i in self.order))

    @property
    def restated(self) -> Question:
        """This question with each filter at the coarsest level that can say it."""
        stated = tuple(f.restated for f in self.filters)
        return Question(self.schema, self.levels, stated) if stated else self

    @cached_property
    def margins(self) -> tuple[tuple[tuple[int, ...], Question], ...]:
        """The question of each kind of total, with the axes that it sums over.

        A filter stays: the total of some categories is not that of all.
        """
        axes = range(len(self.axes))
        found = []
        for summed in (s for size in axes for s in combinations(axes, size + 1)):
            left = tuple(self.levels[i] for i in axes if i not in summed)
            found.append((summed, self._for(left)))
        return tuple(found)

    def without(self, i: int) -> Question:
        """Return the question without one of its axes; a filter on it stays."""
        return self._for(self.levels[:i] + self.levels[i + 1 :])

    def at_level(self, i: int, level: Level) -> Question:
        """Return the question with one axis at another level; a filter on it is widened."""
        levels = (*self.levels[:i], level, *self.levels[i + 1 :])
        other = self._for(levels)
        f = self.filter_on(self.axes[i].variable)
        return other if f is None else other.filtered(f.widened(level))

    def filtered(self, f: Filter) -> Question:
        """Return the question with this filter instead of any other on its variable."""
        return Question(self.schema, self.levels, with_filter(self.filters, f, self.schema))

    def unfiltered(self, f: Filter) -> Question:
        """Return the question without one of its filters."""
        left = tuple(other for other in self.filters if other is not f)
        return Question(self.schema, self.levels, left)


def filters_of(where: Named, schema: Schema) -> tuple[Filter, ...]:
    """Return the filters that names and codes say, in the order of the schema."""
    if len(where) == 1:  # as it mostly is, and about areas that others ask about too
        return _one_filter(where[0], schema)
    return _filters_of(where, schema)


def _one_filter(where: tuple[str, tuple[str, ...]], schema: Schema) -> tuple[Filter, ...]:
    """Return the filter that one name with its codes says; those asked last are kept."""
    kept: dict[tuple[str, tuple[str, ...]], tuple[Filter, ...]]
    kept = schema.memo.setdefault(_FILTERS, {})
    found = kept.get(where)
    if found is None:
        found = _filters_of((where,), schema)
        if len(kept) >= _KEPT:
            kept.clear()
        if len(where[1]) <= _FEW:
            kept[where] = found
    return found


def _filters_of(where: Named, schema: Schema) -> tuple[Filter, ...]:
    found: dict[str, Filter] = {}
    for name, codes in where:
        variable, level = schema.find(*name.split("@", 1))
        allowed = level.members(codes)
        if variable.id in found:
            before = found[variable.id]
            allowed &= before.allowed
            level = min(level, before.level, key=variable.levels.index)
        if not allowed.any():
            raise ParameterError(
                f"the filters on '{variable.id}' must leave a category. They leave none."
            )
        if not level.can_say(allowed):  # two groupings that cut across each other
            level = variable.coarsest(allowed)
        found[variable.id] = Filter(variable, allowed, level)
    filters: tuple[Filter, ...] = ()
    for f in found.values():
        filters = with_filter(filters, f, schema)
    return filters


def with_filter(filters: Iterable[Filter], new: Filter, schema: Schema) -> tuple[Filter, ...]:
    """Return filters in the order of the schema, with this one in place of any on its variable.

    A filter that leaves everybody in is dropped.
    """
    kept = [f for f in filters if f.variable is not new.variable]
    if not new.allowed.all():
        kept.append(new)
    return tuple(sorted(kept, key=lambda f: schema.variables.index(f.variable)))
