"""What a reader may see of a released table's quality, and what a public refusal may rest on.

Everything here is a function of the released table and the method's description. The true table
is not an argument, so that nothing shown, refused or timed here can tell about it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from math import ceil, floor
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.checks import checked_counts, checked_weights
from discreet.risk.before import WEIGHTS, Risk, entropy_term, parts, risk_of
from discreet.risk.prior import LARGEST, SmoothPrior, change_chances, fit_prior, shares_of
from discreet.risk.terms import distinct, smallness_of
from discreet.risk.transition import EntropyFactor, checked_factors
from discreet.table.transition import Transition, checked_transition
from discreet.types import Flags, Floats, Integers

DRAWS = 60
SEED = 20150619  # any number; the same for everyone, so that equal tables get equal figures
# Wider than this a score tells less than knowing nothing of the table; so does a mean cell below
# 5, where the error of the estimate was two to three times as large (docs/public-quality.md).
WIDEST_SCORE = 0.04
WIDEST_SHARE = 0.10
SMALLEST_MEAN = 5.0
MOST_DIGITS = 6  # of an estimate in words or in a file
# What the smoothness assumption itself leaves open, however large the table: the relative error of
# the distance and the absolute error of a share, as standard deviations seen in the study.
MODEL_DISTANCE = 0.04
MODEL_SHARE = 0.012


@dataclass(frozen=True)
class Estimate:
    """An estimate with its 95% interval."""

    value: float
    low: float
    high: float

    @property
    def width(self) -> float:
        """The width of the interval."""
        return self.high - self.low

    def rounded(self, least: int) -> tuple[Estimate, int]:
        """Return the estimate to at least so many digits, as true as before, and the digits.

        The interval is rounded outwards, and what is not 0 or 1 is not shown as it.
        """
        between = 0 < self.value < 1
        digits = least
        while between and digits < MOST_DIGITS and self._coarse(10**digits):
            digits += 1
        unit = 10**digits
        value = round(self.value * unit)
        if between:
            value = min(max(value, 1), unit - 1)
        shown = (value, floor(self.low * unit), ceil(self.high * unit))
        return Estimate(*(number / unit for number in shown)), digits

    def _coarse(self, unit: int) -> bool:
        """Whether 1/unit is more than the interval's width, or than the way to 0 or 1."""
        return self.width * unit < 1 or round(self.value * unit) in (0, unit)

    def text(self) -> str:
        """Return the estimate in words, "0.95 (0.94–0.96)", with more digits where they tell."""
        shown, digits = self.rounded(2)
        return f"{shown.value:.{digits}f} ({shown.low:.{digits}f}–{shown.high:.{digits}f})"

    def percent(self) -> str:
        """Return the estimate in words as a share, "95% (94%–96%)"."""
        shown, digits = self.rounded(2)
        whole = digits - 2
        return f"{shown.value:.{whole}%} ({shown.low:.{whole}%}–{shown.high:.{whole}%})"


