"""Memory as the operating system counts it: what is this process's own, and given back.

Caches add up what their values take. The allocator takes more: what is freed in the middle of its
memory stays with the process. So what is free goes back to the system as memory grows. The sum is
compared with what the system says, and caches give way where that is more than they may have
together.
"""

from __future__ import annotations

import ctypes
import gc
import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Protocol

from discreet.release.complete import BUDGET
from discreet.service.opened import Opened
from discreet.tabulate.parts import BUDGET as PARTS
from discreet.tabulate.views import BUDGET as VIEWS

_STATM = Path("/proc/self/statm")
_TRIM_THRESHOLD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -3, -8  # see mallopt(3)
# Bytes of a block that has memory of its own, and goes back to the system as soon as it is free:
# what is kept among smaller blocks leaves holes behind that none of the next ones fits.
_LARGE = 128 * 2**10
_FREE = 32 * 2**20  # bytes that may be free at the end of a heap before they are given back
_ARENAS = 2
_YOUNG, _OLDER = 20_000, (10, 10)  # objects before those that are new are looked through
_LEAST = 0.25  # of the complete tables that a process alone would keep
_GROWN = 16 * 2**20  # bytes by which memory grows before what is free is given back
ROOM = 64 * 2**20
"""Bytes for questions that are being answered, beside what is kept."""


class Shrinks(Protocol):
    """Values that are kept under a budget, and of which some can go."""

    @property
    def budget(self) -> int:
        """The most bytes that are held."""

    def shrink(self, by: int) -> int:
        """Let values of so many bytes go, but for some that stay; return how many went."""


def own() -> int:
    """Return the bytes of memory that are this process's own; 0 where the system does not say."""
    try:
        _, resident, shared, *_ = _STATM.read_text().split()
    except (OSError, ValueError):
        return 0
    return (int(resident) - int(shared)) * os.sysconf("SC_PAGE_SIZE")


def settle() -> None:
    """Have the allocator give large blocks back at once, and few heaps whatever the threads."""
    _call("mallopt", _MMAP_THRESHOLD, _LARGE)
    _call("mallopt", _TRIM_THRESHOLD, _FREE)
    _call("mallopt", _ARENA_MAX, _ARENAS)


def keep() -> None:
    """Have the collector of cycles leave alone what is there now, and look at the rest seldom.

    What is there when a server is ready stays; looking through it again and again tells nothing.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(_YOUNG, *_OLDER)


def let_go() -> None:
    """Have the collector look at everything again: at its end a process takes down its modules."""
    gc.unfreeze()


def give_back() -> None:
    """Give the system what is free."""
    _call("malloc_trim", 0)


def _call(name: str, *given: int) -> None:
    """Call a function of the C library, where it has it."""
    try:
        function = getattr(ctypes.CDLL(None), name)
    except (OSError, AttributeError):  # not that of GNU
        return
    function(*given)


class Bound:
    """Keeps what this process takes beyond its beginning within the budgets of its caches.

    Of several `workers` each has its share of the complete tables that are kept, but not so little
    that it keeps none.
    """

    def __init__(self, answers: Shrinks, workers: int = 1, own: Callable[[], int] = own) -> None:
        self._answers = answers
        self._own = own
        self._share = max(1 / workers, _LEAST)
        self._base: int | None = None
        self._settled = 0  # what was left when free memory was last given back

    def look(self, datasets: Iterable[Opened]) -> int:
        """Shrink caches where the system counts more than they may have; return by how much."""
        caches, beside = [self._answers], ROOM
        for opened in datasets:
            tables, made_up = opened.releaser.tables, opened.releaser.made_up
            tables.budget = int(BUDGET * self._share)
            made_up.budget = tables.budget // 8
            caches += [tables, made_up]
            beside += VIEWS + PARTS
        return self._within(caches, beside)

    def _within(self, caches: Sequence[Shrinks], beside: int) -> int:
        used = self._own()
        if self._base is None:
            self._base = self._settled = used
        most = self._base + sum(cache.budget for cache in caches) + beside
        grown = used > self._settled + _GROWN
        if grown:
            gc.collect()  # what refers to itself is found late, with all that it holds
        if grown or used > most:
            give_back()
            self._settled = used = self._own()
        over = left = used - most
        if over <= 0:
            return 0
        for cache in caches:
            if left > 0:
                left -= cache.shrink(left)
        give_back()
        return over
