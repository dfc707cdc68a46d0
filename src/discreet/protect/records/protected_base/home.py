"""How often copies of people stand where these live: it must tell no more than chance does."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from discreet.protect.keys import purposes
from discreet.protect.records.protected_base.areas import Areas
from discreet.protect.records.protected_base.method import Fitted
from discreet.protect.records.protected_base.records import Records

_CHUNK = 2**20  # records and copies that are looked at at a time

RARE = 0.003
"""A category that a smaller share of all people have is rare."""


@dataclass(frozen=True)
class AtHome:
    """Copies of donors with somebody who is looked for; how many are at home."""

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
    for own in _slices(len(marks)):
        for column in records.codes:
            marks[own] = purposes(marks[own] ^ column[own].astype(np.uint64), 2)
    # Where each stands in order would take as much memory again: shared marks are looked up.
    order = np.sort(marks)
    shared = order[1:][order[1:] == order[:-1]]
    found = np.ones(len(marks), np.bool_)
    if len(shared):
        for own in _slices(len(marks)):
            place = np.minimum(np.searchsorted(shared, marks[own]), len(shared) - 1)
            found[own] = shared[place] != marks[own]
    return found


def rare(records: Records) -> NDArray[np.bool_]:
    """Return which records have a category that few of all have, in any column."""
    found = np.zeros(len(records.area), np.bool_)
    for column in records.codes:
        found |= (np.bincount(column) < RARE * len(found))[column]
    return found


def at_home(
    records: Records, areas: Areas, fitted: Fitted, who: NDArray[np.bool_] | None = None
) -> list[AtHome]:
    """Return how often copies are at home, for every level below that of donors, or for it.

    Of donors with somebody of those records; else of those alone with their pattern.
    By lot a copy has the same chance of every place that is for as many people, in all areas that
    share its donors.
    """
    copies = _Copies(records, fitted, alone(records) if who is None else who)
    unit = np.zeros(areas.sizes[areas.within], np.int64)
    for number, tops in enumerate(fitted.units):
        unit[tops] = number
    unit, most = unit[areas.of[areas.within]], copies.largest + 1
    places = np.zeros((areas.smallest, most), np.int64)  # for so many people, in smallest areas
    for part in copies.parts():
        np.add.at(places, (part.placed, part.size), 1)
    every = _added(places, unit)
    found = []
    for of in areas.of[: max(areas.within, 1)]:
        chance = _added(places, of)[of] / np.maximum(every[unit], 1)
        number = home = 0
        expected = 0.0
        for part in copies.parts():
            number += int(part.told.sum())
            home += int((of[part.lives] == of[part.placed])[part.told].sum())
            expected += float(chance[part.lives, part.size][part.told].sum())
        found.append(AtHome(number, home, expected))
    return found


def _added(places: NDArray[np.int64], of: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the rows of smallest areas added up by the areas around them."""
    found = np.zeros((int(of.max(initial=-1)) + 1, places.shape[1]), np.int64)
    np.add.at(found, of, places)
    return found


def _slices(length: int) -> Iterator[slice]:
    """Return slices that cover so many records, so that nothing is made as long as they are."""
    return (slice(start, min(start + _CHUNK, length)) for start in range(0, length, _CHUNK))


@dataclass(frozen=True, eq=False)
class _Part:
    """Some copies: where each lives and is placed, its people, and whether one is looked for."""

    lives: NDArray[np.int64]
    placed: NDArray[np.int64]
    size: NDArray[np.int64]
    told: NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class _Copies:
    """The copies of a base: people, or whole households."""

    records: Records
    fitted: Fitted
    who: NDArray[np.bool_]

    @cached_property
    def first(self) -> NDArray[np.int64] | None:
        """Where each household begins, and at last where they end; None where there are none."""
        household = self.fitted.household
        if household is None:
            return None
        return np.append(np.flatnonzero(np.diff(household, prepend=-1)), len(household))

    @property
    def largest(self) -> int:
        """The people of the largest."""
        return 1 if self.first is None else int(np.diff(self.first).max(initial=0))

    def parts(self) -> Iterator[_Part]:
        """Return all copies, some at a time."""
        donor, area, first = self.fitted.donor, self.fitted.area, self.first
        for own in _slices(len(donor) if first is None else len(first) - 1):
            bounds = (
                np.arange(own.start, own.stop + 1)
                if first is None
                else first[own.start : own.stop + 1]
            )
            people = donor[bounds[0] : bounds[-1]]
            start = bounds[:-1]
            told = np.logical_or.reduceat(self.who[people], start - bounds[0])
            lives = self.records.area[donor[start]].astype(np.int64)
            yield _Part(lives, area[start].astype(np.int64), np.diff(bounds), told)
