"""Values kept under a budget, the least recently used going first."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, ItemsView
from typing import Generic, TypeVar

Key = TypeVar("Key")
Value = TypeVar("Value")


class Lru(Generic[Key, Value]):
    """Values by key, each of size 1 unless `size` says otherwise; without a lock."""

    def __init__(self, budget: int, size: Callable[[Value], int] = lambda value: 1) -> None:
        self.budget = budget
        self.used = 0
        self._size = size
        # A plain dict is slow to find its first item after many of them have gone.
        self._held: OrderedDict[Key, Value] = OrderedDict()

    def __len__(self) -> int:
        return len(self._held)

    def items(self) -> ItemsView[Key, Value]:
        """Return what is held, the least recently used first."""
        return self._held.items()

    def get(self, key: Key) -> Value | None:
        """Return a value and mark it as used; None if it is not held."""
        if key not in self._held:
            return None
        self._held.move_to_end(key)
        return self._held[key]

    def put(self, key: Key, value: Value) -> list[Key]:
        """Keep a value, whatever its size; return the keys of those that had to go for it."""
        self.drop(key)
        self._held[key] = value
        self.used += self._size(value)
        gone = []
        while self.used > self.budget and len(self._held) > 1:
            gone.append(next(iter(self._held)))
            self.drop(gone[-1])
        return gone

    def drop(self, key: Key) -> None:
        """Let a value go, if it is held."""
        if key in self._held:
            self.used -= self._size(self._held.pop(key))

    def shrink(self, by: int) -> int:
        """Let values go that take so much together, oldest first; return how much went.

        A quarter of the budget stays: who asks for more cannot be helped by it.
        """
        before = self.used
        while before - self.used < by and self.used > self.budget // 4:
            self.drop(next(iter(self._held)))
        return before - self.used

    def clear(self) -> None:
        """Let everything go."""
        self._held.clear()
        self.used = 0
