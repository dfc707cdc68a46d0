"""Answers are kept under a budget, the least recently used going first."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from discreet.service.cache import Cache


def test_the_least_recently_used_goes_first() -> None:
    cache: Cache[str] = Cache(10)
    cache.put(b"a", "A", 4, "1")
    cache.put(b"b", "B", 4, "1")
    assert cache.get(b"a") == "A"
    cache.put(b"c", "C", 4, "1")
    assert cache.get(b"b") is None
    assert (cache.get(b"a"), cache.get(b"c"), cache.bytes) == ("A", "C", 8)


def test_what_is_too_large_is_not_kept() -> None:
    cache: Cache[str] = Cache(10)
    cache.put(b"a", "A", 10, "1")
    cache.put(b"a", "A", 11, "1")
    assert (cache.get(b"a"), cache.bytes, len(cache)) == (None, 0, 0)


def test_a_version_is_forgotten_alone() -> None:
    cache: Cache[str] = Cache(10)
    cache.put(b"a", "A", 1, "old")
    cache.put(b"b", "B", 1, "new")
    cache.forget("old")
    assert (cache.get(b"a"), cache.get(b"b"), cache.bytes) == (None, "B", 1)


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(1, 8)), max_size=60))
def test_bytes_are_what_is_held_and_within_the_budget(puts: list[tuple[int, int]]) -> None:
    cache: Cache[int] = Cache(12)
    for key, size in puts:
        cache.put(bytes([key]), size, size, "1")
        held = [cache.get(bytes([k])) or 0 for k in range(10)]
        assert cache.bytes == sum(held) <= 12
        assert cache.get(bytes([key])) == size
