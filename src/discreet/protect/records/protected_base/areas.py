"""Areas of a protected base: levels from the smallest to the whole, each nested in the next."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError

NAME = "base"
"""The name of the method, in descriptions of data sets and in what is kept of a build."""

WHOLE = "all areas"
"""What the level of all areas together is called; no level of a geography can have this id."""

LEAST_PEOPLE = 2_000
"""An area with fewer has too few donors of its own; it shares them with those beside it."""

LEAST_SHARING = 500
"""Areas that share donors with fewer people make no base: these would stand there as they are."""


@dataclass(frozen=True, eq=False)
class Areas:
    """`of[l][a]` is the area of level l around smallest area a; the last level is the whole.

    Smallest areas stand in the order of the largest level, then the next, so that every area is
    one stretch of them. `within` is the level whose records are donors for the areas in it.
    """

    of: tuple[NDArray[np.int64], ...]
    within: int

    @classmethod
    def nested(cls, levels: Sequence[NDArray[Any]], within: int) -> Areas:
        """Return the areas of some levels, the whole added to them."""
        if not levels:
            return cls((np.zeros(1, np.int64),), 0)
        of = [np.asarray(level, np.int64) for level in levels]
        if any((np.diff(level) < 0).any() for level in of):
            raise ParameterError("areas must stand in the order of the larger ones around them.")
        return cls((*of, np.zeros(len(of[0]), np.int64)), within)

    @property
    def smallest(self) -> int:
        """The number of smallest areas."""
        return len(self.of[0])

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """The number of areas of each level."""
        return tuple(int(level.max(initial=-1)) + 1 for level in self.of)

    @cached_property
    def parents(self) -> tuple[NDArray[np.int64], ...]:
        """For each level but the last, the area of the next level around each of its areas."""
        found = []
        for level, size, above in zip(self.of, self.sizes, self.of[1:], strict=False):
            parent = np.zeros(size, np.int64)
            parent[level] = above
            found.append(parent)
        return tuple(found)

    def around(self, level: int, area: int) -> int:
        """Return the area of a level around an area of the level of donors."""
        for below in range(self.within, level):
            area = int(self.parents[below][area])
        return area

    def units(self, people: NDArray[np.int64]) -> list[NDArray[np.int64]]:
        """Return the areas whose records are donors for each other: one, or several small ones.

        `people` are those of each area of the level of donors. Areas are joined only with others
        in the same larger area.
        """
        last = self.within == len(self.of) - 1
        parent = np.zeros(len(people), np.int64) if last else self.parents[self.within]
        found: list[list[int]] = []
        for area, size in enumerate(people.tolist()):
            if not size:
                continue
            if found and parent[found[-1][0]] == parent[area]:
                beside = int(people[found[-1]].sum())
                if min(beside, size) < LEAST_PEOPLE:
                    found[-1].append(area)
                    continue
            found.append([area])
        return [np.array(areas, np.int64) for areas in found]

    def too_small(self, people: NDArray[np.int64]) -> list[NDArray[np.int64]]:
        """Return those of the areas that share donors which have too few people for it.

        `people` are those of each smallest area. One smallest area by itself, where all copies are
        at home, needs as many as an area that has donors of its own.
        """
        top, found = self.of[self.within], []
        for unit in self.units(np.bincount(top, people, self.sizes[self.within]).astype(np.int64)):
            own = people[np.isin(top, unit)]
            alone = (own > 0).sum() == 1 and len(self.of) > 1
            if own.sum() < (LEAST_PEOPLE if alone else LEAST_SHARING):
                found.append(unit)
        return found
