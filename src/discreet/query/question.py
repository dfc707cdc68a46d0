"""A question looked up in a schema, and its one canonical form.

Two texts that ask for the same thing must be one question, or the second would be answered with
fresh noise. So the order of variables does not count, nor the order of codes, nor the level at
which the same people are picked (ages 0 to 4 one by one, or their band).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import prod

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError
from discreet.population.schema import Level, Schema, Variable
from discreet.query.parse import Query, encode
from discreet.table import Dimension


@dataclass(frozen=True, eq=False)
class Axis:
    """A variable of the table at a level; `kept` are the indices of the categories it shows."""

    variable: Variable
    level: Level
    kept: NDArray[np.intp]

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


@dataclass(frozen=True, eq=False)
class Filter:
    """The part of the population that is counted: which finest categories of a variable.

    `level` is the finest at which the question names categories; it can tell them apart.
    """

    variable: Variable
    allowed: NDArray[np.bool_]
    level: Level

    def canonical(self) -> str:
        """Return the filter at the coarsest level that can say it, codes in the schema's order."""
        return self._canonical

    @cached_property
    def picked(self) -> int:
        """The number of categories of its level that it picks, whole or in part."""
        chosen = np.zeros(len(self.level), bool)
        chosen[self.level.of[self.allowed]] = True
        return int(chosen.sum())

    @cached_property
    def _canonical(self) -> str:
        for level in reversed(self.variable.levels):
            some = np.zeros(len(level), bool)
            some[level.of[self.allowed]] = True
            if np.array_equal(some[level.of], self.allowed):
                codes = "|".join(encode(level.codes[i]) for i in np.flatnonzero(some))
                return f"{level.id}={codes}"
        raise AssertionError("the finest level can say any filter")


@dataclass(frozen=True, eq=False)
class Question:
    """A question that this schema can answer; equal if its canonical form is."""

    schema: Schema
    axes: tuple[Axis, ...]
    filters: tuple[Filter, ...]

    @classmethod
    def of(cls, query: Query, schema: Schema) -> Question:
        """Return the question, or complain about the first name that the schema does not have."""
        allowed: dict[str, NDArray[np.bool_]] = {}
        named: dict[str, Level] = {}
        for name, codes in query.where:
            variable, level = schema.find(*name.split("@", 1))
            chosen = np.zeros(len(level), bool)
            chosen[[level.index(code) for code in codes]] = True
            before = allowed.get(variable.id)
            allowed[variable.id] = chosen[level.of] if before is None else chosen[level.of] & before
            named[variable.id] = min(
                level, named.get(variable.id, level), key=variable.levels.index
            )
            if not allowed[variable.id].any():
                raise ParameterError(
                    f"the filters on '{variable.id}' must leave a category. They leave none."
                )
        filters = tuple(
            Filter(variable, allowed[variable.id], named[variable.id])
            for variable in schema.variables
            if variable.id in allowed and not allowed[variable.id].all()
        )
        axes: list[Axis] = []
        for name, level_name in query.by:
            variable, level = schema.find(name, level_name)
            if any(axis.variable is variable for axis in axes):
                raise ParameterError(
                    f"'{variable.id}' must stand in a table once. It is asked for again as "
                    f"'{level.id}'."
                )
            shown = np.ones(len(level), bool)
            if variable.id in allowed:
                shown[:] = False
                shown[level.of[allowed[variable.id]]] = True
            axes.append(Axis(variable, level, np.flatnonzero(shown)))
        return cls(schema, tuple(axes), filters)

    @cached_property
    def canonical(self) -> str:
        """The one text of this question: variables and filters in the order of the schema."""
        order = {variable.id: i for i, variable in enumerate(self.schema.variables)}
        by = sorted(self.axes, key=lambda axis: order[axis.variable.id])
        text = "by=" + ",".join(axis.level.id for axis in by)
        if self.filters:
            text += "&where=" + ",".join(f.canonical() for f in self.filters)
        return text

    @property
    def dimensions(self) -> tuple[Dimension, ...]:
        """The dimensions of the answer, in the order asked."""
        return tuple(axis.dimension for axis in self.axes)

    @property
    def cells(self) -> int:
        """The number of cells of the answer, known before anything is counted."""
        return prod(len(axis) for axis in self.axes)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Question) and self._identity == other._identity

    def __hash__(self) -> int:
        return hash(self._identity)

    @property
    def _identity(self) -> tuple[str, str]:
        return self.schema.id, self.canonical
