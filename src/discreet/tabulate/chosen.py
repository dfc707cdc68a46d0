"""Which views are built with a store."""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from itertools import combinations
from math import prod

import numpy as np

from discreet.population import Level, Schema, Variable, Version
from discreet.tabulate.view_files import Key
from discreet.tabulate.views import MOST_CELLS

BUILT, BUILT_MOST = 16 * 2**20, 256 * 2**20
"""Bytes of views built with a small store, and with any: of a census with 17 variables all pairs
and 98% of triples, and all sets of four."""

WIDEST = 4
"""Variables of a view that is built with the store."""

_SCAN = 2**18  # what it takes to build a view is worth in bytes, when views are chosen


def allowed(version: Version) -> int:
    """Return how many bytes of views to build with a store: about as many as its records have."""
    columns = (version.codes8, version.codes16, version.keys)
    return min(BUILT_MOST, max(BUILT, sum(column.nbytes for column in columns)))


def choose(schema: Schema, budget: int, first: Iterable[Key] = ()) -> list[Key]:
    """Return the views to build with a store: those that cover most for what they cost.

    Those in `first` are among them while the budget lasts. Then greedy over all views of up to four
    levels: what a view covers are the sets of its levels, and of larger areas, that no chosen view
    has, smaller sets counting more because more questions are among them. The cost is its bytes
    and, in bytes, what it takes to build it: few wide views beat many narrow ones.
    """
    levels = [(v, level) for v in schema.variables for level in _viewed(v)]
    views = _affordable(first, schema, budget)
    budget -= sum(8 * _cells(schema, view) for view in views)
    candidates = _candidates(levels)
    heapq.heapify(candidates)
    covered: set[tuple[int, ...]] = set()
    left: dict[tuple[int, ...], list[tuple[int, ...]]] = {}
    while candidates:
        promised, cells, chosen = heapq.heappop(candidates)
        new = [s for s in left.get(chosen) or _within(chosen, levels) if s not in covered]
        left[chosen] = new
        worth = -sum(4.0 ** (WIDEST - len(s)) for s in new) / (8 * cells + _SCAN)
        if new and worth > promised:  # worth less than when it was last looked at
            heapq.heappush(candidates, (worth, cells, chosen))
        elif new and 8 * cells <= budget:
            budget -= 8 * cells
            covered.update(new)
            views.append(tuple(levels[i][1].id for i in chosen))
    inner = {s for view in views for w in range(len(view)) for s in combinations(view, w)}
    return [view for view in dict.fromkeys(views) if view not in inner]


def _affordable(keys: Iterable[Key], schema: Schema, budget: int) -> list[Key]:
    """Return the first of these views that the budget allows, the smallest before the others."""
    found = []
    for key in sorted(set(keys), key=lambda key: (_cells(schema, key), key)):
        budget -= 8 * _cells(schema, key)
        if budget < 0:
            break
        found.append(key)
    return found


def _cells(schema: Schema, key: Key) -> int:
    return prod(len(schema.find(name)[1]) for name in key)


def _within(chosen: tuple[int, ...], levels: list[tuple[Variable, Level]]) -> list[tuple[int, ...]]:
    """Return the sets of levels that a view answers for: its own, and larger areas instead."""
    found = [chosen]
    for at, i in enumerate(chosen):
        for j in range(i + 1, len(levels)):
            if levels[j][0] is levels[i][0]:
                found.append((*chosen[:at], j, *chosen[at + 1 :]))
    return list({s for whole in found for w in range(1, len(whole) + 1)
                 for s in combinations(whole, w)})  # fmt: skip


def _candidates(
    levels: list[tuple[Variable, Level]],
) -> list[tuple[float, int, tuple[int, ...]]]:
    """Return what each possible view promises (at first anything), its cells and its levels."""
    found = []
    for width in range(1, WIDEST + 1):
        for chosen in combinations(range(len(levels)), width):
            cells = prod(len(levels[i][1]) for i in chosen)
            if cells <= MOST_CELLS and len({levels[i][0].id for i in chosen}) == width:
                found.append((-np.inf, cells, chosen))
    return found


def _viewed(variable: Variable) -> list[Level]:
    """Return the levels of a variable that views have: the finest, or coarse geographies."""
    if not variable.is_geography:
        return [variable.finest]
    return [level for level in variable.levels if len(level) <= 255]
