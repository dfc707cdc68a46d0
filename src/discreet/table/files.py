"""Tables of counts, long or wide, written back in the layout they came in.

A long one has its counts in a column named `count` or `freq`. The tidy CSV of a release, with
labels and bounds, is read as such a table. A total has the code `_T` (or the word "total"); totals
are set aside, never counted as cells.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.errors import ParameterError
from discreet.files import OPEN
from discreet.table.decimals import refuse_sum_beyond
from discreet.table.dimension import TOTAL, Dimension
from discreet.table.grid import refuse_repeats
from discreet.table.hierarchy import is_total_code
from discreet.table.sheet import Sheet
from discreet.table.source import COUNT_NAMES, Given, Layout, Listing, count_of, listed, read_source

# A long file that leaves zero cells out could name a product of categories that no memory holds.
MAX_CELLS = 100_000_000
_FAULTS = 3
SUMS = 3
TOTAL_NAMES = frozenset(
    ("all", "any", "both", "everybody", "everyone", "overall", "sum", "tot", "tot.", "total",
     "totals", "_all", "-", "*", "alle", "gesamt", "insgesamt", "ensemble", "tous", "totale",
     "todos", "totaal", "summe", "razem", "celkem")
)  # fmt: skip
"""What totals are called, here and there."""

TOTALS = "Call it Total and it is set aside, or leave it out"
"""What is said of a total that has another name."""

PUT_RIGHT = "Put right whichever is wrong, or leave the totals out."
"""What is said of totals that do not add up."""


@dataclass(frozen=True, eq=False)
class TableFile:
    """A table of counts read from a file, with what is needed to write the same layout back.

    `counts` holds the inner cells alone. `rows[i]` is the index of the i-th figure of the file
    along each dimension, −1 for a total; `figures[i]` is that figure. Totals are thus remembered
    (`has_totals`) without being part of the table.
    """

    dimensions: tuple[Dimension, ...]
    counts: NDArray[np.int64]
    layout: Layout
    header: tuple[str, ...]
    total_codes: tuple[str, ...]
    rows: NDArray[np.int64]
    figures: NDArray[np.int64]
    delimiter: str = ","

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of categories along each dimension."""
        return self.counts.shape

    @property
    def is_total(self) -> NDArray[np.bool_]:
        """Which figures of the file are totals."""
        return np.asarray((self.rows < 0).any(axis=1))

    @property
    def has_totals(self) -> bool:
        """Whether the file holds totals beside its inner cells."""
        return bool(self.is_total.any())

    def totals_of(self, counts: ArrayLike) -> NDArray[np.int64]:
        """Return the sums of `counts` that stand where the file has totals, in file order."""
        return _sums(self._checked(counts), self.rows[self.is_total])

    def additivity_gap(self) -> int:
        """Return Σ|total in the file − sum of its cells|: 0 for a table that adds up."""
        return int(np.abs(self.figures[self.is_total] - self.totals_of(self.counts)).sum())

    def refuse_gap(self, advice: str) -> None:
        """Raise where a total of the file is not the sum of its cells: where, and by how much."""
        off = self.figures - _sums(self.counts, self.rows)
        wrong = np.flatnonzero(off)
        if not len(wrong):
            return
        faults = []
        for row in wrong[:_FAULTS]:
            parts = [
                f"{dimension.variable} {total if i < 0 else dimension.codes[i]}"
                for dimension, total, i in zip(
                    self.dimensions, self.total_codes, self.rows[row], strict=True
                )
            ]
            size = "large" if off[row] > 0 else "small"
            faults.append(f"at {', '.join(parts)} is {abs(int(off[row])):,} too {size}")
        more = f"; and {len(wrong) - _FAULTS:,} more" if len(wrong) > _FAULTS else ""
        raise ParameterError(
            f"the table must add up. The total {'; '.join(faults)}{more}. {advice}"
        )

    def refuse_hidden_totals(self, advice: str) -> None:
        """Raise where a category is the sum of all others: its people would count twice.

        In each of three populated places at least, or where its name says so: fewer sums may be
        chance. Of two categories that are alike neither is a total, unless its name says so.
        """
        for axis, dimension in enumerate(self.dimensions):
            counts = np.moveaxis(self.counts, axis, 0).reshape(len(dimension), -1)
            others = counts.sum(axis=0) - counts
            for place in np.flatnonzero((counts == others).all(axis=1) & counts.any(axis=1)):
                code = dimension.codes[place]
                many = len(dimension) > 2 and np.count_nonzero(counts[place]) >= SUMS
                if many or code.strip().lower() in TOTAL_NAMES:
                    raise ParameterError(
                        f"every person must be counted once. '{code}' of {dimension.variable} is "
                        f"the sum of the other categories. {advice}"
                    )

    def aligned(self, other: TableFile) -> NDArray[np.int64]:
        """Return the counts of another file in this file's order of dimensions and codes.

        Dimensions are matched by name between long files, and by position where either is wide.
        """
        axes = list(range(len(other.dimensions)))
        if self.layout is other.layout is Layout.LONG:
            mine, theirs = (
                [dimension.variable for dimension in file.dimensions] for file in (self, other)
            )
            if sorted(mine) != sorted(theirs):
                raise ParameterError(
                    f"the two tables must have the same dimensions. "
                    f"Got {', '.join(mine)} and {', '.join(theirs)}."
                )
            axes = [theirs.index(name) for name in mine]
        elif len(axes) != len(self.dimensions):
            raise ParameterError(
                f"the two tables must have the same number of dimensions. "
                f"Got {len(self.dimensions)} and {len(axes)}."
            )
        counts = other.counts.transpose(axes)
        for axis, dimension in enumerate(self.dimensions):
            place = {code: i for i, code in enumerate(other.dimensions[axes[axis]].codes)}
            differing = sorted(set(dimension.codes) ^ set(place))
            if differing:
                where = "first" if differing[0] in dimension.codes else "second"
                raise ParameterError(
                    f"the labels of the two tables must match. '{differing[0]}' of "
                    f"{dimension.variable} is only in the {where}."
                )
            counts = counts.take([place[code] for code in dimension.codes], axis=axis)
        return counts

    def canonical(self) -> tuple[TableFile, NDArray[np.int64]]:
        """Return the table with dimensions and codes sorted, and the place of each figure there.

        The same table in another order gives the same. The two dimensions of a wide file have no
        names to go by, and stay.
        """
        named = self.layout is Layout.LONG
        axes = list(range(len(self.dimensions)))
        if named:
            axes.sort(key=lambda axis: self.dimensions[axis].variable)
        counts, dimensions, rows = self.counts.transpose(axes), [], self.rows[:, axes]
        for axis, dimension in enumerate(self.dimensions[i] for i in axes):
            order = np.array(sorted(range(len(dimension)), key=dimension.codes.__getitem__), int)
            counts = counts.take(order, axis=axis)
            rows[:, axis] = np.append(np.argsort(order), -1)[rows[:, axis]]
            codes, labels = (
                tuple(texts[i] for i in order) for texts in (dimension.codes, dimension.labels)
            )
            dimensions.append(replace(dimension, codes=codes, labels=labels))
        lines = np.lexsort(rows.T[::-1])
        header = tuple(self.header[i] for i in axes) + self.header[len(axes) :]
        same = replace(
            self,
            dimensions=tuple(dimensions),
            counts=counts,
            header=header if named else self.header,
            total_codes=tuple(self.total_codes[i] for i in axes),
            rows=rows[lines],
            figures=self.figures[lines],
        )
        return same, np.argsort(lines)

    def write(self, path: str | Path, counts: ArrayLike, totals: ArrayLike | None = None) -> None:
        """Write counts of this table's shape in the layout of the file it was read from.

        Where the file has totals, `totals` (in file order) stand there, or else the sums of the
        counts given: a total of the original file is never written.
        """
        self.sheet(counts, totals).write(path, OPEN)

    def sheet(self, counts: ArrayLike, totals: ArrayLike | None = None) -> Sheet:
        """Return counts of this table's shape as columns, as `write` writes them."""
        figures = _sums(self._checked(counts), self.rows)
        is_total = self.is_total
        if totals is not None:
            given = np.asarray(totals, np.int64)
            if given.shape != (int(is_total.sum()),):
                raise ParameterError(
                    f"totals must be one for each total of the file, {int(is_total.sum())}. "
                    f"Got {given.size}."
                )
            figures[is_total] = given
        codes = [
            (*dimension.codes, total)
            for dimension, total in zip(self.dimensions, self.total_codes, strict=True)
        ]
        if self.layout is Layout.LONG:
            labels = [
                [known[i] for i in column]
                for known, column in zip(codes, self.rows.T.tolist(), strict=True)
            ]
            return Sheet(self.header, [*labels, figures.tolist()], {}, self.delimiter)
        width = len(self.header) - 1
        rows = [codes[0][i] for i in self.rows[::width, 0].tolist()]
        columns = figures.reshape(-1, width).T.tolist()
        return Sheet(self.header, [rows, *columns], {}, self.delimiter)

    def with_totals(self) -> TableFile:
        """Return the same table with all its totals, for a file that has none.

        A long file gets them after its cells, a wide one as its last row and column.
        """
        if self.has_totals:
            return self
        codes = [[*range(size), -1] for size in self.shape]
        rows = np.stack(np.meshgrid(*codes, indexing="ij"), axis=-1).reshape(-1, len(codes))
        header, totals = self.header, self.total_codes
        if self.layout is Layout.WIDE:
            header, totals = (*header, "Total"), ("Total", "Total")
        else:
            rows = np.concatenate([self.rows, rows[(rows < 0).any(axis=1)]])
        return replace(
            self, header=header, total_codes=totals, rows=rows, figures=_sums(self.counts, rows)
        )

    def with_counts(self, counts: ArrayLike) -> TableFile:
        """Return the same table with other counts; totals become their sums."""
        values = self._checked(counts)
        figures = _sums(values, self.rows)
        return replace(self, counts=values, figures=figures)

    def _checked(self, counts: ArrayLike) -> NDArray[np.int64]:
        values = np.asarray(counts)
        if values.shape != self.shape:
            raise ParameterError(
                f"counts must have the shape of the table, {self.shape}. Got {values.shape}."
            )
        return values.astype(np.int64)


