"""Protection of the records before any table: how much of it, and whether a policy asks for it."""

from __future__ import annotations

from discreet.policy import Place, Policy, Tier
from discreet.population import Version
from discreet.query import Question


def swap_rate(version: Version, question: Question) -> float:
    """Return the share of records that were swapped out of the areas that a question tells apart.

    A swap within larger areas leaves tables of those, and tables without areas, as they were: their
    share is 0.
    """
    areas = question.areas
    return 0.0 if areas is None else version.swap_rate(areas.level.id)


def prepared(version: Version, policy: Policy, tier: Tier) -> bool:
    """Whether the records were protected as a policy asks; a store that was not is refused.

    Where tables are left alone, records must have been swapped: only of that the chances are known.
    Where detail is not guarded, the data must be synthetic or a protected base.
    """
    protection = tier.protection
    if not tier.space.guards and not (policy.synthetic or _is_base(version)):
        return False
    if protection.place is Place.OUTPUT:
        return True
    if not version.manifest.get("protected_beforehand"):
        return False
    geography = version.schema.geography
    levels = () if geography is None else geography.levels
    return not protection.beforehand or any(version.swap_rate(level.id) for level in levels)


def _is_base(version: Version) -> bool:
    """Whether every question is counted on a protected base."""
    return "base" in version.manifest.get("protected_beforehand", [])
