"""What readers are told of a table: notes, quality and ranges of its figures.

From the released figures and the protection that was applied to this very table. What is not known
of a method is not told: no figure stands for a guess.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from discreet.policy import Margins, Protection
from discreet.protect import Effect
from discreet.protect.records.protected_base import NAME
from discreet.release.beforehand import Beforehand
from discreet.risk import PublicQuality, public_quality
from discreet.risk.public import (
    counted_quality,
    exact_figures,
    possible_ranges,
    unknown_quality,
)
from discreet.table.transition import Transition
from discreet.types import Flags

PERTURBED = (
    "Figures are perturbed to protect confidentiality. For small ones the change is a large share."
)
BEFOREHAND = (
    "Records were altered before any table was made, to protect confidentiality: single records, "
    "and figures of small areas or groups, need not be true."
)
ADDS_UP = "Figures are counts of the altered records: they add up, in a table and between tables."
BASE = (
    "The people counted are copies of others in the same larger area, chosen so that figures come "
    "close to true ones with noise. What nobody in the larger area is, nobody in a table is."
)
NINE_IN_TEN = "Low and high are the ends of a range that holds the true count in nine of ten cases."
AS_COUNTED = (
    "Figures of this table are as they were counted. Those of other tables may be perturbed, and "
    "need not add up to them."
)
_NONE = "Figures of one table need not add up to those of another; use the published one."
_PROTECTED = "Parts need not add up to totals. Each total is perturbed on its own"
_CLOSER = ", which keeps it closer to the truth than a sum of parts: use the published total."
_SUMMED = "Totals are sums of perturbed figures"
_FURTHER = ", and may be further off than they"


def notes(
    shown: NDArray[np.int64],
    protection: Protection,
    totals: Margins,
    dimensions: int,
    beforehand: Beforehand,
) -> tuple[str, ...]:
    """Return how the figures shown were made safe and whether they add up.

    Never by how much they changed.
    """
    before: tuple[str, ...] = (BEFOREHAND,) if beforehand else ()
    if NAME in beforehand.methods:
        before += (BASE,)
    if protection.build is None:
        if protection.published and beforehand.ranges is not None:
            before += (NINE_IN_TEN,)
        return (*before, ADDS_UP) if protection.beforehand else before
    effect = protection.effect(dimensions)
    if _exact(shown, effect).all():
        return (*before, AS_COUNTED)
    told = (effect.told,) if effect.told else ()
    return (PERTURBED, *told, *before, _adding_up(protection, totals, dimensions))


def _exact(figures: NDArray[np.int64], effect: Effect) -> Flags:
    """Return at which of the figures the method changes nothing."""
    if effect.transition is not None:
        return exact_figures(figures, effect.transition)
    limit = np.inf if effect.exact_above is None else effect.exact_above
    return np.asarray(figures > limit)


def _adding_up(protection: Protection, totals: Margins, dimensions: int) -> str:
    if totals is Margins.NONE:
        return _NONE
    if totals is Margins.PROTECTED:
        bounded = protection.effect(dimensions).largest_change is not None
        return _PROTECTED + (_CLOSER if bounded else ".")
    kept = protection.keeps(dimensions)
    if not kept.every_total(dimensions):
        held = ", but for those that the method keeps" if kept.margins else ""
        return f"{_SUMMED}{_FURTHER}{held}."
    if not protection.published:
        return f"{_SUMMED}."
    return f"{_SUMMED}, and {kept.closeness}."


def quality(
    inner: NDArray[np.int64], protection: Protection, beforehand: Beforehand
) -> PublicQuality:
    """Return how close the inner figures are, as far as that is known of what was done to them."""
    effect = protection.effect(inner.ndim)
    exact = _exact(inner, effect)
    if beforehand:  # what was done to the records is not in the method's chances
        return counted_quality(inner) if exact.all() else unknown_quality(inner)
    chances = Transition.identity() if exact.all() else effect.transition
    if chances is None:
        bound = effect.largest_change if protection.published else None
        return unknown_quality(inner, bound, bool(exact.any()))
    return public_quality(inner, chances, protection.published)


def ranges(
    values: NDArray[np.int64], protection: Protection, totals: Margins, beforehand: Beforehand
) -> tuple[NDArray[np.int64], NDArray[np.int64]] | tuple[None, None]:
    """Return the smallest and largest true count of each figure, None where it is not to be told.

    Sums of figures have wider ranges than a figure, so that a table with summed totals has none.
    Figures of a protected base, whose totals are figures like others, have ranges that hold the
    true count in nine of ten cases.
    """
    if protection.build is None and protection.published:
        around = beforehand.around(values)
        if around is not None:
            return around
    effect = protection.effect(values.ndim)
    bound = effect.largest_change
    told = protection.published and not beforehand and totals is not Margins.SUMMED
    if not told or not bound:  # not known, or nothing is changed
        return None, None
    if effect.transition is not None:
        return possible_ranges(effect.transition, values)
    change = np.where(_exact(values, effect), 0, bound)
    return np.maximum(values - change, 0), values + change
