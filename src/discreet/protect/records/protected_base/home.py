"""How often copies of people stand where these live: it must tell no more than chance does."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.protect.keys import purposes
from discreet.protect.records.protected_base.areas import Areas
from discreet.protect.records.protected_base.method import Fitted
from discreet.protect.records.protected_base.records import Records

_CHUNK = 2**20  # records whose codes are mixed at a time


@dataclass(frozen=True)
class AtHome:
    """Copies of donors with somebody whose whole pattern nobody shares; how many are at home."""

    copies: int
    at_home: int
    expected: float

    @property
    def share(self) -> float:
        """The share that is at home."""
        return self.at_home / max(self.copies, 1)

    @property
    def by_chance(self) -> float:
        """The share that would be, if copies were placed by lot."""
        return self.expected / max(self.copies, 1)

    def as_dict(self) -> dict[str, float]:
        """Return both shares, and of how many copies they are."""
        return {
            "share": round(self.share, 4),
            "by_chance": round(self.by_chance, 4),
            "copies": self.copies,
        }


def alone(records: Records) -> NDArray[np.bool_]:
    """Return which records have a pattern, all columns of it, that no other record has."""
    marks = np.zeros(len(records.area), np.uint64)
    for start in range(0, len(marks), _CHUNK):
        own = slice(start, start + _CHUNK)
        for column in records.codes:
            marks[own] = purposes(marks[own] ^ column[own].astype(np.uint64), 2)
    order = np.argsort(marks, kind="stable")
    other = np.diff(marks[order]) != 0
    found = np.empty(len(marks), np.bool_)
    found[order] = np.concatenate([[True], other]) & np.concatenate([other, [True]])
    return found


def at_home(records: Records, areas: Areas, fitted: Fitted) -> list[AtHome]:
    """Return how often copies are at home, for every level below that of donors, or for it.

    By lot a copy has the same chance of every place that is for as many people, in all areas that
    share its donors.
    """
    rows = np.arange(len(fitted.donor))
    whose = rows if fitted.household is None else fitted.household
    first = np.flatnonzero(np.diff(whose, prepend=-1))
    told = np.logical_or.reduceat(alone(records)[fitted.donor], first)
    size = np.diff(first, append=len(rows))
    lives, placed = records.area[fitted.donor[first]].astype(np.int64), fitted.area[first]
    unit = np.zeros(areas.sizes[areas.within], np.int64)
    for number, tops in enumerate(fitted.units):
        unit[tops] = number
    unit = unit[areas.of[areas.within]]
    most = int(size.max(initial=0)) + 1
    every = np.bincount(unit[placed] * most + size)
    found = []
    for of in areas.of[: max(areas.within, 1)]:
        length = (int(of.max()) + 1) * most
        there = np.bincount(of[placed] * most + size, minlength=length)
        chances = there[of[lives] * most + size] / every[unit[placed] * most + size]
        home = of[lives] == of[placed]
        found.append(AtHome(int(told.sum()), int(home[told].sum()), float(chances[told].sum())))
    return found
