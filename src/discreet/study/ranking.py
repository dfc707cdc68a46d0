"""What is better than what: the frontier of each table, and dominance over all tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.study.measures import MEASURES
from discreet.types import Floats

if TYPE_CHECKING:
    from discreet.study.model import Judged
    from discreet.study.results import Point

TINY = 1e-12


def frontier(points: Sequence[Point], judged: Judged) -> frozenset[tuple[str, str]]:
    """Return the (table, setting) that no other setting beats in that table on both measures."""
    found = set()
    for table in dict.fromkeys(p.table for p in points):
        here = [p for p in points if p.table == table]
        places = _places(here, judged)
        for point, place in zip(here, places, strict=True):
            if not any(_beats(other, place) for other in places):
                found.add((table, point.full))
    return frozenset(found)


def dominated(points: Sequence[Point], judged: Judged) -> dict[str, tuple[str, ...]]:
    """Return the settings that others beat in all tables at once, and by which."""
    where = {
        name: _places([p for p in points if p.full == name], judged)
        for name in dict.fromkeys(p.full for p in points)
    }
    found = {}
    for name, mine in where.items():
        by = tuple(other for other, theirs in where.items() if _beats(theirs, mine))
        if by:
            found[name] = by
    return found


def _places(points: Sequence[Point], judged: Judged) -> Floats:
    """Return risk and utility of points, with the signs that make less of both better."""
    signs = [1.0 if MEASURES[name].low else -1.0 for name in (judged.risk, judged.utility)]
    return np.array([(p.risk.mean, p.utility.mean) for p in points]) * signs


def _beats(mine: Any, other: Any) -> bool:
    """Whether one is at least as good in all, and better in something."""
    a, b = np.asarray(mine, float), np.asarray(other, float)
    return bool((a <= b + TINY).all() and (a < b - TINY).any())
