"""How many cells changed by how much: the listing by percent change, sensitive cells apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.errors import ParameterError

# The classes of percent change in print; the last one is added for what is beyond.
PERCENT_CLASSES = (0.0, 0.1, 0.5, 1.0, 1.5, 2.0, 5.0, 10.0, 15.0, 30.0, 100.0)
VALUE_CLASSES = 20
# A change of exactly 10% is computed as 10.000000000000009%: classes look at so many decimals.
DECIMALS = 9


@dataclass(frozen=True)
class ClassRow:
    """A class, above `low` up to and with `high`, and how many cells are in it."""

    low: float
    high: float
    nonsensitive: int
    sensitive: int


@dataclass(frozen=True)
class ChangeListing:
    """Cells by percent change, and by true value."""

    changes: tuple[ClassRow, ...]
    values: tuple[ClassRow, ...]

    @property
    def nonsensitive(self) -> int:
        """How many cells that are not sensitive were counted."""
        return sum(row.nonsensitive for row in self.changes)

    @property
    def sensitive(self) -> int:
        """How many sensitive cells were counted."""
        return sum(row.sensitive for row in self.changes)

    def within(self, percent: float) -> float:
        """Return the share of the cells that are not sensitive with at most this percent change.

        The percent is the upper end of a class. NaN if there are no such cells.
        """
        ends = [row.high for row in self.changes]
        if percent not in ends:
            known = ", ".join(f"{end:g}" for end in ends)
            raise ParameterError(f"percent must be the end of a class: {known}. Got {percent:g}.")
        counted = sum(row.nonsensitive for row in self.changes if row.high <= percent)
        return counted / self.nonsensitive if self.nonsensitive else np.nan


def change_listing(
    true: ArrayLike,
    released: ArrayLike,
    sensitive: ArrayLike,
    weights: ArrayLike | None = None,
) -> ChangeListing:
    """Return how many cells changed by how many percent, and how many have which value.

    `weights` says how many cells each entry stands for; one each without. Values are classed from
    the smallest to the largest in twenty classes that grow by a constant factor.

    For the custodian.

    Notes
    -----
    The layout of [Dandekar, "Six million plus test case"]: percent change 100·|released −
    true|/|true|. A class holds its upper end: a change of exactly 10% is in 5–10. Zeros: a true 0
    released as 0 is no cell of the listing; one released as anything else is in the last class,
    since no percentage describes it, and in no class of values.

    >>> F, G = [100, 50, 20], [103, 50, 22]
    >>> found = dc.utility.change_listing(F, G, sensitive=[True, False, False])
    >>> found.sensitive, found.nonsensitive, found.within(5)
    (1, 2, 0.5)
    """
    before, after = np.asarray(true, np.float64).ravel(), np.asarray(released, np.float64).ravel()
    flags = np.asarray(sensitive, np.bool_).ravel()
    counts = np.ones(before.shape, np.int64) if weights is None else np.asarray(weights).ravel()
    if not before.shape == after.shape == flags.shape == counts.shape:
        raise ParameterError(
            "true, released, sensitive and weights must have one entry per cell. Got "
            f"{before.size}, {after.size}, {flags.size} and {counts.size}."
        )
    if not (np.isfinite(before).all() and np.isfinite(after).all()):
        raise ParameterError("true and released values must be finite.")
    if counts.dtype.kind not in "iu" or (counts.size and int(counts.min()) < 0):
        raise ParameterError("weights must be integers of 0 or more: numbers of cells.")
    size = np.abs(before)
    with np.errstate(divide="ignore", invalid="ignore"):
        percent = np.round(100 * np.abs(after - before) / size, DECIMALS)
    listed = ~np.isnan(percent)  # 0/0: a zero that stayed
    ends = np.array([*PERCENT_CLASSES, np.inf])
    changes = _classed(percent[listed], flags[listed], counts[listed], ends)
    there = (size > 0) & (counts > 0)
    values: tuple[ClassRow, ...] = ()
    if there.any():
        low, high = float(size[there].min()), float(size[there].max())
        edges = np.geomspace(low, high, VALUE_CLASSES + 1) if high > low else np.array([0.0, high])
        edges[0], edges[-1] = low, high
        values = _classed(size[there], flags[there], counts[there], edges)
    return ChangeListing(changes, values)


def plain_rows(rows: Sequence[ClassRow]) -> list[dict[str, float | None]]:
    """Return classes as plain values for JSON, which has no infinity: no upper end is None."""
    return [{**vars(row), "high": row.high if np.isfinite(row.high) else None} for row in rows]


def _classed(
    measured: NDArray[np.float64],
    flags: NDArray[np.bool_],
    counts: NDArray[np.int64],
    ends: NDArray[np.float64],
) -> tuple[ClassRow, ...]:
    """Return the classes between the ends; what is at the lowest end is in the first."""
    place = np.maximum(np.searchsorted(ends, measured, side="left") - 1, 0)
    classes = len(ends) - 1
    numbers = np.zeros((2, classes), np.int64)
    np.add.at(numbers, (flags.astype(np.int64), place), counts)
    return tuple(
        ClassRow(float(ends[i]), float(ends[i + 1]), int(numbers[0, i]), int(numbers[1, i]))
        for i in range(classes)
    )


def listing_text(listing: ChangeListing, values: bool = True) -> str:
    """Return what `change_listing` found as text, with or without the distribution of values.

    >>> F, G = [100, 50, 20], [103, 50, 22]
    >>> found = dc.utility.change_listing(F, G, sensitive=[True, False, False])
    >>> dc.utility.listing_text(found, values=False).splitlines()[0]
    'Frequency Count of Percent Cell Value Change:'
    """
    lines = ["Frequency Count of Percent Cell Value Change:", ""]
    lines.append(f"{'From %':>8}   {'To':>7} {'Non-Sensitive':>14} {'Sensitive':>11}")
    for row in listing.changes:
        high = "above" if np.isinf(row.high) else _decimals(row.high)
        lines.append(
            f"{_decimals(row.low):>8} - {high:>7} {row.nonsensitive:>14,} {row.sensitive:>11,}"
        )
    if not values:
        return "\n".join(lines) + "\n"
    lines += ["", "Frequency Count of Cell Value Distribution:", ""]
    lines.append(f"{'From':>15}   {'To':>15} {'Non-Sensitive':>14} {'Sensitive':>11}")
    for row in listing.values:
        lines.append(
            f"{row.low:>15,.0f} - {row.high:>15,.0f} {row.nonsensitive:>14,} {row.sensitive:>11,}"
        )
    return "\n".join(lines) + "\n"


def _decimals(percent: float) -> str:
    """Return a percentage as printed there: .10, 1.00, 100.00."""
    return f"{percent:.2f}".removeprefix("0") if percent < 1 else f"{percent:.2f}"
