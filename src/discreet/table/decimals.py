"""Figures taken as the decimals they are written as: exact sums, and exact comparisons."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

from discreet.checks import LARGEST
from discreet.errors import ParameterError
from discreet.types import Floats

# Figures with more decimals are not decimals but results of a computation.
MOST_DECIMALS = 15
# Whole numbers up to here, and their sums up to 2^53, are exact as floats.
WHOLE = 2.0**50
BEYOND = f"at most {LARGEST:,} (2^53): beyond it figures are not computed exactly"
"""The limit of every figure that is read, and of their total, in words."""


def is_beyond(text: str) -> bool:
    """Return whether a number, written in digits with a point or an exponent, is too large."""
    # The decimal itself where the float is close: 2^53 + 1 is 2^53 as a float.
    return float(text) >= LARGEST and not (len(text) < 40 and Decimal(text) <= LARGEST)


def refuse_sum_beyond(what: str, figures: ArrayLike) -> None:
    """Raise where figures of 0 or more, none too large by itself, have too large a sum."""
    parts = np.floor(np.asarray(figures)).astype(np.int64)
    # Floats tell whether integers can hold the sum, integers what it is.
    rough = float(parts.sum(dtype=np.float64))
    if rough >= 2.0**60 or int(parts.sum()) > LARGEST:
        raise ParameterError(f"{what} must sum to {BEYOND}. They sum to about {rough:.3g}.")


@lru_cache(maxsize=1024)  # the thresholds of a policy are compared with in every table
def exact(figure: float | Fraction) -> Fraction:
    """Return the decimal that a figure is written as: of 0.1 a tenth, not the float beside it."""
    return Fraction(figure) if isinstance(figure, Fraction) else Fraction(repr(float(figure)))


def decimals_of(figures: ArrayLike, most: int = MOST_DECIMALS) -> int | None:
    """Return how many decimals the figures have, at most; None if more, or too many digits."""
    values = np.abs(np.asarray(figures, np.float64))
    largest = float(values.max(initial=0))
    for decimals in range(most + 1):
        if largest * 10.0**decimals > WHOLE:
            return None
        if (np.round(values, decimals) == values).all():
            return decimals
    return None


def in_units(figures: ArrayLike) -> tuple[Floats, float]:
    """Return the figures in whole units of their last decimal, and how many units make 1.

    Sums of these are exact, and divided by the second the decimals that they are. Figures whose
    sum has more than 15 digits are returned as they are, with 1.
    """
    values = np.asarray(figures, np.float64)
    decimals = decimals_of(values)
    if decimals is None or float(np.abs(values).sum()) * 10.0**decimals > WHOLE:
        return values, 1.0
    return np.rint(values * 10.0**decimals), 10.0**decimals


def added(figures: ArrayLike, change: ArrayLike) -> Floats:
    """Return the sums of two arrays as the decimals that they are, up to 15 digits."""
    first, second = np.asarray(figures, np.float64), np.asarray(change, np.float64)
    found = first + second
    places = [decimals_of(part[np.isfinite(part)]) for part in (first, second)]
    if None in places:
        return np.asarray(found)
    return np.asarray(np.round(found, max(place or 0 for place in places)))


def share_of(figures: ArrayLike, share: Fraction) -> Floats:
    """Return a share of the figures as the decimals that it is: a tenth of 1.1 is 0.11."""
    whole, unit = in_units(figures)
    return np.asarray(whole * share.numerator / (share.denominator * unit))


def of_steps(numbers: ArrayLike, step: float | Fraction) -> Floats:
    """Return so many steps as figures: 3 steps of 0.1 are 0.3."""
    size = exact(step)
    return np.asarray(np.asarray(numbers, np.float64) * size.numerator / size.denominator)


def in_steps(figures: ArrayLike, step: float | Fraction, up: bool = False) -> Floats:
    """Return how many whole steps there are in each figure, the rest left out, or filled `up`.

    A figure that is a multiple of the step is never one step off by a rounding error.
    """
    values, size = np.asarray(figures, np.float64), exact(step)
    given = values * size.denominator / size.numerator
    near = np.rint(given)
    cut = np.ceil(given) if up else np.floor(given)
    return np.asarray(np.where(of_steps(near, step) == values, near, cut))
