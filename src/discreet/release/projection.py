"""Step 5: the answer to a question as slices and sums of the figures of complete tables."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.policy import Margins
from discreet.population.schema import Level, Variable
from discreet.query import Question
from discreet.release.complete import CompleteTable
from discreet.release.steps import Projected
from discreet.tabulate.engine import Places
from discreet.types import Integers


def project(table: CompleteTable, question: Question) -> Projected:
    """Return the figures of a question that the class of a complete table covers."""
    whole = _whole(table, question)
    if whole is not None:
        return whole
    moves = [_move(question, *question.schema.find(level.id)) for level in table.of.levels]
    shape = tuple(map(len, question.axes))
    source = table.making.question
    order = [move.axis for move in moves]
    # Those that shrink most go first: what is left to add up is then small.
    changed = [at for at in range(len(moves)) if not moves[at].same]
    changed.sort(key=lambda at: moves[at].length / len(moves[at].place))

    def add(array: Integers) -> Integers:
        for at in changed:
            array = moves[at].added_up(array, at)
        return _arranged(array, order, len(shape))

    parts = _parts([moves[at] for at in changed], shape)
    blocked = np.zeros(shape, bool)
    if table.withheld is not None and table.partial and source.geography is not None:
        area = moves[source.geography]
        hit = area.added_up(table.withheld.astype(np.int64), 0) > 0
        blocked |= hit.reshape([len(hit) if d == area.axis else 1 for d in range(len(shape))])
    some = bool(blocked.any())

    def shown(array: Integers) -> Integers:
        return np.where(blocked, 0, add(array)) if some else add(array)

    drawn = parts if table.making.protection.build is not None else np.zeros_like(parts)
    if blocked.all():  # nothing is added up of which nothing is shown
        return Projected(np.zeros(shape, np.int64), parts, drawn, blocked)
    low, high = table.ranges
    return Projected(
        shown(table.figures),
        parts,
        drawn,
        blocked,
        None if low is None else shown(low),
        None if high is None else shown(high),
    )


def _whole(table: CompleteTable, question: Question) -> Projected | None:
    """Return the figures as they lie where a question asks for all of them, as totals mostly do."""
    levels, asked = table.of.levels, question.levels
    if question.filters or len(levels) != len(asked):
        return None
    whole = table.whole_answer
    if whole is None or levels == asked:
        return whole
    if {*levels} != {*asked}:
        return None
    order = [asked.index(level) for level in levels]
    return _each(whole, lambda array: _arranged(array, order, len(order)))


@dataclass(frozen=True, eq=False)
class Move(Places):
    """Where the categories of a table's axis go along an axis of the answer (−1 for none)."""

    axis: int
    same: bool = False  # whether every category stays where it is


def _move(question: Question, variable: Variable, level: Level) -> Move:
    """Return where the categories of a level go in the answer to a question."""
    at = next((i for i, axis in enumerate(question.axes) if axis.variable is variable), -1)
    whole = at >= 0 and question.axes[at].level is level and question.filter_on(variable) is None
    if whole and level.full:
        return Move(question.axes[at].kept, len(level), at, True)
    place = question.place_of(variable, level)
    length = 1 if at < 0 else len(question.axes[at])
    same = at >= 0 and len(place) == length and bool((place == np.arange(length)).all())
    return Move(place, length, at, same)


def _arranged(array: Integers, order: list[int], axes: int) -> Integers:
    """Return the array with the axes asked in their order, and those not shown left out."""
    if order == [*range(axes)]:
        return array
    hidden = tuple(d for d, axis in enumerate(order) if axis < 0)
    left = [axis for axis in order if axis >= 0]
    assert len(left) == axes
    shown = array.squeeze(hidden) if hidden else array
    return shown if left == sorted(left) else shown.transpose(np.argsort(left))


def _parts(moves: list[Move], shape: tuple[int, ...]) -> Integers:
    """Return how many figures each figure of the answer is the sum of."""
    parts = np.ones(shape, np.int64)
    for move in moves:
        many = np.bincount(move.place[move.place >= 0], minlength=move.length)
        parts *= many.reshape([move.length if d == move.axis else 1 for d in range(len(shape))])
    return parts


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
    places: list[tuple[int | slice, ...]] = [tuple(slice(0, n) for n in shape)]
    found = [inner]
    for over, other in question.margins:
        places.append(tuple(-1 if d in over else slice(0, n) for d, n in enumerate(shape)))
        found.append(margin(other))

    def joined(name: str) -> Any:
        arrays = [getattr(one, name) for one in found]
        first = arrays[0]
        if first is None:
            return None
        whole = tuple(length + 1 for length in shape)
        if all(map(_is_one, arrays)) and len({array.flat[0] for array in arrays}) == 1:
            return np.broadcast_to(first.flat[0], whole)
        into = np.zeros(whole, first.dtype)
        for where, one, array in zip(places, found, arrays, strict=True):
            # Figures as counted have no range: it is the figure.
            into[where] = one.values if array is None else array
        return into

    return Projected(**{name: joined(name) for name in vars(inner)})


def _is_one(array: NDArray[Any] | None) -> bool:
    """Whether an array is one value for all its places, and known to be."""
    return array is not None and array.size > 0 and not any(array.strides)


def _each(projected: Projected, change: Callable[[Any], Any]) -> Projected:
    new: dict[str, Any] = {
        name: None if array is None else change(array) for name, array in vars(projected).items()
    }
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


def _summed(array: Integers) -> Integers:
    """Return an array with sums at the end of every axis; of flags: whether any is set."""
    for axis in range(array.ndim):
        add = np.logical_or if array.dtype == bool else np.add
        array = np.concatenate([array, add.reduce(array, axis=axis, keepdims=True)], axis=axis)
    return array
