"""What every engine does, and what they share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from threading import Event, Thread
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from discreet.errors import Stopped
from discreet.query import Question
from discreet.table import CountTable

SPARSE_FROM = 2**20
"""Tables with fewer cells are always dense: what a small table is must not surprise."""

_WATCH = 0.05  # seconds between looks at whether to stop what runs elsewhere

Words = NDArray[np.uint64]


class Engine(Protocol):
    """Counts the records of each cell of a question and sums their keys."""

    def tabulate(self, question: Question, stop: Event | None = None) -> CountTable:
        """Return the table, or raise `Stopped` soon after `stop` is set."""
        ...


@runtime_checkable
class Distant(Protocol):
    """An engine that may be out of reach."""

    def reach(self) -> None:
        """Raise `EngineUnavailable` if nothing would be counted now."""
        ...


def check(stop: Event | None) -> None:
    """Raise `Stopped` if the caller has said stop."""
    if stop is not None and stop.is_set():
        raise Stopped("the tabulation was stopped")


@contextmanager
def stopping(stop: Event | None, cancel: Callable[[], object]) -> Iterator[None]:
    """Call `cancel` from another thread once the caller says stop, again until the work ends."""
    if stop is None:
        yield
        return
    done = Event()

    def watch() -> None:
        while not done.wait(_WATCH):
            if stop.is_set():
                with suppress(Exception):  # whatever it is, the work is still waited for
                    cancel()

    watcher = Thread(target=watch, name="stopping", daemon=True)
    watcher.start()
    try:
        yield
    finally:
        done.set()
        watcher.join()


def gather(cells: Words, at: int, place: NDArray[np.int64], length: int) -> Words:
    """Return the cells with one axis added up into new places; those placed at −1 are left out."""
    return Places(place, length).added_up(cells, at)


@dataclass(frozen=True, eq=False)
class Places:
    """Where the categories of an axis go along one of another `length`, −1 for nowhere."""

    place: NDArray[np.int64]
    length: int

    @cached_property
    def _taken(self) -> tuple[NDArray[np.intp], NDArray[np.int64], NDArray[np.intp]]:
        """The categories that are used in the order of their places, these, where each begins."""
        used = np.flatnonzero(self.place >= 0)
        used = used[np.argsort(self.place[used], kind="stable")]
        return used, *np.unique(self.place[used], return_index=True)

    def added_up(self, array: NDArray[Any], at: int) -> NDArray[Any]:
        """Return an array with one axis added up into its new places."""
        used, found, starts = self._taken
        taken = array.take(used, axis=at)
        if len(starts) < len(used):
            taken = np.add.reduceat(taken, starts, axis=at, dtype=array.dtype)
        if len(found) == self.length:
            return taken
        shape = list(array.shape)
        shape[at] = self.length
        out = np.zeros(shape, array.dtype)
        out[(slice(None),) * at + (found,)] = taken
        return out


def summed_table(
    question: Question, order: list[int], totals: Words, sums: Words | None, modulus: int
) -> CountTable:
    """Return the table of cells whose axes are those of the question in some order.

    The totals have the count in the low half and the key sum modulo 2^32 in the high half. Where
    the modulus does not divide 2^32 the totals are the counts and `sums` has the key sums.
    """
    if sums is None:
        halves = np.ascontiguousarray(totals).view(np.uint32).reshape(*totals.shape, 2)
        counts, keys = halves[..., 0], halves[..., 1]
        if modulus != 2**32:
            keys = keys % np.uint32(modulus)
    else:
        counts, keys = totals.astype(np.uint32), (sums % np.uint64(modulus)).astype(np.uint32)
    back = np.argsort(order)
    counts, keys = counts.transpose(back), keys.transpose(back)
    return smaller(CountTable(question.dimensions, counts, keys, modulus))


def smaller(table: CountTable) -> CountTable:
    """Return a table dense or sparse, whichever takes fewer bytes."""
    if table.size < SPARSE_FROM:
        return table.dense()
    populated = len(table.counts) if table.is_sparse else int(np.count_nonzero(table.counts))
    cell = table.counts.itemsize + table.keys.itemsize
    dense = table.size * cell
    sparse = populated * (cell + 4 * len(table.dimensions))
    return table.sparse() if sparse < dense else table.dense()


def listed_table(
    question: Question, cells: Words, counts: Words, keys: Words, modulus: int
) -> CountTable:
    """Return the table whose populated cells, by row-major index, are the ones given."""
    order = np.argsort(cells)
    cells, counts, keys = cells[order], counts[order], keys[order]
    coordinates = np.empty((len(question.axes), len(cells)), np.uint32)
    for d in range(len(question.axes) - 1, -1, -1):
        cells, coordinates[d] = np.divmod(cells, np.uint64(len(question.axes[d])))
    return smaller(
        CountTable(
            question.dimensions,
            counts.astype(np.uint32),
            keys.astype(np.uint32),
            modulus,
            coordinates,
        )
    )