@dataclass(frozen=True)
class PublicQuality:
    """What may be said of a released table; None where saying it would be a guess.

    `score` is the expected Hellinger utility 1 − HD/√N, `unchanged` the share of cells released
    as they are, `zeros_true` and `small_true` the shares of released zeros, and of released ones
    and twos, that are true; `positive` is `unchanged` of the cells that are not released as zero.
    `largest_change` is set only where the policy publishes the method. `altered` says that the
    figures were altered, or the records that they count.
    """

    cells: int
    altered: bool
    score: Estimate | None
    unchanged: Estimate | None
    zeros_true: Estimate | None
    small_true: Estimate | None
    largest_change: int | None
    sentences: tuple[str, ...]
    positive: Estimate | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return plain values for a file or an answer, rounded to what they are worth."""

        def plain(estimate: Estimate | None) -> dict[str, float] | None:
            if estimate is None:
                return None
            return asdict(estimate.rounded(3)[0])

        return {
            "cells": self.cells,
            "altered": self.altered,
            "score": plain(self.score),
            "unchanged": plain(self.unchanged),
            "unchanged_positive": plain(self.positive),
            "zeros_true": plain(self.zeros_true),
            "small_true": plain(self.small_true),
            "largest_change": self.largest_change,
            "sentences": list(self.sentences),
        }


def public_quality(
    G: ArrayLike, transition: Transition, method_published: bool = False
) -> PublicQuality:
    """Return what a reader may see: Hellinger utility and the share of cells unchanged, in words.

    For the public: the released table and the method alone. Equal tables give equal bytes, and
    the order of the cells does not matter.

    Notes
    -----
    A smooth prior over true counts is fitted to the released values (`prior.fit_prior`); the
    posterior of each released value then gives E[HD²], the total and the share unchanged.
    Hellinger utility is 1 − HD/√N [Shlomo2015, §4.3]. Intervals are the 2.5% and 97.5% points of 60
    draws with a fixed seed of the prior's parameters, of the cells given them, and of what the
    smoothness assumption leaves open. Counts above 40 take a locally flat prior. Zeros: a
    released zero is estimated like any value, from all true counts that may become zero.
    Withheld: the score where its interval is wider than 0.04 or the mean released cell is below
    5; shares where theirs is wider than 0.10.

    >>> G = np.random.default_rng(1).integers(1, 12, (20, 10)) * 3
    >>> found = dc.risk.public_quality(G, dc.protect.RandomRounding(3).transition(), True)
    >>> found.largest_change
    2
    >>> found.sentences[0]
    'Figures are deliberately altered.'
    """
    counts = checked_counts(G, "the released table")
    values, number = distinct(counts)
    deltas, _ = change_chances(checked_transition(transition))
    exact = exact_figures(values, transition)
    if exact.all():
        one, shown = Estimate(1.0, 1.0, 1.0), 0 if method_published else None
        return PublicQuality(
            counts.size, False, one, one, one, one, shown, ("Figures are not altered.",), one
        )
    shown = int(np.abs(deltas).max()) if method_published else None
    drawn = draws_of(values, number, transition)
    mean = float((values * number).sum() / counts.size)
    kept = _kept(drawn)
    score = kept["score"] if mean >= SMALLEST_MEAN else None
    unchanged = kept["unchanged"]
    zeros = kept["zeros"] if values[0] == 0 else None
    small = kept["small"] if _ones_and_twos(values).any() else None
    return PublicQuality(
        counts.size, True, score, unchanged, zeros, small, shown,
        _sentences(score, unchanged, None if shown is None else _bound(shown, bool(exact.any()))),
        kept["positive"] if values[-1] > 0 else None,
    )  # fmt: skip


def unknown_quality(
    G: ArrayLike, largest_change: int | None = None, some_exact: bool = False
) -> PublicQuality:
    """Return what a reader may see of a table whose chances are not known: a bound at most.

    For the public. `largest_change` is the method's, where it is known and may be told, and
    `some_exact` says that it leaves some of the figures alone.
    """
    cells = checked_counts(G, "the released table").size
    said = ["Figures are deliberately altered.", "How close they are cannot be said."]
    if largest_change is not None:
        said.append(_bound(largest_change, some_exact))
    return PublicQuality(cells, True, None, None, None, None, largest_change, tuple(said))


def summed_quality(G: ArrayLike, at_most: int | None, often: int | None) -> PublicQuality:
    """Return what a reader may see of a table of sums: how far off they may be, if it is told.

    For the public. `at_most` bounds the change of every sum, `often` that of nine in ten.
    """
    said = ["Figures are deliberately altered, and added up."]
    if at_most is None:
        said.append("Each is off by a few for each figure added up.")
    elif often is None:
        said.append(f"A sum is off by up to {at_most:,}.")
    else:
        said.append(f"A sum is off by up to {at_most:,}, and by {often:,} or less in nine of ten.")
    return replace(unknown_quality(G), largest_change=at_most, sentences=tuple(said))


def counted_quality(G: ArrayLike) -> PublicQuality:
    """Return what a reader may see of a table counted from records that were altered before.

    For the public. Whether any count changed with them is not told, here or by `altered`.
    """
    said = (
        "Figures are counts of the altered records, and were not altered further.",
        "How close they are to counts of the records before is not told.",
    )
    return replace(unknown_quality(G), sentences=said)


def possible_range(transition: Transition, released: int) -> tuple[int, int]:
    """Return the smallest and the largest true count that a released figure may stand for.

    For the public where the policy publishes the method. A released zero has its full range too,
    however likely it is to be true.

    >>> dc.risk.possible_range(dc.protect.RandomRounding(3).transition(), 6)
    (4, 8)
    """
    low, high = possible_ranges(transition, np.array([released]))
    return int(low[0]), int(high[0])


def possible_ranges(transition: Transition, released: Integers) -> tuple[Integers, Integers]:
    """Return the smallest and the largest true count of each released figure, as two arrays.

    As `possible_range`, for every cell of a table. A figure that the method never releases stands
    for itself.
    """
    known = _known(transition)
    row = known.row(released)
    return released - known.less[row], released + known.more[row]


def exact_figures(released: Integers, transition: Transition) -> Flags:
    """Return which released figures are certain to be the true counts.

    >>> adjusted = dc.protect.SmallCellAdjustment(3).transition()
    >>> dc.risk.public.exact_figures(np.array([0, 3, 4]), adjusted).tolist()
    [False, False, True]
    """
    known = _known(transition)
    return np.asarray(known.exact[known.row(released)])


@dataclass(frozen=True, eq=False)
class _Known:
    """What each released figure tells of the true count, for figures up to where they repeat.

    `less` and `more` are how far the smallest and the largest true count are from it, `exact`
    whether it is certain to be true.
    """

    less: Integers
    more: Integers
    exact: Flags
    period: int

    def row(self, released: Integers) -> Integers:
        """Return the entry of each released figure."""
        last = len(self.less) - self.period
        over = released - last
        return np.where(over < self.period, released, last + over % self.period)


@lru_cache(maxsize=64)
def _known(transition: Transition) -> _Known:
    """Return what the figures of a method tell, worked out once."""
    deltas, table = change_chances(transition)
    # From here on every true count that may stand behind a figure is among those that repeat.
    first = len(transition.changes) + int(np.abs(deltas).max())
    figures = np.arange(first + transition.period)
    true = figures[:, None] - deltas
    rows = transition.index(np.maximum(true, 0))
    possible = (true >= 0) & (table[rows, np.arange(len(deltas))] > 0)
    never = ~possible.any(axis=1)
    low = np.where(possible, true, np.iinfo(np.int64).max).min(axis=1)
    high = np.where(possible, true, -1).max(axis=1)
    low, high = np.where(never, figures, low), np.where(never, figures, high)
    stays = table[transition.index(figures)][..., deltas == 0].any(axis=-1)
    return _Known(figures - low, high - figures, stays & (low == high), transition.period)


def public_gate(
    G: ArrayLike, multiplier: EntropyFactor, weights: Sequence[float] = WEIGHTS
) -> Risk:
    """Return an upper bound of the risk after protection from the released table alone.

    For the gate of a public tier: the table is refused where this exceeds the policy's limit. The
    multiplier is the one that the policy fixes for the method. Four weights ask for the split
    form, in which it may be two, for small and for large counts.

    Notes
    -----
    R_up = w1·n'0/K + w2·ψ·T2(G) + w3·T3(M), the terms of [Shlomo2015, eq. 3] of the released
    table with ψ the multiplier of §4.2; in the split form of §4.1 the entropy term apart for
    released counts of at most 6, zeros included, and of 7 and more. Where zeros stay zero the
    first term is proven not to be below the true one; the rest is empirical
    (docs/public-quality.md). Zeros: released zeros raise the first term. A released table of
    nobody has the bound 1: it never passes.

    >>> round(float(dc.risk.public_gate([[39, 3], [0, 57]], multiplier=1 / 3)), 3)
    0.173
    """
    counts = checked_counts(G, "the released table")
    w = checked_weights(weights, 3, 4)
    psi = checked_factors(multiplier, w)
    if not counts.any():
        return replace(risk_of(w, 1.0, [1.0] * len(psi), 1.0), value=1.0)
    entropy = [m * entropy_term(counts[p]) for m, p in zip(psi, parts(counts, w), strict=True)]
    zeros = (counts.size - int(np.count_nonzero(counts))) / counts.size
    return risk_of(w, zeros, entropy, smallness_of(int(counts.sum())))


@lru_cache(maxsize=1)
def _normals() -> Floats:
    """The fixed draws: four for the prior's parameters, three for the cells, two for the model."""
    return np.random.default_rng(SEED).standard_normal((DRAWS, 9))


