"""Semi-controlled random rounding: a total, or each row's or column's, stays close."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from discreet.checks import whole
from discreet.errors import ParameterError
from discreet.protect.base import Effect, Kept, Transition
from discreet.protect.cells.rounding import Rounding
from discreet.protect.lookup import rounding
from discreet.types import Flags, Integers

FORMS = ("unbiased", "paper")


@dataclass(frozen=True)
class SemiControlledRounding(Rounding):
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

    cellwise = False
    axis: int | None = None
    form: Literal["unbiased", "paper"] = "unbiased"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.axis is not None:
            whole("axis", self.axis, 0, 31)
        if self.form not in FORMS:
            raise ParameterError(f"form must be one of {', '.join(FORMS)}. Got {self.form}.")

    def draw(self, counts: Integers, rng: np.random.Generator, /) -> Integers:
        """Return the rounded counts."""
        group = self._groups(counts.shape).reshape(-1)
        residue = (counts % self.base).reshape(-1)
        order = np.lexsort((rng.random(counts.size), residue, group))
        up = np.zeros(counts.size, bool)
        choose = self._unbiased if self.form == "unbiased" else self._nearest
        up[order] = choose(group[order], residue[order], rng)
        released: Integers = counts.reshape(-1) - residue + self.base * up
        return released.reshape(counts.shape)

    def check(self, dimensions: int) -> None:
        """Raise where the table has no such axis."""
        if self.axis is not None and self.axis >= dimensions:
            raise ParameterError(
                f"axis must be below the number of dimensions, {dimensions}. Got {self.axis}."
            )

    def _groups(self, shape: tuple[int, ...]) -> Integers:
        """Return the number of the controlled total that each cell is in."""
        if self.axis is None:
            return np.zeros(shape, np.int64)
        index = np.arange(shape[self.axis]).reshape(
            [-1 if axis == self.axis else 1 for axis in range(len(shape))]
        )
        return np.broadcast_to(index, shape)

    def _unbiased(self, group: Integers, residue: Integers, rng: np.random.Generator) -> Flags:
        groups = int(group[-1]) + 1 if group.size else 0
        running = np.cumsum(residue)
        before = np.zeros(groups, np.int64)
        starts = np.searchsorted(group, np.arange(groups))
        before[starts > 0] = running[starts[starts > 0] - 1]
        shifted = running - before[group] + rng.integers(0, self.base, groups)[group]
        return np.asarray(shifted // self.base > (shifted - residue) // self.base)

    def _nearest(self, group: Integers, residue: Integers, rng: np.random.Generator) -> Flags:
        del rng  # the order of the cells is random already
        kind = group * self.base + residue
        _, starts, sizes = np.unique(kind, return_index=True, return_counts=True)
        # Nearest integer of n·r/b, a half up.
        ups = (2 * sizes * residue[starts] + self.base) // (2 * self.base)
        place = np.arange(kind.size) - np.repeat(starts, sizes)
        return np.asarray(place < np.repeat(ups, sizes))

    def transition(self) -> Transition | None:
        """Return Pr(released j | true i): that of random rounding, as of a cell by itself.

        None in the paper's form, whose chances depend on the other cells.
        """
        return rounding(self.base).transition() if self.form == "unbiased" else None

    def effect(self, dimensions: int) -> Effect:
        """Return what is done to a count; of the paper's form only the bound is known."""
        return replace(super().effect(dimensions), largest_change=self.base - 1)

    def keeps(self, dimensions: int) -> Kept:
        """Return what is kept: the controlled totals to less than the base, the rest on average."""
        del dimensions
        if self.form == "paper":
            return Kept(unbiased=False)
        margin = () if self.axis is None else (self.axis,)
        return Kept(unbiased=True, margins=(margin,), within=self.base)
