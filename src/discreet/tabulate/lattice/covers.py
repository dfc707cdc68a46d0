"""Which wide tables to count, so that all the tables that are wanted can be added up from them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from itertools import combinations
from math import prod

Key = tuple[str, ...]


def covers(
    wanted: Collection[Key], size: Mapping[str, int], of: Mapping[str, str], most: int
) -> list[tuple[Key, list[Key]]]:
    """Return wide tables, each with those that are added up from it.

    Greedy: the largest table that is left is widened by the level that brings in the most of the
    others, up to `most` cells. `size` says how many categories a level has and `of` which variable
    it is of; no table has two levels of one variable. The levels are in the order of `size`.
    """
    place = {name: i for i, name in enumerate(size)}
    left = {frozenset(key): key for key in wanted}
    widths = sorted({len(key) for key in wanted})
    found = []
    for first in sorted(left, key=lambda key: -_cells(key, size)):
        if first not in left:
            continue
        chosen = set(first)
        while (more := _best(chosen, left, widths, size, of, most)) is not None:
            chosen.add(more)
        inner = [frozenset(s) for w in widths for s in combinations(sorted(chosen), w)]
        wide = tuple(sorted(chosen, key=place.__getitem__))
        found.append((wide, [left.pop(key) for key in inner if key in left]))
    return found


def _best(
    chosen: set[str],
    left: Mapping[frozenset[str], Key],
    widths: list[int],
    size: Mapping[str, int],
    of: Mapping[str, str],
    most: int,
) -> str | None:
    """Return the level that brings most tables in, the smallest of several, or None."""
    cells, variables = _cells(chosen, size), {of[name] for name in chosen}
    inner = [s for w in widths for s in combinations(sorted(chosen), w - 1)]
    best: tuple[int, int, str] | None = None
    for name in size:
        if of[name] in variables or cells * size[name] > most:
            continue
        new = sum(frozenset((*s, name)) in left for s in inner)
        if new and (best is None or (new, -size[name]) > best[:2]):
            best = (new, -size[name], name)
    return None if best is None else best[2]


def _cells(names: Collection[str], size: Mapping[str, int]) -> int:
    return prod(size[name] for name in names)