def draws_of(
    values: Integers, number: NDArray[np.integer], transition: Transition
) -> dict[str, Floats]:
    """Return the estimate, first, and then the draws of each figure that may be shown."""
    prior = fit_prior(values, number, transition)
    normals = _normals()
    root = np.linalg.cholesky(prior.covariance)
    parameters = np.concatenate(
        [prior.parameters[None], prior.parameters + normals[:, :4] @ root.T]
    )
    is_small = values <= LARGEST
    deltas, _ = change_chances(transition)
    small = _small_moments(prior, parameters, values[is_small], number[is_small], deltas)
    large = _large_moments(values[~is_small], number[~is_small], transition)
    square = small["square"] + large["square"]
    noise = np.concatenate([np.zeros((1, 5)), normals[:, 4:]])
    square = square + noise[:, 0] * np.sqrt(small["square_spread"] + large["square_spread"])
    total = np.maximum(small["total"] + large["total"], 1)
    same = small["same"] + large["same"]
    same = same + noise[:, 1] * np.sqrt(small["same_spread"] + large["same_spread"])
    above = small["above"] + large["same"]
    above = above + noise[:, 1] * np.sqrt(small["above_spread"] + large["same_spread"])
    distance = np.sqrt(np.maximum(square, 0)) * np.exp(MODEL_DISTANCE * noise[:, 3])
    return {
        "score": np.clip(1 - distance / np.sqrt(total), 0, 1),
        "unchanged": _doubted(same / number.sum(), noise[:, 4]),
        "positive": _doubted(above / max(number[values > 0].sum(), 1), noise[:, 4]),
        "zeros": _doubted(small["zeros"] + noise[:, 2] * small["zeros_spread"], noise[:, 4]),
        "small": _doubted(small["small"] + noise[:, 2] * small["small_spread"], noise[:, 4]),
    }