def read_table(given: Given, absent_is_zero: bool = False) -> TableFile:
    """Return the table of counts in a CSV file or data frame; its header tells the layout.

    A long one must have a row for every combination of its codes; with `absent_is_zero` the rows
    it leaves out are zeros.
    """
    listing = listed(read_source(given).unlabelled(), COUNT_NAMES)
    dimensions, totals, rows = _axes(listing)
    shape = tuple(len(dimension) for dimension in dimensions)
    if prod(shape) > MAX_CELLS:
        raise ParameterError(
            f"'{listing.name}' must have at most {MAX_CELLS:,} cells. Got {prod(shape):,}."
        )
    # Totals have the index −1, the last: an axis has a place more than codes.
    refuse_repeats(listing, np.ravel_multi_index(tuple(rows.T), [n + 1 for n in shape], "wrap"))
    figures = np.array(listing.parsed(listing.figures, count_of), np.int64)
    inner = (rows >= 0).all(axis=1)
    refuse_sum_beyond(f"the counts of '{listing.name}'", figures[inner])
    counts, seen = np.zeros(shape, np.int64), np.zeros(shape, bool)
    where = tuple(rows[inner].T)
    counts[where], seen[where] = figures[inner], True
    gaps = np.argwhere(~seen)
    if len(gaps) and not absent_is_zero:
        cell = ", ".join(
            f"{dimension.variable} {dimension.codes[i]}"
            for dimension, i in zip(dimensions, gaps[0], strict=True)
        )
        raise ParameterError(
            f"'{listing.name}' must have a row for every cell, zero cells included. "
            f"Missing: {cell}{f', and {len(gaps) - 1:,} more' if len(gaps) > 1 else ''}."
        )
    return TableFile(
        dimensions,
        counts,
        listing.layout,
        tuple(listing.source.header),
        totals,
        np.concatenate([rows, gaps]),
        np.concatenate([figures, np.zeros(len(gaps), np.int64)]),
        listing.source.delimiter,
    )


