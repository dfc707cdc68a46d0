"""Step 5: the answer to a question as slices and sums of the figures of complete tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import fields, replace
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.policy import Margins
from discreet.population.schema import Level, Variable
from discreet.query import Question
from discreet.query.classes import margins
from discreet.release.complete import CompleteTable
from discreet.release.steps import Projected
from discreet.types import Integers


def project(table: CompleteTable, question: Question) -> Projected:
    """Return the figures of a question that the class of a complete table covers."""
    placed = [_placed(question, *question.schema.find(level.id)) for level in table.of.levels]
    shape = tuple(map(len, question.axes))
    source = table.making.question
    order = [axis for axis, _, _ in placed]

    def add(array: Integers) -> Integers:
        # Those that shrink most go first: what is left to add up is then small.
        for at in sorted(range(len(placed)), key=lambda d: placed[d][2] / len(placed[d][1])):
            _, place, length = placed[at]
            array = added_up(array, at, place, length)
        return _arranged(array, order, len(shape))

    parts = _parts(placed, len(shape)).reshape(shape)
    blocked = np.zeros(shape, bool)
    if table.withheld is not None and table.partial and source.geography is not None:
        _, place, length = placed[source.geography]
        hit = added_up(table.withheld.astype(np.int64), 0, place, length) > 0
        at = order[source.geography]
        blocked |= hit.reshape([len(hit) if d == at else 1 for d in range(len(shape))])
    low, high = table.ranges
    values = np.where(blocked, 0, add(table.figures))
    noisy = table.making.protection.build is not None
    return Projected(
        values,
        parts,
        parts if noisy else np.zeros_like(parts),
        blocked,
        None if low is None else np.where(blocked, 0, add(low)),
        None if high is None else np.where(blocked, 0, add(high)),
    )


_Place = tuple[int, NDArray[np.int64], int]


def _placed(question: Question, variable: Variable, level: Level) -> _Place:
    """Return the axis of a variable (−1 for none), and where its categories go along it."""
    shown = [i for i, axis in enumerate(question.axes) if axis.variable is variable]
    place = question.place_of(variable, level)
    return (shown[0], place, len(question.axes[shown[0]])) if shown else (-1, place, 1)


def _arranged(array: Integers, order: list[int], axes: int) -> Integers:
    """Return the array with the axes asked in their order, and those not shown left out."""
    hidden = tuple(d for d, axis in enumerate(order) if axis < 0)
    left = [axis for axis in order if axis >= 0]
    assert len(left) == axes
    return np.squeeze(array, hidden).transpose(np.argsort(left))


def _parts(placed: list[_Place], axes: int) -> Integers:
    """Return how many figures each figure of the answer is the sum of."""
    factors = []
    for axis, place, length in placed:
        many = np.bincount(place[place >= 0], minlength=length)
        shape = [length if d == axis else 1 for d in range(axes)]
        factors.append(many.reshape(shape) if axis >= 0 else many.reshape([1] * axes))
    return reduce(np.multiply, factors, np.ones([1] * axes, np.int64)).astype(np.int64)


def added_up(array: Integers, at: int, place: NDArray[np.int64], length: int) -> Integers:
    """Return an array with one axis added up into new places; those placed at −1 are left out."""
    used = np.flatnonzero(place >= 0)
    used = used[np.argsort(place[used], kind="stable")]
    to = place[used]
    if len(used) == length and len(used) == array.shape[at] and (np.diff(used) == 1).all():
        return array
    taken = array.take(used, axis=at)
    if len(to) == length and (np.diff(to) == 1).all():
        return taken
    found, starts = np.unique(to, return_index=True)
    sums = np.add.reduceat(taken, starts, axis=at, dtype=np.int64)
    if len(found) == length:
        return sums
    shape = list(array.shape)
    shape[at] = length
    out = np.zeros(shape, np.int64)
    out[(slice(None),) * at + (found,)] = sums
    return out


def with_totals(
    question: Question,
    totals: Margins,
    inner: Projected,
    margin: Callable[[Question], Projected],
) -> Projected:
    """Return the figures with a total at the end of every axis, if asked for.

    Protected totals come from tables of their own; summed ones are sums of the figures shown.
    """
    if totals is Margins.NONE:
        return inner
    if totals is Margins.SUMMED:
        return _blanked(_each(inner, _summed))
    shape = [len(axis) for axis in question.axes]
    whole = _each(inner, lambda array: np.pad(array, [(0, 1)] * len(shape)))
    for over, other in margins(question):
        found = margin(other)
        where = tuple(-1 if d in over else slice(0, n) for d, n in enumerate(shape))
        _fill(whole, where, found)
    return whole


def _each(projected: Projected, change: Callable[[Any], Any]) -> Projected:
    old: dict[str, Any] = {f.name: getattr(projected, f.name) for f in fields(projected)}
    new: dict[str, Any] = {k: None if a is None else change(a) for k, a in old.items()}
    return Projected(**new)


def _blanked(projected: Projected) -> Projected:
    """Return the figures with nothing behind those that are withheld."""
    gone, low, high = projected.withheld, projected.low, projected.high
    return replace(
        projected,
        values=np.where(gone, 0, projected.values),
        low=None if low is None else np.where(gone, 0, low),
        high=None if high is None else np.where(gone, 0, high),
    )


def _fill(whole: Projected, where: Iterable[int | slice], part: Projected) -> None:
    for f in fields(whole):
        into, new = getattr(whole, f.name), getattr(part, f.name)
        if into is not None and new is not None:
            into[tuple(where)] = new
        elif into is not None:
            into[tuple(where)] = part.values  # as counted: the range is the figure


def _summed(array: Integers) -> Integers:
    """Return an array with sums at the end of every axis; of flags: whether any is set."""
    for axis in range(array.ndim):
        add = np.logical_or if array.dtype == bool else np.add
        array = np.concatenate([array, add.reduce(array, axis=axis, keepdims=True)], axis=axis)
    return array
