"""What protection before any table means for a release: how much of a table was swapped."""

from __future__ import annotations

import numpy as np

from discreet.population import Version
from discreet.query import Question


def swap_rate(version: Version, question: Question) -> float:
    """Return the share of records that were swapped out of the areas that a question tells apart.

    A swap within larger areas leaves tables of those, and tables without areas, as they were: their
    share is 0. So is that of a filter that picks several areas together, since how many moved
    among them is not known.
    """
    rates = [version.swap_rate(a.level.id) for a in question.axes if a.variable.is_geography]
    for f in question.filters:
        if f.variable.is_geography:
            # The largest area that the filter is: a ward may have one output area.
            one = [
                level
                for level in f.variable.levels
                if np.array_equal(f.allowed, level.of == level.of[f.allowed][0])
            ]
            rates += [version.swap_rate(level.id) for level in one[-1:]]
    return max(rates, default=0.0)