def _axes(
    listing: Listing,
) -> tuple[tuple[Dimension, ...], tuple[str, ...], NDArray[np.int64]]:
    """Return the dimensions without their totals, what these are called, and each cell's index."""
    dimensions, totals, rows = [], [], []
    for variable, codes in zip(listing.variables, listing.codes, strict=True):
        used = dict.fromkeys(codes)
        inner = [code for code in used if not is_total_code(code)]
        total = [code for code in used if is_total_code(code)]
        if len(total) > 1:
            raise ParameterError(
                f"{variable} of '{listing.name}' must have one code for its total. "
                f"Got {', '.join(total)}."
            )
        if not inner:
            raise ParameterError(f"{variable} must have a category beside its total.")
        dimensions.append(Dimension.plain(variable, inner))
        totals.append(total[0] if total else TOTAL)
        place = {code: i for i, code in enumerate(inner)}
        rows.append([place.get(code, -1) for code in codes])
    return tuple(dimensions), tuple(totals), np.array(rows, np.int64).T


def _sums(counts: NDArray[np.int64], rows: NDArray[Any]) -> NDArray[np.int64]:
    """Return the sum of the cells that each row stands for, −1 meaning every category."""
    sums = np.empty(len(rows), np.int64)
    summed = rows < 0
    for pattern in np.unique(summed, axis=0):
        chosen = (summed == pattern).all(axis=1)
        margin = counts.sum(axis=tuple(np.flatnonzero(pattern)))
        sums[chosen] = margin[tuple(rows[chosen][:, ~pattern].T)]
    return sums
