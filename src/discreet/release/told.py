"""What readers are told of a table: notes, quality and ranges of its figures.

From the released figures and the protection that was applied to this very table. What is not known
of a method is not told: no figure stands for a guess.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from discreet.policy import Margins, Protection
from discreet.protect import Effect
from discreet.protect.records.protected_base import NAME
from discreet.release.beforehand import Beforehand
from discreet.release.steps import Projected
from discreet.risk import PublicQuality, public_quality
from discreet.risk.public import (
    counted_quality,
    exact_figures,
    possible_ranges,
    summed_quality,
    unknown_quality,
)
from discreet.risk.sums import ninety
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
    "close to true ones with noise. A combination that is absent in the larger area is absent in "
    "every table."
)
MIXED = (
    "Not all figures were made safe in the same way: each office protects its own, and some in "
    "another way than the rest, or not at all."
)
_CANNOT_SAY = "How close they are cannot be said."
NINE_IN_TEN = (
    "Low and high, where a file has them, are the ends of a range that holds the true count in "
    "nine of ten cases."
)
AS_COUNTED = (
    "Figures of this table are as they were counted. Those of other tables may be perturbed, and "
    "need not add up to them."
)
_NONE = "Figures of one table need not add up to those of another; use the published one."
_PROTECTED = "Parts need not add up to totals. Each total is perturbed on its own"
_CLOSER = ", which keeps it closer to the truth than a sum of parts: use the published total."
_SOME = (
    "Parts need not add up to totals. Some totals are perturbed on their own, others are sums of "
    "published figures."
)
_SUMMED = "Totals are sums of perturbed figures"
_FURTHER = ", and may be further off than they"


@dataclass(frozen=True, eq=False)
class Told:
    """A table of which readers are told, and what was applied to it.

    `dimensions` are those of the complete table that its figures are taken from, which may have
    more than are shown.
    """

    shown: Projected
    totals: Margins
    protection: Protection
    dimensions: int
    beforehand: Beforehand
    alike: bool = True  # false where some figures were protected in another way

    @property
    def single(self) -> NDArray[np.int64]:
        """The figures that are shown as they are published, neither withheld nor added up."""
        return self.shown.values[~self.shown.withheld & (self.shown.parts <= 1)]

    @property
    def inner(self) -> tuple[slice, ...]:
        """The places of the figures that are no totals."""
        last = -1 if self.totals is not Margins.NONE else None
        return (slice(0, last),) * self.shown.values.ndim

    @property
    def effect(self) -> Effect:
        """What was done to each figure before any was added up."""
        return self.protection.effect(self.dimensions)

    @property
    def in_ranges(self) -> bool:
        """Whether figures are of a protected base and shown with its ranges."""
        known, protection = self.beforehand.ranges is not None, self.protection
        return known and protection.build is None and protection.published


def notes(told: Told) -> tuple[str, ...]:
    """Return how the figures shown were made safe and whether they add up.

    Never by how much they changed.
    """
    if not told.alike:
        return (MIXED, _NONE)
    protection, beforehand = told.protection, told.beforehand
    before: tuple[str, ...] = (BEFOREHAND,) if beforehand else ()
    if NAME in beforehand.methods:
        before += (BASE,)
    if protection.build is None:
        if told.in_ranges:
            before += (NINE_IN_TEN,)
        return (*before, ADDS_UP) if protection.beforehand else before
    effect = told.effect
    added = bool((told.shown.parts[told.inner] > 1).any())
    if not added and _exact(told.single, effect).all():
        return (*before, AS_COUNTED)
    method = (effect.told,) if effect.told else ()
    sums = (_sums(told),) if added else ()
    return (PERTURBED, *method, *before, *sums, _adding_up(told))


def _sums(told: Told) -> str:
    """Return what a reader of sums must know."""
    parts = told.shown.parts[told.inner]
    many = f"{parts.min():,}" if parts.min() == parts.max() else f"up to {parts.max():,}"
    ranges = ": look at the ranges before you compare" if told.shown.low is not None else ""
    return (
        f"Figures are sums of {many} published figures each. Adding up adds up the changes too"
        f"{ranges}."
    )


def _exact(figures: NDArray[np.int64], effect: Effect) -> Flags:
    """Return at which of the figures the method changes nothing."""
    if effect.transition is not None:
        return exact_figures(figures, effect.transition)
    limit = np.inf if effect.exact_above is None else effect.exact_above
    return np.asarray(figures > limit)


def _adding_up(told: Told) -> str:
    if told.totals is Margins.NONE:
        return _NONE
    if told.totals is Margins.PROTECTED:
        inner = np.zeros(told.shown.parts.shape, bool)
        inner[told.inner] = True
        if (told.shown.parts[~inner] > 1).any():
            return _SOME
        bounded = told.effect.largest_change is not None
        return _PROTECTED + (_CLOSER if bounded else ".")
    kept = told.protection.keeps(told.dimensions)
    added = bool((told.shown.parts[told.inner] > 1).any())
    if added or not kept.every_total(told.dimensions):
        held = ", but for those that the method keeps" if kept.margins else ""
        return f"{_SUMMED}{_FURTHER}{held}."
    if not told.protection.published:
        return f"{_SUMMED}."
    return f"{_SUMMED}, and {kept.closeness}."


def quality(told: Told) -> PublicQuality:
    """Return how close the inner figures are, as far as that is known of what was done to them."""
    cells = ~told.shown.withheld[told.inner]
    inner, parts = told.shown.values[told.inner][cells], told.shown.parts[told.inner][cells]
    if not told.alike:  # the chances of one method say nothing of the figures of another
        return replace(unknown_quality(inner), sentences=(MIXED, _CANNOT_SAY))
    effect, protection = told.effect, told.protection
    exact = _exact(inner, effect) & (parts <= 1)
    if told.beforehand:  # what was done to the records is not in the method's chances
        if not exact.all():
            return unknown_quality(inner)
        counted = counted_quality(inner)
        if not told.in_ranges:
            return counted
        return replace(counted, sentences=counted.sentences[:1])  # the notes tell of the ranges
    if (parts > 1).any() and protection.build is not None:
        return summed_quality(inner, *_bounds(told, parts))
    chances = Transition.identity() if exact.all() else effect.transition
    if chances is None:
        bound = effect.largest_change if protection.published else None
        return unknown_quality(inner, bound, bool(exact.any()))
    return public_quality(inner, chances, protection.published)


def _bounds(told: Told, parts: NDArray[np.int64]) -> tuple[int | None, int | None]:
    """Return by how much the largest sum is off at most, and in nine of ten; None if not told."""
    at_most, often = off(told, np.array([parts.max()]))
    return (None if at_most is None else int(at_most[0]), None if often is None else int(often[0]))


def off(
    told: Told, drawn: NDArray[np.int64]
) -> tuple[NDArray[np.int64] | None, NDArray[np.int64] | None]:
    """Return by how much sums of so many perturbed figures are off at most, and in nine of ten.

    None where it is not known, or not to be told.
    """
    bound, chances = told.effect.largest_change, told.effect.transition
    if bound is None or not told.protection.published or told.beforehand:
        return None, None
    return drawn * bound, None if chances is None else ninety(chances, drawn)


def ranges(
    figures: NDArray[np.int64], protection: Protection, beforehand: bool
) -> tuple[NDArray[np.int64], NDArray[np.int64]] | tuple[None, None]:
    """Return the smallest and largest true count of each figure of a complete table.

    None where it is not known, or not to be told.
    """
    if beforehand or not protection.published:
        return None, None
    effect = protection.effect(max(figures.ndim, 1))
    bound = effect.largest_change
    if bound is None:
        return None, None
    if effect.transition is not None:
        return possible_ranges(effect.transition, figures)
    change = np.where(_exact(figures, effect), 0, bound)
    return np.maximum(figures - change, 0), figures + change
