"""Published tables in CSV files: figures, some of them withheld, totals and groups among them.

The layouts are those of `files`. A figure that is empty, or one of the marks in `MARKS`, is
withheld; a combination that a long file does not mention is not published either, so a file of
margins alone describes what is known of the cells within.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.errors import ParameterError, unknown
from discreet.table.files import COUNT_NAMES, TOTAL, is_total_code, read_lines

# What offices print for a figure they withhold. "-" and "0" are not among them: they mean none.
MARKS = frozenset({"", "x", "c", "s", ".", "..", "...", "…", ":", "*"})
STATES = ("published", "primary", "secondary")
# Enough for any table a person publishes; beyond it the proof would take hours.
MAX_CELLS = 5_000_000
_NUMBER = re.compile(r"\d{1,18}([.,]\d+)?")

Groups = Mapping[str, Mapping[str, Sequence[str]]]
"""Dimension → group → the codes it is made of."""


@dataclass(frozen=True, eq=False)
class PublishedTable:
    """A published table: `values` over all codes of each dimension, NaN where not published.

    `parents[d][i]` is the code that code i of dimension d is part of, −1 if of none. `withheld`
    marks the cells that the file shows without a figure.
    """

    variables: tuple[str, ...]
    codes: tuple[tuple[str, ...], ...]
    parents: tuple[tuple[int, ...], ...]
    values: NDArray[np.float64]
    withheld: NDArray[np.bool_]

    @property
    def unpublished(self) -> NDArray[np.bool_]:
        """The cells without a figure, but for totals that the file leaves to be summed."""
        missing = np.isnan(self.values)
        return missing & ~self._derived(missing)

    def _derived(self, missing: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return the cells not mentioned that are plain sums of published ones."""
        known = ~missing
        derived = np.zeros(missing.shape, bool)
        for axis, parents in enumerate(self.parents):
            state = np.moveaxis(known, axis, 0)
            target = np.moveaxis(derived, axis, 0)
            for code in _upwards(parents):
                children = [i for i, parent in enumerate(parents) if parent == code]
                if children:
                    sums = state[children].all(axis=0) & ~state[code]
                    target[code] |= sums
                    state[code] |= sums
        return derived & ~self.withheld

    def name(self, cell: int) -> str:
        """Return a cell as a reader knows it: "region 3, sex f"."""
        index = np.unravel_index(cell, self.values.shape)
        parts = [
            f"{variable} {codes[i]}"
            for variable, codes, i in zip(self.variables, self.codes, index, strict=True)
        ]
        return ", ".join(parts)

    def cell(self, codes: Mapping[str, str]) -> int:
        """Return the number of the cell with these codes; dimensions left out mean their total."""
        for name in codes:
            if name not in self.variables:
                raise unknown("dimension", name, self.variables)
        index = []
        for variable, known in zip(self.variables, self.codes, strict=True):
            code = codes.get(variable)
            if code is None:
                code = next((c for c in known if is_total_code(c)), None)
                if code is None:
                    raise ParameterError(f"the cell must have a code for {variable}.")
            if code not in known:
                raise unknown(f"code of {variable}", code, known)
            index.append(known.index(code))
        return int(np.ravel_multi_index(tuple(index), self.values.shape))

    def write(
        self, path: str | Path, columns: Mapping[str, Sequence[str]], cells: ArrayLike
    ) -> None:
        """Write a long file: the codes of the cells, then the columns, a value a cell."""
        index = np.unravel_index(np.asarray(cells, np.int64), self.values.shape)
        with Path(path).open("w", encoding="utf-8", newline="") as stream:
            writer = csv.writer(stream, lineterminator="\n")
            writer.writerow([*self.variables, *columns])
            for row, *figures in zip(
                zip(*(part.tolist() for part in index), strict=True), *columns.values(), strict=True
            ):
                labels = [codes[i] for codes, i in zip(self.codes, row, strict=True)]
                writer.writerow([*labels, *figures])


def read_published(path: str | Path, groups: Groups | None = None) -> PublishedTable:
    """Return the published table of a CSV file, long or wide; `groups` are sums of codes."""
    name, _, header, lines = read_lines(path)
    low = [column.lower() for column in header]
    has_status = "status" in low
    places = [i for i, column in enumerate(low) if column in (*COUNT_NAMES, "value")]
    if places:
        last = len(header) - 1 - has_status
        if places != [last] or (has_status and low[-1] != "status"):
            raise ParameterError(
                f"'{name}' must have its dimensions first, then one column named count, freq or "
                f"value, then perhaps status. Got the columns {', '.join(header)}."
            )
        variables = header[:last]
        if not variables or len(set(variables)) != len(variables) or "" in variables:
            raise ParameterError(f"'{name}' must name every dimension once, and at least one.")
        cells = [row[:last] for _, row in lines]
        fields = [(f"line {number}", row[last]) for number, row in lines]
        if has_status:
            _check_status(name, lines)
    else:
        variables = [header[0] or "row", "column"]
        cells = [[row[0], column] for _, row in lines for column in header[1:]]
        fields = [
            (f"column {column} of line {number}", field)
            for number, row in lines
            for column, field in zip(header[1:], row[1:], strict=True)
        ]
    figures = np.array([_figure(field, f"{where} of '{name}'") for where, field in fields])
    return _assemble(name, variables, cells, [where for where, _ in fields], figures, groups or {})


