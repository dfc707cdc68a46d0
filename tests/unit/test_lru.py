"""The least recently used goes first, and the newest stays."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from discreet.lru import Lru


def test_the_least_recently_used_goes_first() -> None:
    lru: Lru[str, int] = Lru(2)
    assert (lru.put("a", 1), lru.put("b", 2)) == ([], [])
    assert lru.get("a") == 1
    assert lru.put("c", 3) == ["b"]
    assert (list(lru.items()), lru.get("b")) == ([("a", 1), ("c", 3)], None)


def test_the_newest_stays_whatever_its_size() -> None:
    lru: Lru[str, int] = Lru(5, lambda value: value)
    lru.put("a", 2)
    assert lru.put("b", 9) == ["a"]
    assert (len(lru), lru.used) == (1, 9)
    lru.put("b", 3)
    assert lru.used == 3


def test_nothing_is_left_after_clearing() -> None:
    lru: Lru[str, int] = Lru(5)
    lru.put("a", 2)
    lru.drop("b")
    assert lru.used == 1
    lru.clear()
    assert (len(lru), lru.used, lru.get("a")) == (0, 0, None)


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(1, 8)), max_size=60))
def test_what_is_used_is_what_is_held(puts: list[tuple[int, int]]) -> None:
    lru: Lru[int, int] = Lru(12, lambda value: value)
    for key, size in puts:
        lru.put(key, size)
        assert lru.used == sum(value for _, value in lru.items()) <= 12
        assert lru.get(key) == size


def test_shrinking_lets_the_oldest_go_down_to_a_quarter_of_the_budget() -> None:
    kept: Lru[str, int] = Lru(40, lambda value: value)
    for name in "abcd":
        kept.put(name, 10)
    assert kept.get("a") == 10  # and b is the oldest
    assert (kept.shrink(11), [key for key, _ in kept.items()]) == (20, ["d", "a"])
    assert (kept.shrink(40), [key for key, _ in kept.items()]) == (10, ["a"])
    assert kept.shrink(1) == 0
