"""What protection before any table means for a release: its share, and the risk that is left."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from discreet.policy import Place, Protection, RiskRules
from discreet.population import Version
from discreet.query import Question
from discreet.risk import after_swapping, before


def swap_rate(version: Version, question: Question) -> float:
    """Return the share of records that were swapped out of the areas that a question tells apart.

    A swap within larger areas leaves tables of those, and tables without areas, as they were: their
    share is 0. So is that of a filter that picks several areas together, since how many moved
    among them is not known.
    """
    levels = [] if question.areas is None else [question.areas.level]
    # The largest area that the filter is: a ward may have one output area.
    levels += [f.single_area for f in question.filters if f.single_area is not None]
    return max((version.swap_rate(level.id) for level in levels), default=0.0)


def after_beforehand(
    true: NDArray[np.int64], released: NDArray[np.int64], rate: float, rules: RiskRules
) -> float | None:
    """Return the risk that is left in a table that nothing but a swap of its records protects.

    None where records were altered in another way: the chances of that are not known.
    """
    if rate:
        # Where everybody moved, nearly everybody did: the matrix of a swap needs some to stay.
        share = min(rate, 1 - 1e-9)
        return float(after_swapping(true, released, share, weights=rules.weights))
    return float(before(true, rules.weights)) if np.array_equal(true, released) else None


def prepared(version: Version, protection: Protection) -> bool:
    """Whether the records were protected as a policy asks; a store that was not is refused.

    Where tables are left alone, records must have been swapped: only of that the chances are known.
    """
    if protection.place is Place.OUTPUT:
        return True
    if not version.manifest.get("protected_beforehand"):
        return False
    geography = version.schema.geography
    levels = () if geography is None else geography.levels
    return not protection.beforehand or any(version.swap_rate(level.id) for level in levels)