def _assemble(
    name: str,
    variables: list[str],
    cells: list[list[str]],
    wheres: list[str],
    figures: NDArray[np.float64],
    groups: Groups,
) -> PublishedTable:
    for variable in groups:
        if variable not in variables:
            raise unknown("dimension", variable, variables)
    all_codes, all_parents, columns = [], [], []
    for axis, variable in enumerate(variables):
        used = [row[axis] for row in cells]
        if "" in used:
            raise ParameterError(
                f"'{name}' must have a code in every dimension. One of {variable} is empty."
            )
        codes, parents = tree(used, groups.get(variable, {}), f"{variable} of '{name}'")
        place = {code: i for i, code in enumerate(codes)}
        all_codes.append(codes)
        all_parents.append(parents)
        columns.append(np.array([place[code] for code in used], np.int64))
    shape = tuple(len(codes) for codes in all_codes)
    if prod(shape) > MAX_CELLS:
        raise ParameterError(
            f"'{name}' must have at most {MAX_CELLS:,} combinations of codes. Got {prod(shape):,}."
        )
    index = np.ravel_multi_index(tuple(columns), shape)
    order = np.argsort(index, kind="stable")
    twice = np.flatnonzero(np.diff(index[order]) == 0)
    if len(twice):
        first, second = order[twice[0]], order[twice[0] + 1]
        raise ParameterError(
            f"'{name}' must have each cell once. The {wheres[first]} and the {wheres[second]} are "
            "the same cell."
        )
    values, withheld = np.full(prod(shape), np.nan), np.zeros(prod(shape), bool)
    values[index] = figures
    withheld[index] = np.isnan(figures)
    return PublishedTable(
        tuple(variables),
        tuple(all_codes),
        tuple(all_parents),
        values.reshape(shape),
        withheld.reshape(shape),
    )


def tree(
    used: Iterable[str], groups: Mapping[str, Sequence[str]], what: str
) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """Return the codes in order of appearance, total last, and the parent of each."""
    codes = dict.fromkeys(code for code in used if not is_total_code(code))
    totals = list(dict.fromkeys(code for code in used if is_total_code(code)))
    if len(totals) > 1:
        raise ParameterError(f"{what} must have one code for its total. Got {', '.join(totals)}.")
    owner: dict[str, str] = {}
    for group, members in groups.items():
        if not members:
            raise ParameterError(f"the group '{group}' of {what} must have a member.")
        codes.setdefault(group)
        for member in members:
            codes.setdefault(member)
            if member in owner or member == group:
                raise ParameterError(f"'{member}' of {what} must be part of one other code only.")
            owner[member] = group
    listed = [*codes, *totals]
    place = {code: i for i, code in enumerate(listed)}
    top = len(codes) if totals else -1
    parents = [place[owner[code]] if code in owner else top for code in codes]
    if totals:
        parents.append(-1)
    _upwards(tuple(parents), what)
    return tuple(listed), tuple(parents)


def _upwards(parents: tuple[int, ...], what: str = "a dimension") -> list[int]:
    """Return the codes, children before their parents."""
    depth = []
    for code in range(len(parents)):
        steps, at = 0, parents[code]
        while at >= 0:
            at, steps = parents[at], steps + 1
            if steps > len(parents):
                raise ParameterError(f"the groups of {what} must not be part of themselves.")
        depth.append(steps)
    return sorted(range(len(parents)), key=lambda code: -depth[code])


def _check_status(name: str, lines: list[tuple[int, list[str]]]) -> None:
    for number, row in lines:
        state, figure = row[-1].lower(), row[-2]
        if state not in STATES:
            raise ParameterError(
                f"status must be one of {', '.join(STATES)}. Got '{row[-1]}' in line {number} of "
                f"'{name}'."
            )
        if (figure.lower() in MARKS) == (state == "published"):
            raise ParameterError(
                f"a cell has a figure if and only if its status is published. Line {number} of "
                f"'{name}' is {state} and has {'one' if figure.lower() not in MARKS else 'none'}."
            )


def _figure(field: str, where: str) -> float:
    if field.lower() in MARKS:
        return np.nan
    if _NUMBER.fullmatch(field):
        return float(field.replace(",", "."))
    problem = f"the negative number {field}" if field.startswith("-") else f"'{field}'"
    raise ParameterError(
        f"a figure must be a number of 0 or more, or empty where withheld. Got {problem} in "
        f"{where}."
    )


__all__ = ["MARKS", "TOTAL", "PublishedTable", "read_published", "tree"]
