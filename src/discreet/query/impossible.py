"""Combinations of categories that nobody can have: zeros that are no secret."""

from __future__ import annotations

from functools import reduce

import numpy as np

from discreet.population.schema import Schema
from discreet.query.classes import QuestionClass
from discreet.query.parse import parse_where
from discreet.query.question import Filter, filters_of
from discreet.types import Flags


def impossible(schema: Schema) -> list[tuple[Filter, ...]]:
    """Return the combinations that a schema declares impossible, each as filters that it meets."""
    return [filters_of(parse_where(text), schema) for text in schema.impossible]


def structural_zeros(of: QuestionClass) -> Flags:
    """Return which cells of the table of a class nobody can be in, by what is declared."""
    shape = tuple(map(len, of.levels))
    found = np.zeros(shape, bool)
    at = {of.schema.find(level.id)[0].id: i for i, level in enumerate(of.levels)}
    for rule in impossible(of.schema):
        if all(f.variable.id in at for f in rule):
            found |= reduce(np.logical_and, (_inside(f, of, at[f.variable.id]) for f in rule))
    return found


def _inside(f: Filter, of: QuestionClass, axis: int) -> Flags:
    """Return which categories of an axis lie wholly inside a filter, shaped for the table."""
    level = of.levels[axis]
    inside = ~level.holding(~f.allowed)
    return inside.reshape([-1 if d == axis else 1 for d in range(len(of.levels))])
