"""Protection of the records before any table: how much of it, and whether a policy asks for it."""

from __future__ import annotations

from discreet.policy import Place, Protection
from discreet.population import Version
from discreet.query import Question


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
