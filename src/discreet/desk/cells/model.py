"""A table of cells: figures with all their totals, and the largest contributions to each."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError
from discreet.table.decimals import in_units
from discreet.table.files import is_total_code
from discreet.types import Floats

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
class CellTable:
    """Figures over all codes of each dimension, sums included, and who contributes to them.

    `parents[d][i]` is the code that code i of dimension d is part of, −1 if of none. `counts`
    says that every contributor counts 1. `ranked[..., k]` is the (k + 1)-th largest contribution
    to a cell, holdings taken as one, for as many k as are known; `contributors` is their number.
    `sensitive`, `lower` and `upper` are what the file says, NaN where it says nothing. `marks` are
    places in `MARKS`.
    """

    variables: tuple[str, ...]
    codes: tuple[tuple[str, ...], ...]
    parents: tuple[tuple[int, ...], ...]
    values: Floats
    counts: bool
    ranked: Floats | None = None
    contributors: NDArray[np.int64] | None = None
    sensitive: NDArray[np.bool_] | None = None
    lower: Floats | None = None
    upper: Floats | None = None
    marks: NDArray[np.int8] = field(default_factory=lambda: np.zeros(0, np.int8))

    def __post_init__(self) -> None:
        if not self.marks.size:
            object.__setattr__(self, "marks", np.zeros(self.values.shape, np.int8))

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of codes along each dimension, totals included."""
        return self.values.shape

    @property
    def inner(self) -> tuple[NDArray[np.int64], ...]:
        """The codes of each dimension that are nobody's sum."""
        return tuple(np.setdiff1d(np.arange(len(p)), np.array(p)) for p in self.parents)

    @property
    def order(self) -> NDArray[np.int64]:
        """How many dimensions each cell is not summed over: 0 for the grand total."""
        order = np.zeros((), np.int64)
        for parents in self.parents:
            roots = np.array([parent < 0 for parent in parents])
            sums = np.isin(np.arange(len(parents)), np.array(parents))
            order = np.add.outer(order, (~(roots & sums)).astype(np.int64))
        return order

    def name(self, cell: int) -> str:
        """Return a cell as a reader knows it: "region 3, sex f"."""
        index = np.unravel_index(cell, self.shape)
        parts = zip(self.variables, self.codes, index, strict=True)
        return ", ".join(f"{variable} {codes[i]}" for variable, codes, i in parts)

    def write(
        self, path: str | Path, columns: Mapping[str, Sequence[str]], cells: NDArray[np.int64]
    ) -> None:
        """Write a long file: the codes of the cells, then the columns. All of it, or nothing."""
        index = np.unravel_index(cells, self.shape)
        labels = [
            [codes[i] for i in part.tolist()] for codes, part in zip(self.codes, index, strict=True)
        ]
        unfinished = Path(f"{path}.unfinished")
        try:
            with unfinished.open("w", encoding="utf-8", newline="") as stream:
                writer = csv.writer(stream, lineterminator="\n")
                writer.writerow([*self.variables, *columns])
                writer.writerows(zip(*labels, *columns.values(), strict=True))
            unfinished.replace(path)
        finally:
            unfinished.unlink(missing_ok=True)

    @property
    def sorted_codes(self) -> tuple[NDArray[np.int64], ...]:
        """The codes of each dimension in alphabetical order: the same however a file has them."""
        return alphabetical(self.codes)

    def taken(self, order: tuple[NDArray[np.int64], ...]) -> CellTable:
        """Return the table with the codes of each dimension in this order."""
        there = np.ix_(*order)

        def picked(given: Any) -> Any:
            return None if given is None else given[there]

        codes, parents = reordered(self.codes, self.parents, order)
        return CellTable(
            self.variables,
            codes,
            parents,
            self.values[there],
            self.counts,
            picked(self.ranked),
            picked(self.contributors),
            picked(self.sensitive),
            picked(self.lower),
            picked(self.upper),
            self.marks[there],
        )

    def places(self, variables: Sequence[str], codes: Sequence[Sequence[str]]) -> NDArray[np.int64]:
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

    def merged(self, labels: Sequence[NDArray[np.int64]]) -> CellTable:
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

    def marked(self, mark: Mark) -> NDArray[np.bool_]:
        """Return the cells with this mark."""
        return np.asarray(self.marks == MARKS.index(mark))


def _joined(values: Any, parts: list[NDArray[np.bool_]], axis: int) -> Any:
    """Return the sums over parts of an axis."""
    lines = np.moveaxis(values, axis, 0)
    return np.moveaxis(np.stack([lines[part].sum(axis=0) for part in parts]), 0, axis)


def alphabetical(codes: tuple[tuple[str, ...], ...]) -> tuple[NDArray[np.int64], ...]:
    """Return the places of the codes of each dimension in alphabetical order."""
    return tuple(np.array(sorted(range(len(c)), key=c.__getitem__), np.int64) for c in codes)


def reordered(
    codes: tuple[tuple[str, ...], ...],
    parents: tuple[tuple[int, ...], ...],
    order: tuple[NDArray[np.int64], ...],
) -> tuple[tuple[tuple[str, ...], ...], tuple[tuple[int, ...], ...]]:
    """Return codes and parents with the codes of each dimension in this order."""
    names, above = [], []
    for known, up, part in zip(codes, parents, order, strict=True):
        place = np.append(np.argsort(part), -1)  # of no parent: the last, −1
        names.append(tuple(known[i] for i in part.tolist()))
        above.append(tuple(int(place[up[i]]) for i in part.tolist()))
    return tuple(names), tuple(above)


def families(parents: tuple[int, ...]) -> list[tuple[int, list[int]]]:
    """Return every sum with its parts, parts before what they are parts of."""
    children: dict[int, list[int]] = {}
    for code, parent in enumerate(parents):
        if parent >= 0:
            children.setdefault(parent, []).append(code)
    done: list[tuple[int, list[int]]] = []
    ready = set(range(len(parents))) - set(children)
    while len(done) < len(children):
        for parent, parts in children.items():
            if parent not in ready and ready.issuperset(parts):
                ready.add(parent)
                done.append((parent, parts))
    return done


def summed(figures: Floats, parents: tuple[tuple[int, ...], ...]) -> Floats:
    """Return the inner figures, what is missing being 0, with all their sums."""
    values, unit = in_units(np.where(np.isnan(figures), 0.0, figures))
    for axis, above in enumerate(parents):
        lines = np.moveaxis(values, axis, 0)
        for parent, parts in families(above):
            lines[parent] = lines[parts].sum(axis=0)
    return values / unit
