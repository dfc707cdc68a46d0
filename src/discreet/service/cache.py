"""Answers kept in memory, the least recently used going first, under a budget of bytes."""

from __future__ import annotations

from typing import Generic, TypeVar

from discreet.lru import Lru

Value = TypeVar("Value")
Key = bytes
"""The name of an answer: a keyed hash."""


class Cache(Generic[Value]):
    """Values by key; each says how many bytes it takes and to which version it belongs.

    Used from the one thread of the event loop, so without a lock.
    """

    def __init__(self, budget: int) -> None:
        self._held: Lru[Key, tuple[Value, int, str]] = Lru(budget, lambda held: held[1])

    def __len__(self) -> int:
        return len(self._held)

    @property
    def bytes(self) -> int:
        """The bytes of everything held."""
        return self._held.used

    @property
    def budget(self) -> int:
        """The most bytes that are held."""
        return self._held.budget

    @budget.setter
    def budget(self, budget: int) -> None:
        self._held.budget = budget

    def get(self, key: Key) -> Value | None:
        """Return the value and mark it as used, or None."""
        found = self._held.get(key)
        return None if found is None else found[0]

    def put(self, key: Key, value: Value, size: int, version: str) -> None:
        """Keep a value; one that alone is over the budget is not kept."""
        self._held.drop(key)
        if size <= self._held.budget:
            self._held.put(key, (value, size, version))

    def shrink(self, by: int) -> int:
        """Let values of so many bytes go, as far as there are; return how many went."""
        return self._held.shrink(by)

    def forget(self, version: str) -> None:
        """Drop everything that belongs to a version."""
        for key in [key for key, (_, _, of) in self._held.items() if of == version]:
            self._held.drop(key)
