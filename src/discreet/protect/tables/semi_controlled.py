"""Semi-controlled random rounding: a total, or each row's or column's, stays close."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError
from discreet.protect.base import (
    Counts,
    Effect,
    Promise,
    check_room,
    checked_counts,
    whole,
)
from discreet.protect.cells.rounding import rounding_multiplier
from discreet.protect.lookup import rounding

FORMS = ("unbiased", "paper")


@dataclass(frozen=True)
class SemiControlledRounding:
    """Rounds to multiples of the base so that controlled totals land on a neighbouring multiple.

    `axis` None controls the total of the table; 0 the total of each row, 1 of each column, and
    so on: of each category along that dimension. Form "unbiased" draws the numbers of round-ups
    of all residues jointly; form "paper" rounds the expected number of each residue to the
    nearest integer, is biased, does not keep the total, and is for studies.

    Notes
    -----
    Within a controlled total put the cells in order of residue, at random within a residue, let
    C be the running sum of residues and V uniform on 0…b−1: a cell goes up where (C + V) div b
    grows. Each residue r has floor or ceil of n_r·r/b round-ups, all together floor or ceil of
    Σ n_r·r/b, and each cell goes up with probability r/b. In integers throughout, so exact.
    The paper's form: [Shlomo2015, sec. 3.2].

    >>> rounding = dc.protect.SemiControlledRounding(base=3)
    >>> found = rounding.apply(np.array([1, 1, 1, 3]), np.random.default_rng(1))
    >>> int(found.sum()), sorted(found.tolist())
    (6, [0, 0, 3, 3])
    """

    cellwise: ClassVar[bool] = False
    base: int = 3
    axis: int | None = None
    form: Literal["unbiased", "paper"] = "unbiased"

    def __post_init__(self) -> None:
        whole("base", self.base, 2, 100)
        if self.axis is not None:
            whole("axis", self.axis, 0, 31)
        if self.form not in FORMS:
            raise ParameterError(f"form must be one of {', '.join(FORMS)}. Got {self.form}.")

    def apply(self, counts: Counts, rng: np.random.Generator) -> Counts:
        """Return the released counts, in the shape and type of the counts."""
        true = checked_counts(counts)
        check_room(true, self.base - 1)
        group = self._groups(true.shape).reshape(-1)
        residue = (true % self.base).reshape(-1).astype(np.int64)
        order = np.lexsort((rng.random(true.size), residue, group))
        up = np.zeros(true.size, bool)
        choose = self._unbiased if self.form == "unbiased" else self._nearest
        up[order] = choose(group[order], residue[order], rng)
        released = true.reshape(-1) - residue.astype(true.dtype)
        released[up] += true.dtype.type(self.base)
        return released.reshape(true.shape)

    def _check(self, dimensions: int) -> None:
        if self.axis is not None and self.axis >= dimensions:
            raise ParameterError(
                f"axis must be below the number of dimensions, {dimensions}. Got {self.axis}."
            )

    def _groups(self, shape: tuple[int, ...]) -> NDArray[np.int64]:
        """Return the number of the controlled total that each cell is in."""
        self._check(len(shape))
        if self.axis is None:
            return np.zeros(shape, np.int64)
        index = np.arange(shape[self.axis]).reshape(
            [-1 if axis == self.axis else 1 for axis in range(len(shape))]
        )
        return np.broadcast_to(index, shape)

    def _unbiased(
        self, group: NDArray[np.int64], residue: NDArray[np.int64], rng: np.random.Generator
    ) -> NDArray[np.bool_]:
        groups = int(group[-1]) + 1 if group.size else 0
        running = np.cumsum(residue)
        before = np.zeros(groups, np.int64)
        starts = np.searchsorted(group, np.arange(groups))
        before[starts > 0] = running[starts[starts > 0] - 1]
        shifted = running - before[group] + rng.integers(0, self.base, groups)[group]
        return np.asarray(shifted // self.base > (shifted - residue) // self.base)

    def _nearest(
        self, group: NDArray[np.int64], residue: NDArray[np.int64], rng: np.random.Generator
    ) -> NDArray[np.bool_]:
        del rng  # the order of the cells is random already
        kind = group * self.base + residue
        _, starts, sizes = np.unique(kind, return_index=True, return_counts=True)
        # Nearest integer of n·r/b, a half up.
        ups = (2 * sizes * residue[starts] + self.base) // (2 * self.base)
        place = np.arange(kind.size) - np.repeat(starts, sizes)
        return np.asarray(place < np.repeat(ups, sizes))

    def effect(self, dimensions: int) -> Effect:
        """Return what is done to a count: that of random rounding, as to a cell by itself.

        Of the paper's form only the bound is known: its chances depend on the other cells.
        """
        self._check(dimensions)
        multiplier = rounding_multiplier(self.base)
        if self.form == "paper":
            return Effect(None, self.base - 1, multiplier)
        return Effect.of(rounding(self.base).transition(), multiplier)

    def promise(self, dimensions: int) -> Promise:
        """Return what is kept: the controlled totals to less than the base, the rest on average."""
        if self.form == "paper":
            return Promise(unbiased=False)
        margin = () if self.axis is None else (self.axis,)
        return Promise(unbiased=True, margins=(margin,), within=self.base)
