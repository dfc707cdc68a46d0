"""What readers are told of a table: notes, quality and ranges of its figures.

From the released figures and the protection that was applied to this very table. What is not known
of a method is not told: no figure stands for a guess.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from discreet.policy import Margins, Protection
from discreet.risk import PublicQuality, public_quality
from discreet.risk.public import possible_ranges, unknown_quality

PERTURBED = (
    "Figures are perturbed to protect confidentiality. For small ones the change is a large share."
)
BEFOREHAND = (
    "Records were altered before any table was made, to protect confidentiality: single records, "
    "and figures of small areas or groups, need not be true."
)
ADDS_UP = "Figures are counts of the altered records: they add up, in a table and between tables."
_NONE = "Figures of one table need not add up to those of another; use the published one."
_PROTECTED = "Parts need not add up to totals. Each total is perturbed on its own"
_CLOSER = ", which keeps it closer to the truth than a sum of parts: use the published total."
_SUMMED = "Totals are sums of perturbed figures"
_FURTHER = ", and may be further off than they."


def notes(
    protection: Protection, totals: Margins, dimensions: int, beforehand: bool
) -> tuple[str, ...]:
    """Return how figures were made safe and whether they add up, never by how much they changed."""
    before = (BEFOREHAND,) if beforehand else ()
    if protection.build is None:
        return (*before, ADDS_UP) if protection.beforehand else before
    effect = protection.effect(dimensions)
    told = (effect.told,) if effect.told else ()
    return (PERTURBED, *told, *before, _adding_up(protection, totals, dimensions))


def _adding_up(protection: Protection, totals: Margins, dimensions: int) -> str:
    if totals is Margins.NONE:
        return _NONE
    if totals is Margins.PROTECTED:
        bounded = protection.effect(dimensions).largest_change is not None
        return _PROTECTED + (_CLOSER if bounded else ".")
    every = {axes for size in range(dimensions) for axes in combinations(range(dimensions), size)}
    kept = every <= set(protection.keeps(dimensions).margins)
    return _SUMMED + ("." if kept else _FURTHER)


def quality(inner: NDArray[np.int64], protection: Protection, beforehand: bool) -> PublicQuality:
    """Return how close the inner figures are, as far as that is known of what was done to them."""
    effect = protection.effect(inner.ndim)
    if beforehand:
        return unknown_quality(inner)  # what was done to the records is not in the method's chances
    if effect.transition is None:
        bound = effect.largest_change if protection.published else None
        return unknown_quality(inner, bound)
    return public_quality(inner, effect.transition, protection.published)


def ranges(
    values: NDArray[np.int64], protection: Protection, totals: Margins, beforehand: bool
) -> tuple[NDArray[np.int64], NDArray[np.int64]] | tuple[None, None]:
    """Return the smallest and largest true count of each figure, None where it is not to be told.

    Sums of figures have wider ranges than a figure, so that a table with summed totals has none.
    """
    effect = protection.effect(values.ndim)
    bound = effect.largest_change
    told = protection.published and not beforehand and totals is not Margins.SUMMED
    if not told or not bound:  # not known, or nothing is changed
        return None, None
    if effect.transition is not None:
        return possible_ranges(effect.transition, values)
    return np.maximum(values - bound, 0), values + bound
