"""Checks of values: parameters, and the arrays that measures are given, each in one wording."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from operator import index
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.errors import ParameterError
from discreet.labelled import array_of

LARGEST = 2**53
"""The largest count: beyond it, not every whole number is a float."""

Choice = TypeVar("Choice", bound=StrEnum)


def whole(name: str, value: Any, least: int, most: int | None = None) -> int:
    """Return a parameter as an integer, or raise the error that states its range."""
    try:
        number = index(value)
    except TypeError:
        number = least - 1
    if isinstance(value, bool) or number < least or (most is not None and number > most):
        span = f"of at least {least}" if most is None else f"from {least} to {most}"
        raise ParameterError(f"{name} must be an integer {span}. Got {value!r}.")
    return number


def number(name: str, value: Any, least: float, most: float) -> float:
    """Return a parameter as a number, or raise the error that states its range."""
    given = isinstance(value, int | float) and not isinstance(value, bool)
    if not given or not least <= value <= most:
        raise ParameterError(f"{name} must be a number from {least:g} to {most:g}. Got {value!r}.")
    return float(value)


def checked_list(
    name: str, values: ArrayLike, number: int | None = None, kinds: str = "iu"
) -> NDArray[Any]:
    """Return a list of integers (kinds "b": of true and false), as many as stated."""
    array = np.asarray(values)
    if array.ndim != 1 or array.dtype.kind not in kinds or number not in (None, len(array)):
        what = "values that are true or false" if kinds == "b" else "integers"
        many = "" if number is None else f"{number:,} "
        raise ParameterError(f"{name} must be a list of {many}{what}.")
    return array


def checked_counts(counts: ArrayLike, name: str = "a table") -> NDArray[np.int64]:
    """Return the counts as a contiguous array of int64: whole numbers of 0 or more, any shape."""
    plain = array_of(counts)
    try:
        given = np.asarray(plain)
    except ValueError:
        raise ParameterError(f"{name} must have rows of one length.") from None
    if given.size == 0:
        raise ParameterError(f"{name} must have at least one cell.")
    kind = given.dtype.kind
    if kind not in "iuf":
        raise _bad(name, f"got the type {given.dtype}")
    if kind == "f" and not np.isfinite(given).all():
        raise _bad(name, "got a missing or infinite value")
    if kind == "f" and (given != np.floor(given)).any():
        raise _bad(name, "got a fractional one")
    if kind != "u" and given.min() < 0:
        raise _bad(name, "got a negative one")
    if given.max() > LARGEST:
        raise _bad(name, f"got one above {LARGEST:,} (2^53)")
    return np.ascontiguousarray(given, np.int64)


def checked_pair(true: ArrayLike, released: ArrayLike) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the true and the released counts, which must have one shape."""
    first = checked_counts(true, "the true table")
    second = checked_counts(released, "the released table")
    if first.shape != second.shape:
        raise ParameterError(
            f"the true and the released table must have one shape. "
            f"Got {first.shape} and {second.shape}."
        )
    return first, second


def checked_total(counts: NDArray[np.int64]) -> int:
    """Return the total of a table, which must not be empty: a table of nobody has no risk."""
    total = int(counts.sum())
    if total == 0:
        raise ParameterError("a table must hold at least one person. All of its cells are zero.")
    return total


def checked_axis(counts: NDArray[np.int64], axis: int) -> int:
    """Return the axis counted from 0."""
    if not isinstance(axis, int | np.integer) or isinstance(axis, bool):
        raise ParameterError(f"axis must be an integer. Got {axis!r}.")
    if not -counts.ndim <= axis < counts.ndim:
        raise ParameterError(
            f"axis must be between 0 and {counts.ndim - 1}, the axes of the table. Got {axis}."
        )
    return axis % counts.ndim


def checked_weights(weights: Sequence[float], *numbers: int) -> tuple[float, ...]:
    """Return the weights of a risk measure: as many as one of the numbers, none negative, sum 1."""
    rule = f"weights must be {' or '.join(map(str, numbers))} numbers of 0 or more that sum to 1."
    try:
        given = tuple(float(weight) for weight in weights)
    except (TypeError, ValueError):
        raise ParameterError(f"{rule} Got {weights!r}.") from None
    if len(given) not in numbers or not min(given) >= 0 or not abs(sum(given) - 1) <= 1e-9:
        raise ParameterError(f"{rule} Got {', '.join(f'{weight:g}' for weight in given)}.")
    return given


def chosen(name: str, kind: type[Choice], given: str) -> Choice:
    """Return the member of an enumeration that a text names; raise with the choices."""
    try:
        return kind(str(given).lower())
    except ValueError:
        *others, last = kind
        choices = f"{', '.join(others)} or {last}"
        raise ParameterError(f"{name} must be {choices}. Got {given}.") from None


def _bad(name: str, problem: str) -> ParameterError:
    return ParameterError(f"{name} must hold whole numbers of 0 or more; {problem}.")
