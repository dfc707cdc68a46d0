"""Which classes of questions are guarded: decided from the schema and a public number alone."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, reduce
from math import prod

import numpy as np
from numpy.typing import NDArray

from discreet.errors import QueryRefused
from discreet.policy import SpaceRules
from discreet.population import Schema
from discreet.query import QuestionClass
from discreet.rules import Code
from discreet.types import Flags

# A table that may be made covers thousands of classes; a question on every variable, billions.
_MOST_BELOW = 1 << 22

Classes = tuple[QuestionClass, ...]


def public_population(rules: SpaceRules, rows: int) -> int:
    """Return the size of the population as published, or the records rounded to two digits.

    >>> public_population(SpaceRules(), 12_345)
    12000
    """
    return rules.population or int(float(f"{rows:.1e}"))


@dataclass(frozen=True)
class Space:
    """All classes of questions about a population, and which of them are guarded.

    A class that covers a guarded one is guarded as well. What is asked here takes time with the
    classes below: one that covers too many to be counted is refused as too large.
    """

    schema: Schema
    population: int
    rules: SpaceRules

    def guarded(self, c: QuestionClass) -> bool:
        """Whether the cells of a class hold fewer people, on average, than the rules ask for."""
        return self.rules.guards and self.population < self.rules.guard_below * c.cells

    def guarded_below(self, c: QuestionClass) -> Classes:
        """Return the guarded classes that a class covers, itself included."""
        return self._classes(c, self._guarded_grid(c)) if self.guarded(c) else ()

    def edge(self, c: QuestionClass) -> Classes:
        """Return the guarded classes below a class that cover no other guarded class.

        Whatever shows a guarded class shows one of these, so no class has more looks than they.
        """
        return self._classes(c, _lowest(self._guarded_grid(c))) if self.guarded(c) else ()

    @cached_property
    def _sizes(self) -> list[NDArray[np.float64]]:
        """By variable the number of categories at each rank, 1 where it is not in the table."""
        return [
            np.array([1, *(len(level) for level in reversed(variable.chain))], float)
            for variable in self.schema.variables
        ]

    def _guarded_grid(self, c: QuestionClass) -> Flags:
        """Return which classes below are guarded, along an axis for each variable of the class."""
        if prod(rank + 1 for rank in c.ranks) > _MOST_BELOW:
            raise QueryRefused(Code.TOO_LARGE, Code.TOO_LARGE.sentence)
        along = [
            sizes[: rank + 1] for sizes, rank in zip(self._sizes, c.ranks, strict=True) if rank
        ]
        cells = reduce(np.multiply.outer, along, np.ones(()))
        return np.asarray(self.population < self.rules.guard_below * cells)

    def _classes(self, c: QuestionClass, grid: Flags) -> Classes:
        """Return the classes that a grid marks."""
        used = np.flatnonzero(c.ranks)
        marked = np.argwhere(grid)
        ranks = np.zeros((len(marked), len(c.ranks)), int)
        ranks[:, used] = marked
        return tuple(QuestionClass(self.schema, tuple(row)) for row in ranks.tolist())


def _lowest(grid: Flags) -> Flags:
    """Return which of the marked are above no other that is marked."""
    found = grid.copy()
    for axis in range(grid.ndim):
        higher, lower = np.moveaxis(found, axis, 0)[1:], np.moveaxis(grid, axis, 0)[:-1]
        higher &= ~lower
    return found
