"""Answers kept in memory, the least recently used going first, under a budget of bytes."""

from __future__ import annotations

from collections import OrderedDict
from typing import Generic, TypeVar

Value = TypeVar("Value")


class Cache(Generic[Value]):
    """An LRU of values by key; each says how many bytes it takes and which version it is of.

    Used from the one thread of the event loop, so without a lock.
    """

    def __init__(self, budget: int) -> None:
        self.budget = budget
        self.bytes = 0
        self._held: OrderedDict[bytes, tuple[Value, int, str]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._held)

    def get(self, key: bytes) -> Value | None:
        """Return the value and mark it as used, or None."""
        found = self._held.get(key)
        if found is None:
            return None
        self._held.move_to_end(key)
        return found[0]

    def put(self, key: bytes, value: Value, size: int, version: str) -> None:
        """Keep a value; one that alone is over the budget is not kept."""
        self._drop(key)
        if size > self.budget:
            return
        self._held[key] = (value, size, version)
        self.bytes += size
        while self.bytes > self.budget:
            self._drop(next(iter(self._held)))

    def forget(self, version: str) -> None:
        """Drop everything of a version."""
        for key in [key for key, (_, _, of) in self._held.items() if of == version]:
            self._drop(key)

    def _drop(self, key: bytes) -> None:
        found = self._held.pop(key, None)
        if found is not None:
            self.bytes -= found[1]
