"""A table of cells: figures with all their totals, and the largest contributions to each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError
from discreet.table.decimals import in_units
from discreet.table.grid import Grid
from discreet.table.hierarchy import Hierarchy, is_total_code
from discreet.types import Flags, Floats, Integers

# How many of the largest contributions to a cell are kept, at most: rules look at the first few.
RANKS = 5


class Mark(StrEnum):
    """What the custodian says of a cell before anything is decided."""

    NONE = ""
    PREFER = "prefer"
    """to be withheld or changed rather than others"""
    NEVER = "never"
    """not to be withheld or changed if it can be helped at all: it cannot be chosen"""
    PUBLISHED = "published"
    """published already: known to everybody, never chosen, and exact"""


MARKS = tuple(Mark)


@dataclass(frozen=True, eq=False)
class CellTable(Grid):
    """Figures over all codes of each dimension, sums included, and who contributes to them.

    `counts` says that every contributor counts 1. `ranked[..., k]` is the (k + 1)-th largest
    contribution to a cell, holdings taken as one, for as many k as are known; `contributors` is
    their number.
    `sensitive`, `lower` and `upper` are what the file says, NaN where it says nothing. `marks` are
    places in `MARKS`.
    """

    values: Floats
    counts: bool
    ranked: Floats | None = None
    contributors: Integers | None = None
    sensitive: Flags | None = None
    lower: Floats | None = None
    upper: Floats | None = None
    marks: NDArray[np.int8] = field(default_factory=lambda: np.zeros(0, np.int8))

    def __post_init__(self) -> None:
        if not self.marks.size:
            object.__setattr__(self, "marks", np.zeros(self.values.shape, np.int8))

    @property
    def identity(self) -> object:
        """All that makes the table: the same for it in another order of dimensions and lines."""
        same = self.canonical()
        figures = same.values.round(6).tolist()  # sums of decimals differ by rounding errors
        return (same.variables, same.codes, same.parents, figures)

    @cached_property
    def _order(self) -> tuple[list[int], tuple[Integers, ...]]:
        """The dimensions by name, and the codes of each dimension in alphabetical order."""
        axes = sorted(range(len(self.variables)), key=self.variables.__getitem__)
        return axes, alphabetical(self.codes)

    def sorted(self, given: Any) -> Any:
        """Return an array over the cells as the canonical table has it; None stays."""
        if given is None:
            return None
        axes, order = self._order
        rest = range(len(axes), given.ndim)  # ranks
        return given.transpose(*axes, *rest)[np.ix_(*(order[axis] for axis in axes))]

    def unsorted(self, given: Any) -> Any:
        """Return an array over the cells of the canonical table as this one has it."""
        axes, order = self._order
        back = np.ix_(*(np.argsort(order[axis]) for axis in axes))
        return given[back].transpose(np.argsort(axes))

    def canonical(self) -> CellTable:
        """Return the table with dimensions and codes sorted: the same however a file has them."""
        axes, order = self._order
        codes, parents = reordered(self.codes, self.parents, order)
        return CellTable(
            tuple(self.variables[axis] for axis in axes),
            tuple(codes[axis] for axis in axes),
            tuple(parents[axis] for axis in axes),
            self.sorted(self.values), self.counts,
            self.sorted(self.ranked), self.sorted(self.contributors), self.sorted(self.sensitive),
            self.sorted(self.lower), self.sorted(self.upper), self.sorted(self.marks),
        )  # fmt: skip

    def places(self, variables: Sequence[str], codes: Sequence[Sequence[str]]) -> Integers:
        """Return the number of the cell for every combination of these codes.

        Dimensions may come in another order, and a total may be called otherwise; the codes must
        be the same but for totals.
        """
        if sorted(variables) != sorted(self.variables):
            raise ParameterError(
                f"the tables must have the same dimensions. Got {', '.join(variables)} and "
                f"{', '.join(self.variables)}."
            )
        axes = []
        for variable, wanted in zip(variables, codes, strict=True):
            d = self.variables.index(variable)
            known = {code: i for i, code in enumerate(self.codes[d]) if not is_total_code(code)}
            top = self.parents[d].index(-1)
            missing = {code for code in wanted if not is_total_code(code)} ^ set(known)
            if missing:
                raise ParameterError(
                    f"the tables must have the same codes of {variable}. One alone has "
                    f"'{min(missing)}'."
                )
            axes.append(np.array([known.get(code, top) for code in wanted], np.int64))
        order = [list(variables).index(variable) for variable in self.variables]
        grid = np.meshgrid(*axes, indexing="ij")
        return np.ravel_multi_index(tuple(grid[place] for place in order), self.shape)

    def merged(self, labels: Sequence[Integers]) -> CellTable:
        """Return the inner cells alone, merged: `labels[d][i]` is what inner code i becomes.

        Contributors to different cells are taken for different ones. Codes are numbers.
        """
        inner = np.ix_(*self.inner)
        values, unit = in_units(self.values[inner])
        ranked = None if self.ranked is None else self.ranked[inner]
        numbers = None if self.contributors is None else self.contributors[inner]
        for axis, label in enumerate(labels):
            parts = [label == i for i in range(int(label.max()) + 1)]
            values = _joined(values, parts, axis)
            numbers = None if numbers is None else _joined(numbers, parts, axis)
            if ranked is not None:
                lines = np.moveaxis(ranked, axis, 0)
                most = ranked.shape[-1]
                top = [np.concatenate(list(lines[part]), axis=-1) for part in parts]
                top = [-np.sort(-part, axis=-1)[..., :most] for part in top]
                ranked = np.moveaxis(np.stack(top), 0, axis)
        codes = tuple(tuple(str(i) for i in range(size)) for size in values.shape)
        parents = tuple((-1,) * size for size in values.shape)
        return CellTable(
            self.variables, codes, parents, values / unit, self.counts, ranked, numbers
        )

    def marked(self, mark: Mark) -> Flags:
        """Return the cells with this mark."""
        return np.asarray(self.marks == MARKS.index(mark))


def _joined(values: Any, parts: list[Flags], axis: int) -> Any:
    """Return the sums over parts of an axis."""
    lines = np.moveaxis(values, axis, 0)
    return np.moveaxis(np.stack([lines[part].sum(axis=0) for part in parts]), 0, axis)


def alphabetical(codes: tuple[tuple[str, ...], ...]) -> tuple[Integers, ...]:
    """Return the places of the codes of each dimension in alphabetical order."""
    return tuple(np.array(sorted(range(len(c)), key=c.__getitem__), np.int64) for c in codes)


def reordered(
    codes: tuple[tuple[str, ...], ...],
    parents: tuple[tuple[int, ...], ...],
    order: tuple[Integers, ...],
) -> tuple[tuple[tuple[str, ...], ...], tuple[tuple[int, ...], ...]]:
    """Return codes and parents with the codes of each dimension in this order."""
    names, above = [], []
    for known, up, part in zip(codes, parents, order, strict=True):
        place = np.append(np.argsort(part), -1)  # of no parent: the last, −1
        names.append(tuple(known[i] for i in part.tolist()))
        above.append(tuple(int(place[up[i]]) for i in part.tolist()))
    return tuple(names), tuple(above)


def summed(figures: Floats, hierarchies: Sequence[Hierarchy]) -> Floats:
    """Return the inner figures, what is missing being 0, with all their sums."""
    values, unit = in_units(np.where(np.isnan(figures), 0.0, figures))
    for axis, hierarchy in enumerate(hierarchies):
        lines = np.moveaxis(values, axis, 0)
        for parent, parts in hierarchy.families:
            lines[parent] = lines[parts].sum(axis=0)
    return values / unit
