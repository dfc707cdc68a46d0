"""Those who pass filters, counted and copied piece by piece, by as many threads as are free."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

Arrays = tuple[NDArray[Any], ...]
Work = Callable[[int, Iterator[Any]], None]


@dataclass(frozen=True, eq=False)
class Picked:
    """How many pass before each piece begins, and at last; how many before each area, if any."""

    before: tuple[int, ...]
    areas: NDArray[np.int64]

    @property
    def rows(self) -> int:
        """How many pass."""
        return self.before[-1]


@dataclass(frozen=True, eq=False)
class Picking:
    """Counts and copies those of some pieces of the records that pass filters.

    `kernels` may be their twins, which need none of the buffers that `room` makes. `share` lets
    threads take work until none is left, and `check` raises an error to stop it.
    """

    kernels: Any
    room: Callable[[Arrays, Arrays], Any]
    records: Arrays
    filters: Arrays
    pieces: list[tuple[int, int]]
    share: Callable[[Work, list[Any], int], None]
    threads: int
    check: Callable[[], None]

    def count(self, starts: NDArray[np.int64], most: int) -> Picked | None:
        """Return how many pass; none if they are more than `most`."""
        found = [0] * len(self.pieces)
        areas = np.zeros(len(starts), np.int64)
        first = np.searchsorted(starts, [begin for begin, _ in self.pieces]).tolist()

        def work(thread: int, todo: Iterator[int]) -> None:
            room = self.room(self.records, self.filters)
            for i in todo:
                self.check()
                if sum(found) > most:
                    return
                given = self.records, self.filters, starts, first[i], *self.pieces[i], areas, room
                found[i] = self.kernels.count_passing(*given)

        self._shared(work)
        if sum(found) > most:
            return None
        before = (0, *accumulate(found))
        for i, passed in enumerate(before[:-1]):
            areas[first[i] : first[i + 1] if i + 1 < len(first) else None] += passed
        areas[np.searchsorted(starts, self.pieces[-1][1]) :] = before[-1]
        return Picked(before, areas)

    def copy(self, columns: Arrays, picked: Picked, out: Arrays) -> None:
        """Copy columns, and keys and counts where there is room for them, of those who pass."""

        def work(thread: int, todo: Iterator[int]) -> None:
            room = self.room(self.records, self.filters)
            for i in todo:
                self.check()
                given = self.records, columns, self.filters, *self.pieces[i], out, picked.before[i]
                self.kernels.copy_passing(*given, room)

        self._shared(work)

    def _shared(self, work: Work) -> None:
        """Let threads do the work for each piece."""
        todo = list(range(len(self.pieces)))
        self.share(work, todo, min(self.threads, len(todo)))
