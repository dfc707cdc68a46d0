"""The risk of every slice of a table along every axis at once, before and after protection.

The kernels are imported where they are used: numba takes longer to import than most work takes.
All functions here are for the custodian. A slice that holds nobody has no risk: its value is NaN.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.checks import (
    checked_axis,
    checked_counts,
    checked_pair,
    checked_total,
    checked_weights,
)
from discreet.errors import ParameterError, unknown
from discreet.risk.before import (
    LARGEST_SMALL,
    SPLIT_WEIGHTS,
    WEIGHTS,
    checked_largest_small,
)
from discreet.risk.slots import SliceValues, Slots
from discreet.risk.terms import (
    changed_zero_share,
    concentration,
    smallness,
    weighted,
    zero_share,
)
from discreet.risk.transition import (
    CONTENTS,
    Contents,
    Multiplier,
    checked_multipliers,
    mean_diagonal,
)
from discreet.table.transition import Transition
from discreet.types import Floats


@dataclass(frozen=True, eq=False)
class SliceTerms:
    """The three terms of R1 and their norm, each of every slice along every axis."""

    zeros: SliceValues
    entropy: SliceValues
    size: SliceValues
    norm: SliceValues


def slices(F: ArrayLike, axis: int, weights: Sequence[float] = WEIGHTS) -> Floats:
    """Return R1 of every slice of a table along one axis.

    Notes
    -----
    [Antal2014, §3.2], [Shlomo2015, eq. 3] with each slice as a table of its own: its own zeros,
    total and number of cells. A slice of nobody is NaN; a slice of one cell has the entropy term 1.

    >>> dc.risk.slices([[40, 2], [0, 58]], axis=0).round(3).tolist()
    [0.623, 0.89]
    """
    return all_slices(F, weights).axes[checked_axis(checked_counts(F), axis)]


def all_slices(F: ArrayLike, weights: Sequence[float] = WEIGHTS) -> SliceValues:
    """Return R1 of every slice along every axis, and of the whole table; see `slices`.

    Four weights ask for the split form; see `all_split_slices`.

    >>> dc.risk.all_slices([[40, 2], [0, 58]]).axes[0].round(3).tolist()
    [0.623, 0.89]
    """
    counts = checked_counts(F)
    w = checked_weights(weights, 3, 4)
    if len(w) == 4:
        return all_split_slices(counts, w)
    checked_total(counts)
    slots = Slots.of(counts, counts)
    return slots.split(weighted(w, *_before_terms(slots, _sums(slots))))


def all_slice_terms(F: ArrayLike) -> SliceTerms:
    """Return the three terms of R1 and their norm, of every slice along every axis.

    Notes
    -----
    [Shlomo2015, eq. 3 and §4.1], as in `before`. A slice of nobody has the zero share 1 and NaN
    for the rest.

    >>> dc.risk.all_slice_terms([[40, 2], [0, 58]]).zeros.axes[0].tolist()
    [0.0, 0.5]
    """
    counts = checked_counts(F)
    checked_total(counts)
    slots = Slots.of(counts, counts)
    zeros, entropy, size = _before_terms(slots, _sums(slots))
    norm = np.sqrt((zeros**2 + entropy**2 + size**2) / 3)
    return SliceTerms(*(slots.split(term) for term in (zeros, entropy, size, norm)))


def all_split_slices(
    F: ArrayLike, weights: Sequence[float] = SPLIT_WEIGHTS, largest_small: int = LARGEST_SMALL
) -> SliceValues:
    """Return the split form of R1 of every slice along every axis, and of the whole table.

    Notes
    -----
    [Shlomo2015, §4.1] as in `before_split`, zeros and parts without people included. A slice of
    nobody is NaN.

    >>> dc.risk.all_split_slices([[40, 2], [0, 58]]).axes[0].round(3).tolist()
    [0.844, 0.19]
    """
    counts = checked_counts(F)
    w = checked_weights(weights, 4)
    checked_largest_small(largest_small)
    checked_total(counts)
    slots = Slots.of(counts, counts)
    return slots.split(weighted(w, *_split_terms(slots, largest_small)))


def all_after_slices(F: ArrayLike, G: ArrayLike, weights: Sequence[float] = WEIGHTS) -> SliceValues:
    """Return R2 by conditional entropy of every slice along every axis, and of the whole table.

    Notes
    -----
    [Antal2014, §3.3] as in `after`, with three weights or four: for reproduction and study. A
    slice that holds nobody in the true or in the released table is NaN.

    >>> found = dc.risk.all_after_slices([[40, 2], [0, 58]], [[39, 3], [0, 57]])
    >>> found.axes[0].round(3).tolist(), round(found.whole, 3)
    ([0.182, 0.09], 0.071)
    """
    true, released = checked_pair(F, G)
    w = checked_weights(weights, 3, 4)
    checked_total(true)
    slots = Slots.of(true, released)
    sums, k = _sums(slots), slots.cells
    zeros = changed_zero_share(k - sums[0], k - sums[4], k - sums[3], k)
    parts = [(slots, k)] if len(w) == 3 else _parts(slots, LARGEST_SMALL)
    entropy = [_entropy_after(*part) for part in parts]
    value = weighted(w, zeros, *entropy, smallness(sums[1]))
    return slots.split(np.where(sums[1] > 0, value, np.nan))


def all_transition_slices(
    F: ArrayLike,
    G: ArrayLike,
    transition: Transition,
    weights: Sequence[float] = WEIGHTS,
    multiplier: Multiplier | None = None,
    contents: Contents = "expected",
) -> SliceValues:
    """Return the risk by the transition of every slice along every axis, and of the whole table.

    Notes
    -----
    [Shlomo2015, §4.2] as in `after_transition`, with three weights or four, each slice with its
    own frequencies n_i, never above the slice's risk before. A slice that holds nobody in the
    true table is NaN.

    >>> F, G = [[40, 2], [0, 58]], [[39, 3], [0, 57]]
    >>> found = dc.risk.all_transition_slices(F, G, dc.protect.RandomRounding(3).transition())
    >>> found.axes[0].round(3).tolist()
    [0.237, 0.356]
    """
    true, released = checked_pair(F, G)
    w = checked_weights(weights, 3, 4)
    checked_total(true)
    if contents not in CONTENTS:
        raise unknown("kind of contents", contents, CONTENTS)
    psi = checked_multipliers(mean_diagonal(transition) if multiplier is None else multiplier)
    slots = Slots.of(true, released)
    sums, k = _sums(slots), slots.cells
    terms = _before_terms(slots, sums) if len(w) == 3 else _split_terms(slots, LARGEST_SMALL)
    start = weighted(w, *terms)
    zeros = changed_zero_share(k - sums[0], k - sums[4], k - sums[3], k)
    split = None if len(w) == 3 else LARGEST_SMALL
    held = _contents_terms(slots, transition, contents == "observed", split)
    entropy = [max(psi) * held[0]] if split is None else [psi[0] * held[0], psi[1] * held[1]]
    value = weighted(w, zeros, *entropy, terms[-1])
    return slots.split(np.where(np.isnan(value), value, np.minimum(value, start)))


def _contents_terms(
    slots: Slots, transition: Transition, observed: bool, largest_small: int | None
) -> list[Floats]:
    """Return the entropy terms of the expected contents, of all cells or of the two parts."""
    from discreet.risk import kernels

    identified = _identified(slots, transition)
    known = np.unique(np.append(slots.released, 0))
    if largest_small is None:
        parts = [(np.ones(len(known), bool), slots.cells)]
    else:
        is_large = slots.released > largest_small
        large = _sums(replace(slots, true=np.where(is_large, slots.released, 0)))[0]
        small_value = known <= largest_small
        parts = [(small_value, slots.cells - large), (~small_value, large)]
    terms = []
    for counted, cells in parts:
        held, logs, impossible = kernels.contents_sums(*identified, observed, counted)
        if impossible.any():
            raise ParameterError(
                "the released table must be one that the transition can make of the true table. "
                "It holds a value that no true count leads to."
            )
        empty = np.nan if largest_small is None else 0.0
        terms.append(np.where(held > 0, concentration(held, logs, cells), empty))
    return terms


def _parts(slots: Slots, largest_small: int) -> list[tuple[Slots, NDArray[Any]]]:
    """Return the cells of small and of large true counts, with their number in each slot."""
    is_large = slots.true > largest_small
    small, large = (
        replace(
            slots,
            true=np.where(part, slots.true, 0),
            released=np.where(part, slots.released, 0),
        )
        for part in (~is_large, is_large)
    )
    number = _sums(large)[0]
    return [(small, slots.cells - number), (large, number)]


def _split_terms(slots: Slots, largest_small: int) -> tuple[Floats, Floats, Floats, Floats]:
    zeros, _, size = _before_terms(slots, _sums(slots))
    small, large = (
        np.where(sums[1] > 0, concentration(sums[1], sums[2], cells), 0.0)
        for sums, cells in ((_sums(part), cells) for part, cells in _parts(slots, largest_small))
    )
    return zeros, small, large, size


def _entropy_after(slots: Slots, cells: NDArray[Any]) -> Floats:
    """Return T2·H(X|Y)/H(X) of each slot: 0 without true people, NaN without released ones."""
    from discreet.risk import kernels

    held, _, _, n, m, logs, conditional = kernels.after_sums(
        slots.true, slots.released, slots.index, slots.size
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        entropy = np.log(n) - logs / n
        # A slice with all its people in one cell has H(X) = 0 up to rounding: no second term.
        ratio = np.where(held > 1, np.maximum(conditional, 0) / entropy, 0.0)
    term = concentration(n, logs, cells) * np.where(m > 0, ratio, np.nan)
    return np.where(n > 0, term, 0.0)


def _sums(slots: Slots) -> Floats:
    from discreet.risk import kernels

    return np.asarray(kernels.before_sums(slots.true, slots.released, slots.index, slots.size))


def _before_terms(slots: Slots, sums: Floats) -> tuple[Floats, Floats, Floats]:
    held, total, logs = sums[:3]
    return (
        zero_share(slots.cells - held, slots.cells),
        concentration(total, logs, slots.cells),
        smallness(total),
    )


def _identified(
    slots: Slots, transition: Transition
) -> tuple[
    NDArray[np.int32],
    NDArray[np.int32],
    NDArray[np.int32],
    NDArray[np.int64],
    NDArray[np.int64],
    NDArray[np.int32],
    Floats,
]:
    """Number the distinct true and released counts, 0 first, and say which becomes which."""
    values, f_id = _numbered(slots.true)
    known, g_id = _numbered(slots.released)
    rows = transition.index(values)
    wanted = values[:, None] + transition.changes[rows]
    chances = transition.probabilities[rows]
    place = np.searchsorted(known, wanted)
    place[place == len(known)] = 0
    targets = np.where((known[place] == wanted) & (chances > 0), place, -1).astype(np.int32)
    return f_id, g_id, slots.index, slots.cells, values, targets, chances


def _numbered(counts: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Return the distinct counts with 0 in front, and the place of each count among them."""
    values, place = np.unique(np.append(counts, 0), return_inverse=True)
    return values, place[:-1].astype(np.int32)
