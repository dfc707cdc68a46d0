"""The risk of every row and column of a table at once, before and after protection.

A row is what a table holds of one category of one of its axes, a table of its own: in a two-way
table the rows lie along axis 0 and the columns along axis 1. All functions here are for the
custodian. A row that holds nobody has no risk: its value is NaN. The kernels are imported where
they are used: numba takes longer to import than most work takes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.checks import (
    checked_axis,
    checked_counts,
    checked_pair,
    checked_total,
    checked_weights,
)
from discreet.errors import unknown
from discreet.risk.before import LARGEST_SMALL, WEIGHTS, parts, split
from discreet.risk.slots import RowValues, Slots, Sums
from discreet.risk.terms import changed_zero_share, concentration, smallness, weighted, zero_share
from discreet.risk.transition import (
    CONTENTS,
    Contents,
    EntropyFactor,
    checked_factors,
    impossible_release,
    mean_diagonal,
)
from discreet.table.transition import Transition
from discreet.types import Floats, Integers


@dataclass(frozen=True, eq=False)
class RowTerms:
    """The three terms of R1 and their norm, each of every row along every axis."""

    zeros: RowValues
    entropy: RowValues
    size: RowValues
    norm: RowValues


def slices(F: ArrayLike, axis: int, weights: Sequence[float] = WEIGHTS) -> Floats:
    """Return R1 of every row of a table along one axis.

    Notes
    -----
    [Antal2014, §3.2], [Shlomo2015, eq. 3] with each row as a table of its own: its own zeros,
    total and number of cells. A row of nobody is NaN; a row of one cell has the entropy term 1.

    >>> dc.risk.slices([[40, 2], [0, 58]], axis=0).round(3).tolist()
    [0.623, 0.89]
    """
    return before_rows(F, weights).axes[checked_axis(checked_counts(F), axis)]


def before_rows(
    F: ArrayLike, weights: Sequence[float] = WEIGHTS, largest_small: int = LARGEST_SMALL
) -> RowValues:
    """Return R1 of every row along every axis, and of the whole table; see `slices`.

    Notes
    -----
    [Antal2014, §3.2] as in `before`; four weights ask for the split form of [Shlomo2015, §4.1] as
    in `before_split`, zeros and parts without people included. A row of nobody is NaN.

    >>> dc.risk.before_rows([[40, 2], [0, 58]]).axes[0].round(3).tolist()
    [0.623, 0.89]
    """
    counts = checked_counts(F)
    w = checked_weights(weights, 3, 4)
    checked_total(counts)
    slots = Slots.of(counts, counts)
    return slots.split(_before(slots, w, largest_small))


def term_rows(F: ArrayLike) -> RowTerms:
    """Return the three terms of R1 and their norm, of every row along every axis.

    Notes
    -----
    [Shlomo2015, eq. 3 and §4.1], as in `before`. A row of nobody has the zero share 1 and NaN for
    the rest.

    >>> dc.risk.term_rows([[40, 2], [0, 58]]).zeros.axes[0].tolist()
    [0.0, 0.5]
    """
    counts = checked_counts(F)
    checked_total(counts)
    slots = Slots.of(counts, counts)
    sums = slots.sums
    zeros, size = zero_share(slots.cells - sums.held, slots.cells), smallness(sums.total)
    entropy = concentration(sums.total, sums.logs, slots.cells)
    norm = np.sqrt((zeros**2 + entropy**2 + size**2) / 3)
    return RowTerms(*(slots.split(term) for term in (zeros, entropy, size, norm)))


def after_rows(F: ArrayLike, G: ArrayLike, weights: Sequence[float] = WEIGHTS) -> RowValues:
    """Return R2 by conditional entropy of every row along every axis, and of the whole table.

    Notes
    -----
    [Antal2014, §3.3] as in `after`, with three weights or four: for reproduction and study. A row
    that holds nobody in the true or in the released table is NaN.

    >>> found = dc.risk.after_rows([[40, 2], [0, 58]], [[39, 3], [0, 57]])
    >>> found.axes[0].round(3).tolist(), round(found.whole, 3)
    ([0.182, 0.09], 0.071)
    """
    true, released = checked_pair(F, G)
    w = checked_weights(weights, 3, 4)
    checked_total(true)
    slots = Slots.of(true, released)
    entropy = [_entropy_after(*part) for part in _parts(slots, w, LARGEST_SMALL)]
    return slots.split(_weighted(w, slots.sums, _zeros_after(slots), entropy))


def after_transition_rows(
    F: ArrayLike,
    G: ArrayLike,
    transition: Transition,
    weights: Sequence[float] = WEIGHTS,
    multiplier: EntropyFactor | None = None,
    contents: Contents = "expected",
) -> RowValues:
    """Return the risk by the transition of every row along every axis, and of the whole table.

    Notes
    -----
    [Shlomo2015, §4.2] as in `after_transition`, with three weights or four, each row with its own
    frequencies n_i, never above the row's risk before. A row that holds nobody in the true table
    is NaN.

    >>> F, G = [[40, 2], [0, 58]], [[39, 3], [0, 57]]
    >>> found = dc.risk.after_transition_rows(F, G, dc.protect.RandomRounding(3).transition())
    >>> found.axes[0].round(3).tolist()
    [0.237, 0.356]
    """
    true, released = checked_pair(F, G)
    w = checked_weights(weights, 3, 4)
    checked_total(true)
    if contents not in CONTENTS:
        raise unknown("kind of contents", contents, CONTENTS)
    psi = checked_factors(mean_diagonal(transition) if multiplier is None else multiplier, w)
    slots = Slots.of(true, released)
    terms = _contents_terms(slots, transition, contents == "observed", w)
    entropy = [factor * term for factor, term in zip(psi, terms, strict=True)]
    value = _weighted(w, slots.sums, _zeros_after(slots), entropy)
    return slots.split(np.minimum(value, _before(slots, w, LARGEST_SMALL)))


def _before(slots: Slots, weights: tuple[float, ...], largest_small: int) -> Floats:
    """Return R1 of each slot."""
    entropy = []
    for part, cells in _parts(slots, weights, largest_small):
        sums = part.sums
        entropy.append(np.where(sums.total > 0, concentration(sums.total, sums.logs, cells), 0.0))
    sums = slots.sums
    return _weighted(weights, sums, zero_share(slots.cells - sums.held, slots.cells), entropy)


def _weighted(
    weights: tuple[float, ...], sums: Sums, zeros: Floats, entropy: list[Floats]
) -> Floats:
    """Return the risk of each slot made of its terms, NaN where nobody is."""
    value = weighted(weights, zeros, *entropy, smallness(sums.total))
    return np.where(sums.total > 0, value, np.nan)


def _zeros_after(slots: Slots) -> Floats:
    sums, k = slots.sums, slots.cells
    return changed_zero_share(k - sums.held, k - sums.both, k - sums.either, k)


def _parts(
    slots: Slots, weights: tuple[float, ...], largest_small: int
) -> list[tuple[Slots, Integers]]:
    """Return the cells that share an entropy term, with their number in each slot.

    All of them, or with four weights those of small and those of large true counts.
    """
    if len(weights) == 3:
        return [(slots, slots.cells)]
    small, large = split(slots.true, largest_small)
    number = slots.number(large)
    return [(slots.where(small), slots.cells - number), (slots.where(large), number)]


def _entropy_after(slots: Slots, cells: Integers) -> Floats:
    """Return T2·H(X|Y)/H(X) of each slot: 0 without true people, NaN without released ones."""
    from discreet.risk import kernels

    sums = slots.sums
    n = sums.total
    unknown = kernels.conditional_entropy(slots.true, slots.released, slots.index, n, sums.released)
    with np.errstate(divide="ignore", invalid="ignore"):
        entropy = np.log(n) - sums.logs / n
        # A row with all its people in one cell has H(X) = 0 up to rounding: no second term.
        ratio = np.where(sums.held > 1, np.maximum(unknown, 0) / entropy, 0.0)
    term = concentration(n, sums.logs, cells) * np.where(sums.released > 0, ratio, np.nan)
    return np.where(n > 0, term, 0.0)


def _contents_terms(
    slots: Slots, transition: Transition, observed: bool, weights: tuple[float, ...]
) -> list[Floats]:
    """Return the entropy terms of the expected contents, of all cells or of the two parts."""
    from discreet.risk import kernels

    values, f_id = _numbered(slots.true)
    known, g_id = _numbered(slots.released)
    targets, chances = _targets(values, known, transition)
    cells, empty = [slots.cells], np.nan
    if len(weights) == 4:
        large = slots.number(slots.released > LARGEST_SMALL)
        cells, empty = [slots.cells - large, large], 0.0
    terms = []
    for part, number in zip(parts(known, weights), cells, strict=True):
        counted = np.zeros(len(known), bool)
        counted[part] = True
        held, logs, impossible = kernels.contents_sums(
            f_id, g_id, slots.index, slots.cells, values, targets, chances, observed, counted
        )
        if impossible.any():
            raise impossible_release()
        terms.append(np.where(held > 0, concentration(held, logs, number), empty))
    return terms


def _targets(
    values: Integers, known: Integers, transition: Transition
) -> tuple[NDArray[np.int32], Floats]:
    """Return the place among the known released counts of what each true one becomes, or −1."""
    rows = transition.index(values)
    wanted = values[:, None] + transition.changes[rows]
    chances = transition.probabilities[rows]
    place = np.searchsorted(known, wanted)
    place[place == len(known)] = 0
    targets = np.where((known[place] == wanted) & (chances > 0), place, -1)
    return targets.astype(np.int32), chances


def _numbered(counts: Integers) -> tuple[Integers, NDArray[np.int32]]:
    """Return the distinct counts with 0 in front, and the place of each count among them."""
    values, place = np.unique(np.append(counts, 0), return_inverse=True)
    return values, place[:-1].astype(np.int32)