def _doubted(shares: Floats, noise: Floats) -> Floats:
    """Return shares with the model's own error; one that is certain, 0 or 1, stays."""
    inside = np.clip(shares, 0, 1)
    return np.clip(inside + MODEL_SHARE * 2 * np.sqrt(inside * (1 - inside)) * noise, 0, 1)


def _small_moments(
    prior: SmoothPrior,
    parameters: Floats,
    values: Integers,
    number: NDArray[np.integer],
    deltas: Integers,
) -> dict[str, Floats]:
    """Sums over the released values up to 40, for each row of parameters.

    Of the true counts only those that may become a released value are looked at, the smallest
    first.
    """
    found = values - deltas[::-1, None]
    true = np.maximum(found, 0)
    flow = np.where(found >= 0, prior.flow[true, values], 0)
    joint = shares_of(parameters, prior.design, prior.offset)[:, true] * flow
    chance = joint / np.maximum(joint.sum(axis=1, keepdims=True), 1e-300)
    same = chance[:, deltas[::-1] == 0].sum(axis=1)
    sums = _moments(chance, true, values, same, number)
    positive = np.where(values > 0, number, 0)
    sums |= {"above": same @ positive, "above_spread": (same * (1 - same)) @ positive}
    for name, wanted in (("zeros", values == 0), ("small", _ones_and_twos(values))):
        n = np.where(wanted, number, 0)
        cells = max(int(n.sum()), 1)
        sums[name] = same @ n / cells
        sums[f"{name}_spread"] = np.sqrt((same * (1 - same)) @ n) / cells
    return sums


def _ones_and_twos(values: Integers) -> Flags:
    return np.asarray((values == 1) | (values == 2))


def _large_moments(
    values: Integers, number: NDArray[np.integer], transition: Transition
) -> dict[str, Floats]:
    """Sums over the released values above 40, with a flat prior over the counts nearby."""
    deltas, table = change_chances(transition)
    possible = values[:, None] >= deltas
    true = np.where(possible, values[:, None] - deltas, 0)
    chance = np.where(possible, table[transition.index(true), np.arange(len(deltas))], 0)
    chance = chance / np.maximum(chance.sum(axis=1, keepdims=True), 1e-300)
    same = chance[:, deltas == 0].sum(axis=1)
    return _moments(chance, true, values[:, None], same, number)


def _moments(
    chance: Floats, true: Integers, released: Integers, same: Floats, number: NDArray[np.integer]
) -> dict[str, Floats]:
    """Sums over the cells of each released value, from the chances of true counts along axis 1."""
    square = 0.5 * np.square(np.sqrt(true) - np.sqrt(released))
    first, second = ((chance * power).sum(axis=1) for power in (square, square**2))
    return {
        "square": first @ number,
        "square_spread": np.maximum(second - first**2, 0) @ number,
        "total": (chance * true).sum(axis=1) @ number,
        "same": same @ number,
        "same_spread": (same * (1 - same)) @ number,
    }


def _kept(drawn: dict[str, Floats]) -> dict[str, Estimate | None]:
    """Return each estimate with its interval, None where that is too wide to tell anything."""
    kept: dict[str, Estimate | None] = {}
    ends = np.quantile([values[1:] for values in drawn.values()], [0.025, 0.975], axis=1)
    for (name, values), low, high in zip(drawn.items(), *ends.tolist(), strict=True):
        value = float(values[0])
        estimate = Estimate(value, min(low, value), max(high, value))
        widest = WIDEST_SCORE if name == "score" else WIDEST_SHARE
        kept[name] = estimate if estimate.width <= widest else None
    return kept


def _sentences(
    score: Estimate | None, unchanged: Estimate | None, bound: str | None
) -> tuple[str, ...]:
    said = ["Figures are deliberately altered."]
    if score is not None:
        said.append(
            "We estimate from the published figures alone that the Hellinger utility is "
            f"{score.text()[:-1]}; 1 = unchanged)."
        )
    if unchanged is not None:
        share, interval = unchanged.percent().split(" ", 1)
        said.append(f"About {share} of the figures are as they were counted {interval}.")
    if score is not None or unchanged is not None:
        said.append("This assumes that counts vary smoothly, which cannot be checked.")
    else:
        said.append("The table is too small, or its figures too low, to say how close they are.")
    if bound is not None:
        said.append(bound)
    return tuple(said)


def _bound(largest_change: int, some_exact: bool = False) -> str:
    which = "Some figures" if some_exact else "Each figure"
    others = "; the others are exact" if some_exact else ""
    return f"{which} may be off by up to {largest_change}, sums of figures by more{others}."
