"""A look-up table: for each true count, intervals of a uniform number and the change of each."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from discreet.compiling import pays
from discreet.errors import ParameterError
from discreet.protect import kernels, plain
from discreet.protect.lookup.cellkey import read_yaml
from discreet.table.showing import rows_html
from discreet.table.transition import Transition
from discreet.types import Floats, Integers

DIGITS = 8
"""Decimals of an interval bound in a file, as the R package ptable writes them."""

HEADER = ("i", "j", "p", "v", "p_int_lb", "p_int_ub", "type")
EXPLICIT = ("pcv", "ckey", "pvalue")
"""The columns of a look-up with a change for every count and cell key."""

LAST, PERIOD = 750, 250
"""Counts beyond the last row of such a look-up reuse its last rows, where it has so many."""


@dataclass(frozen=True, eq=False, repr=False)
class LookupTable:
    """The changes of each true count, each with the upper bound of its interval in (0, 1].

    Row i describes count i; counts beyond the last row reuse the last `period` rows in turn (1:
    the last row serves all of them). In a row the bounds do not fall and reach exactly 1; padding
    repeats the last interval. The order of the intervals is free: offices rearrange them so that
    the noise of a cell does not grow with its key. An explicit look-up has one interval for each of
    its `keys`: cell keys that are used as they are pick theirs, whatever the others hold.

    >>> table = dc.protect.lookup.rounding(base=3)
    >>> table.matrix[1, :4].round(3).tolist()
    [0.667, 0.0, 0.0, 0.333]
    """

    changes: Integers
    bounds: Floats
    period: int = 1
    keys: int | None = None

    def __post_init__(self) -> None:
        if self.changes.ndim != 2 or self.changes.shape != self.bounds.shape:
            raise ParameterError("changes and bounds must be two arrays of one shape.")
        if not self.changes.size or not 1 <= self.period <= len(self.changes):
            raise ParameterError(
                f"period must be between 1 and the number of rows, {len(self.changes)}. "
                f"Got {self.period}."
            )
        widths = np.diff(self.bounds, axis=1, prepend=0.0)
        if not np.isfinite(self.bounds).all() or (widths < 0).any():
            raise ParameterError("the interval bounds of a row must not fall.")
        if (self.bounds[:, -1] != 1).any():
            raise ParameterError("the last interval of every row must end at 1.")
        if self.keys is not None and self.keys != self.changes.shape[1]:
            raise ParameterError("an explicit look-up must have a change for every key.")
        counts = np.arange(len(self.changes))[:, None]
        if ((counts + self.changes < 0) & (widths > 0)).any():
            raise ParameterError("no released value may be negative.")
        self.changes.setflags(write=False)
        self.bounds.setflags(write=False)

    def __repr__(self) -> str:
        low, high = int(self.changes.min()), int(self.changes.max())
        return f"LookupTable(counts 0 to {len(self.changes) - 1}, changes {low} to {high})"

    def _repr_html_(self) -> str:
        few = self.matrix[:10, :16]
        rows = [(i, *(f"{p:.3f}" if p else "" for p in row)) for i, row in enumerate(few)]
        return rows_html(repr(self), ("True", *map(str, range(few.shape[1]))), rows)

    @classmethod
    def from_matrix(cls, matrix: ArrayLike, period: int = 1) -> LookupTable:
        """Return the look-up whose row i holds the probabilities of released 0, 1, 2, …"""
        dense = np.array(matrix, np.float64, ndmin=2)
        if not np.isfinite(dense).all() or (dense < 0).any() or not np.allclose(dense.sum(1), 1):
            raise ParameterError("every row of a matrix must be non-negative and sum to 1.")
        rows = []
        for i, row in enumerate(dense):
            released = np.flatnonzero(row)
            rows.append((released - i, np.cumsum(row[released]) / row.sum()))
        return cls.from_rows(rows, period)

    @classmethod
    def from_rows(cls, rows: Sequence[tuple[ArrayLike, ArrayLike]], period: int = 1) -> LookupTable:
        """Return the look-up with the changes and interval bounds of each count, from 0 on."""
        width = max((np.size(changes) for changes, _ in rows), default=0)
        table = np.zeros((len(rows), width), np.int64)
        bounds = np.ones((len(rows), width))
        for i, (changes, upper) in enumerate(rows):
            values = np.asarray(changes, np.int64)
            if not values.size:
                raise ParameterError(f"row {i} of a look-up must have at least one interval.")
            table[i, : len(values)] = values
            table[i, len(values) :] = values[-1]
            # Sums of probabilities may pass 1 in their last digit.
            bounds[i, : len(values) - 1] = np.minimum(np.asarray(upper, np.float64)[:-1], 1)
        return cls(table, bounds, period)

    @classmethod
    def explicit(cls, changes: ArrayLike) -> LookupTable:
        """Return the look-up with a change for each count, from 0 on, and each cell key.

        Notes
        -----
        As the Australian Bureau of Statistics defines it [Fraser2005] [Longhurst2007, sec. 3.3].
        A look-up for counts up to 750 serves larger ones by its rows for 501 to 750 in turn, as
        that of the Office for National Statistics does; another one by its last row.

        >>> table = dc.protect.lookup.LookupTable.explicit([[0, 0], [-1, 1]])
        >>> table.matrix[1].tolist()
        [0.5, 0.0, 0.5]
        """
        table = np.array(changes, np.int64, ndmin=2)
        many = table.shape[1]
        bounds = np.tile(np.arange(1, many + 1) / max(many, 1), (len(table), 1))
        return cls(table, bounds, PERIOD if len(table) == LAST + 1 else 1, many)

    @cached_property
    def matrix(self) -> Floats:
        """Pr(released j | true i): a row for each described count, columns from 0 without gaps."""
        return self.transition().matrix(len(self.changes) - 1)

    def transition(self) -> Transition:
        """Return Pr(released j | true i)."""
        return self._transition

    @cached_property
    def _transition(self) -> Transition:
        counts = np.arange(len(self.changes))[:, None]
        widths = np.diff(self.bounds, axis=1, prepend=0.0)
        # A change of an empty interval may lead below zero; it has no part in the sums.
        released = np.where(widths > 0, counts + self.changes, counts)
        dense = np.zeros((len(counts), int(released.max()) + 1))
        np.add.at(dense, (counts, released), widths)
        return Transition.from_matrix(dense, self.period)

    def draw(self, counts: Integers, uniforms: Floats) -> Integers:
        """Return count + change of the interval that each uniform falls in, both checked before."""
        released = np.empty(counts.shape, np.int64)
        look_up = kernels.look_up if pays(kernels.look_up, counts.size) else plain.look_up
        look_up(
            np.ascontiguousarray(counts).reshape(-1),
            np.ascontiguousarray(uniforms).reshape(-1),
            self.changes,
            self.bounds,
            self.period,
            released.reshape(-1),
        )
        return released

    def write_csv(self, path: str | Path) -> None:
        """Write the look-up in the layout of the R package ptable, bounds to 8 decimals."""
        if self.period != 1:
            raise ParameterError(
                f"this look-up repeats every {self.period} rows, which ptable's layout cannot say: "
                "there the last row serves all larger counts."
            )
        with Path(path).open("w", encoding="utf-8", newline="") as file:
            file.write(",".join(f'"{name}"' for name in HEADER) + "\n")
            for i, (changes, bounds) in enumerate(zip(self.changes, self.bounds, strict=True)):
                lower = 0.0
                for change, bound in zip(changes.tolist(), bounds.tolist(), strict=True):
                    upper = round(bound, DIGITS)
                    if upper > lower:
                        row = (i, i + change, _text(upper - lower), change)
                        file.write(",".join(map(str, (*row, _text(lower), _text(upper)))))
                        file.write(',"all"\n')
                    lower = upper

    @classmethod
    def read_csv(cls, path: str | Path) -> LookupTable:
        """Return the look-up in a file in the layout of the R package ptable.

        Columns i (count), j (released) or v (change), and p_int_ub (upper bound of the interval
        of the cell key); the rows of a count in the order of their intervals. Its transition
        matrix (columns i, 0, 1, 2, …) is read as well, and so is an explicit look-up in the layout
        of the Python package cell-key-perturbation (columns pcv, ckey, pvalue). A file that ends
        in .yaml holds parameters of the R package cellKey for counts.

        >>> dc.protect.lookup.max_entropy(2, 1.0).write_csv("lookup.csv")
        >>> dc.protect.lookup.read_csv("lookup.csv").matrix.shape
        (3, 5)
        """
        text = Path(path).read_text(encoding="utf-8-sig")
        if not text.strip():
            raise ParameterError(f"{Path(path).name} is empty.")
        try:
            if Path(path).suffix.lower() in (".yaml", ".yml"):
                return cls.from_rows(_intervals(*read_yaml(text)))
            lines = [line for line in csv.reader(text.splitlines()) if line]
            header = [name.strip() for name in lines[0]]
            if "p_int_ub" in header:
                return cls.from_rows(_intervals(header, lines[1:]))
            if set(EXPLICIT) <= set(header):
                return cls.explicit(_explicit(header, lines[1:]))
            if header[0] == "i" and all(name.isdigit() for name in header[1:]):
                return cls.from_matrix(_dense(header, lines[1:]))
        except (ValueError, IndexError) as error:
            raise ParameterError(f"{Path(path).name} cannot be read: {error}") from error
        raise ParameterError(
            f"{Path(path).name} must have ptable's columns {', '.join(HEADER)}, "
            f"or i and released values, or {', '.join(EXPLICIT)}. Got {', '.join(header)}."
        )


def _text(number: float) -> str:
    return f"{number:.{DIGITS}f}".rstrip("0").rstrip(".") or "0"


def _intervals(header: list[str], lines: list[list[str]]) -> list[tuple[list[int], list[float]]]:
    """Return the changes and bounds of each count of a file with one row for each interval."""
    missing = {"i", "p_int_ub"} - set(header)
    if missing or not {"j", "v"} & set(header):
        raise ParameterError(f"ptable's columns are {', '.join(HEADER)}. Got {', '.join(header)}.")
    column = {name: k for k, name in enumerate(header)}
    rows: dict[int, list[tuple[float, int]]] = {}
    for line in lines:
        if "type" in column and line[column["type"]] != "all":
            raise ParameterError(
                "a look-up for counts has type 'all' throughout. "
                f"Got '{line[column['type']]}': this file is for magnitudes."
            )
        count = int(line[column["i"]])
        change = int(line[column["v"]]) if "v" in column else int(line[column["j"]]) - count
        if "j" in column and int(line[column["j"]]) != count + change:
            raise ParameterError(f"j must be i + v in every row. Got {', '.join(line)}.")
        rows.setdefault(count, []).append((float(line[column["p_int_ub"]]), change))
    if sorted(rows) != list(range(len(rows))):
        raise ParameterError("the counts i must run from 0 without gaps.")
    result = []
    for count in range(len(rows)):
        intervals = sorted(rows[count], key=lambda pair: pair[0])
        if abs(intervals[-1][0] - 1) > 10.0**-DIGITS:
            raise ParameterError(f"the last interval of count {count} must end at 1.")
        result.append(([change for _, change in intervals], [bound for bound, _ in intervals]))
    return result


def _explicit(header: list[str], lines: list[list[str]]) -> Integers:
    """Return the change of each count and cell key of a file; a count of 0 may be left out."""
    at = [header.index(name) for name in EXPLICIT]
    given = np.array([[int(line[k]) for k in at] for line in lines], np.int64).reshape(-1, 3)
    counts, keys, values = given.T
    if not len(given) or counts.min() < 0 or keys.min() < 0:
        raise ParameterError("pcv and ckey must be integers of 0 or more.")
    rows, many = int(counts.max()) + 1, int(keys.max()) + 1
    there = np.zeros((rows, many), bool)
    there[counts, keys] = True
    first = 0 if there[0].any() else 1
    if len(given) != (rows - first) * many or not there[first:].all():
        raise ParameterError("pvalue must be given once for every pcv from 1 on and every ckey.")
    table = np.zeros((rows, many), np.int64)
    table[counts, keys] = values
    return table


def _dense(header: list[str], lines: list[list[str]]) -> Floats:
    """Return the full matrix of a file with one column for each released value; gaps are 0."""
    if [int(line[0]) for line in lines] != list(range(len(lines))):
        raise ParameterError("the counts i must run from 0 without gaps.")
    released = [int(name) for name in header[1:]]
    dense = np.zeros((len(lines), max(released) + 1))
    dense[:, released] = [[float(value) for value in line[1:]] for line in lines]
    return dense
