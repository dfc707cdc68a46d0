"""How far off figures of a protected base are: of one table, and by area, variables and size."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.page.quality import Worked
from discreet.page.texts import Texts
from discreet.population import Version
from discreet.protect.records.protected_base import WHOLE
from discreet.release.beforehand import by_level
from discreet.service import Opened
from discreet.table import ProtectedTable
from discreet.types import Integers

SIZES = (1, 5, 20, 100, 1_000, 10_000)
"""The figures whose ranges are shown by area and number of variables."""


@dataclass(frozen=True)
class AreaRanges:
    """The ranges of figures of one level of areas: a line for one variable, two and so on.

    None stands for a figure with more people than any of the areas has.
    """

    level: str
    lines: tuple[tuple[tuple[int, int] | None, ...], ...]


def of_figures(table: ProtectedTable, t: Texts) -> tuple[Worked, ...]:
    """Return a few figures of a table, small and large, with their ranges."""
    if table.low is None or table.high is None:
        return ()
    shown = ~table.withheld
    figures, low, high = (a[shown] for a in (table.values, table.low, table.high))
    found = []
    for least, beyond in zip(SIZES, (*SIZES[1:], np.inf), strict=True):
        here = np.flatnonzero((figures >= least) & (figures < beyond))
        if len(here):
            at = here[np.argmin(figures[here])]
            value, ends = int(figures[at]), (int(low[at]), int(high[at]))
            share = max(value - ends[0], ends[1] - value) / value
            found.append(Worked(value, *ends, t.percent(share, 1 if share < 0.01 else 0)))
    return tuple(found)


def by_area(opened: Opened, t: Texts) -> tuple[AreaRanges, ...]:
    """Return the ranges of figures of a base, from all areas down; empty where none are told."""
    protection, version = opened.tier.protection, opened.version
    if protection.build is not None or not protection.published:
        return ()
    geography, found = version.schema.geography, by_level(version)
    levels = () if geography is None else geography.levels
    names = {WHOLE: t("method.far_whole"), **{level.id: level.label for level in reversed(levels)}}
    most, figures = _most_people(version), np.array(SIZES)
    return tuple(
        AreaRanges(
            names[level],
            tuple(
                _shown(figures, ends, most[level])
                for told in found[level][: opened.tier.question.max_dimensions]
                if (ends := told.around(figures)) is not None
            ),
        )
        for level in names
        if level in found
    )


def _shown(
    figures: Integers, ends: tuple[Integers, Integers], most: int
) -> tuple[tuple[int, int] | None, ...]:
    return tuple(
        (low, high) if figure <= most else None
        for figure, low, high in zip(figures.tolist(), *(a.tolist() for a in ends), strict=True)
    )


def _most_people(version: Version) -> dict[str, int]:
    """Return how many people of the base the largest area of each level has."""
    found = {WHOLE: version.rows}
    geography = version.schema.geography
    if geography is not None and version.areas is not None:
        people = np.diff(version.areas)
        for level in geography.levels:
            found[level.id] = int(np.bincount(level.of, people).max())
    return found
