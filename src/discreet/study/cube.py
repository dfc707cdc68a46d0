"""A hypercube of true counts, and the tables that are sums of its cells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from discreet.errors import ParameterError, first_few, unknown
from discreet.query.parse import Named
from discreet.types import Integers

MAX_CELLS = 30_000_000
"""The largest hypercube: a draw of it is held by every worker."""


@dataclass(frozen=True, eq=False)
class Cut:
    """How a table is made of a hypercube: categories picked along axes, axes kept, in order."""

    picks: tuple[tuple[int, tuple[int, ...]], ...]
    keep: tuple[int, ...]

    def of(self, counts: Integers) -> Integers:
        """Return the table of a hypercube of this shape."""
        for axis, places in self.picks:
            counts = counts.take(places, axis=axis)
        lost = tuple(axis for axis in range(counts.ndim) if axis not in self.keep)
        left = sorted(self.keep)
        summed = np.asarray(counts.sum(axis=lost, dtype=np.int64))
        return np.ascontiguousarray(summed.transpose([left.index(axis) for axis in self.keep]))


@dataclass(frozen=True, eq=False)
class Cube:
    """True counts with a name and codes for every axis."""

    names: tuple[str, ...]
    codes: tuple[tuple[str, ...], ...]
    counts: Integers

    def __post_init__(self) -> None:
        if self.counts.shape != tuple(len(codes) for codes in self.codes):
            raise ParameterError("a hypercube must have a code for each place along its axes.")
        check_size(self.counts.shape)

    def axis(self, name: str) -> int:
        """Return the axis of a name."""
        if name not in self.names:
            raise unknown("variable", name, self.names)
        return self.names.index(name)

    def cut(self, by: Sequence[str], where: Named) -> tuple[Cut, tuple[tuple[str, ...], ...]]:
        """Return how a table is made, and the codes that are left along its axes."""
        keep = tuple(self.axis(name) for name in by)
        if len(set(keep)) != len(keep):
            raise ParameterError(f"a table must name each variable once. Got {', '.join(by)}.")
        picks, left = [], list(self.codes)
        for name, codes in where:
            axis = self.axis(name)
            for code in codes:
                if code not in self.codes[axis]:
                    raise unknown(f"category of {name}", code, self.codes[axis])
            left[axis] = tuple(code for code in self.codes[axis] if code in codes)
            picks.append((axis, tuple(self.codes[axis].index(code) for code in left[axis])))
        return Cut(tuple(picks), keep), tuple(left[axis] for axis in keep)


def check_size(shape: Sequence[int]) -> None:
    """Refuse a hypercube that would not fit beside its draws."""
    if prod(shape) > MAX_CELLS:
        sizes = first_few([f"{size:,}" for size in shape], 12)
        raise ParameterError(
            f"a hypercube must have at most {MAX_CELLS:,} cells. The variables of the tables have "
            f"{sizes} categories, {prod(shape):,} cells together. Take fewer variables or coarser "
            'levels, or use methods that act on the table (on = "table").'
        )
