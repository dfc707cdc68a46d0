"""Tables with merged categories, and files that say what was merged.

A recode maps each code of a dimension to the one that stands for it. It is written as CSV, and as
τ-ARGUS reads it (.grc): the branches to fold of a hierarchy, or new codes with their parts.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from discreet.desk.redesign.lattice import merge
from discreet.errors import ParameterError
from discreet.files import OPEN
from discreet.table.dimension import Dimension
from discreet.table.files import TableFile
from discreet.table.hierarchy import Hierarchy, tree
from discreet.table.sheet import Sheet
from discreet.table.source import Layout

# What separates codes in a .grc file, so that a code cannot contain it.
_SEPARATORS = re.compile(r"[,:\-\s]")


def without_groups(file: TableFile, groups: Mapping[str, Mapping[str, Sequence[str]]]) -> TableFile:
    """Return the table without rows of groups, which must be the sums of their parts.

    A file may hold regions beside the districts they are made of; the districts are its cells.
    """
    axes = [
        np.array([code not in groups.get(dimension.variable, {}) for code in dimension.codes])
        for dimension in file.dimensions
    ]
    if all(inner.all() for inner in axes):
        return file
    for axis, dimension in enumerate(file.dimensions):
        if not axes[axis].any():
            raise ParameterError(
                f"{dimension.variable} must have a category that is not a group of others."
            )
        _check_groups(file, axis, groups.get(dimension.variable, {}))
    places = [np.where(inner, np.cumsum(inner) - 1, -2) for inner in axes]
    moved = np.stack(
        [
            np.where(file.rows[:, d] < 0, -1, place[file.rows[:, d]])
            for d, place in enumerate(places)
        ],
        axis=1,
    )
    kept = (moved >= -1).all(axis=1)
    dimensions = tuple(
        old.recoded([code for code, inner in zip(old.codes, axes[d], strict=True) if inner])
        for d, old in enumerate(file.dimensions)
    )
    header = file.header
    if file.layout is Layout.WIDE:
        columns = [column for column in header[1:] if column not in groups.get("column", {})]
        header = (header[0], *columns)
    return replace(
        file,
        dimensions=dimensions,
        counts=file.counts[np.ix_(*axes)],
        header=header,
        rows=moved[kept],
        figures=file.figures[kept],
    )


def _check_groups(file: TableFile, axis: int, groups: Mapping[str, Sequence[str]]) -> None:
    """Raise where a group that is in the table is not the sum of its parts."""
    dimension = file.dimensions[axis]
    listed, parents = tree(dimension.codes, groups, dimension.variable)
    above = [{listed[i] for i in Hierarchy(parents).path(at)} for at in range(len(listed))]
    place = {code: i for i, code in enumerate(dimension.codes)}
    values = np.moveaxis(file.counts, axis, 0)
    for group in (code for code in dimension.codes if code in groups):
        inner = [
            place[code]
            for code in dimension.codes
            if code not in groups and group in above[listed.index(code)]
        ]
        off = values[place[group]] - values[inner].sum(axis=0)
        if np.any(off):
            first = off[off != 0].flat[0]
            raise ParameterError(
                f"the table must add up. {dimension.variable} {group} is "
                f"{abs(int(first)):,} too {'large' if first > 0 else 'small'} for its parts in "
                f"{np.count_nonzero(off):,} of {off.size:,} places."
            )


def recoded(file: TableFile, recodes: Mapping[str, Mapping[str, str]]) -> TableFile:
    """Return the table with its categories renamed, and those that share a name summed.

    A dimension of which one category is left is dropped: a long file has no column for it, a wide
    one only its total. Totals stand where the file has them.
    """
    counts, dimensions, rows = file.counts, [], []
    for d, old in enumerate(file.dimensions):
        recode = recodes.get(old.variable, {})
        new = [recode.get(code, code) for code in old.codes]
        codes = list(dict.fromkeys(new))
        place = np.array([codes.index(code) for code in new])
        counts = merge(counts, place, d)
        dimensions.append(old.recoded(codes))
        column = file.rows[:, d]
        only = len(codes) == 1 and len(old) > 1
        rows.append(np.where((column < 0) | only, -1, place[column]))
    if file.layout is Layout.WIDE:
        return _wide(file, counts, dimensions, rows)
    left = [d for d, old in enumerate(dimensions) if len(old) > 1 or len(file.dimensions[d]) == 1]
    left = left or [0]
    distinct = np.array(list(dict.fromkeys(zip(*(rows[d].tolist() for d in left), strict=True))))
    gone = tuple(d for d in range(len(dimensions)) if d not in left)
    table = replace(
        file,
        dimensions=tuple(dimensions[d] for d in left),
        counts=counts.sum(axis=gone),
        header=(*(file.header[d] for d in left), file.header[-1]),
        total_codes=tuple(file.total_codes[d] for d in left),
        rows=distinct,
        figures=np.zeros(len(distinct), np.int64),
    )
    return table.with_counts(table.counts)


def _wide(
    file: TableFile,
    counts: NDArray[np.int64],
    dimensions: list[Dimension],
    rows: list[NDArray[np.int64]],
) -> TableFile:
    axes = [list(dict.fromkeys(column.tolist())) for column in rows]
    codes = [
        [*dimension.codes, total]
        for dimension, total in zip(dimensions, file.total_codes, strict=True)
    ]
    grid = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 2)
    table = replace(
        file,
        dimensions=tuple(dimensions),
        counts=counts,
        header=(file.header[0], *(codes[1][i] for i in axes[1])),
        rows=grid,
        figures=np.zeros(len(grid), np.int64),
    )
    return table.with_counts(counts)


def write_csv(path: str | Path, recode: Mapping[str, str]) -> None:
    """Write two columns: each code, and the one that stands for it."""
    Sheet(("code", "recoded"), (list(recode), list(recode.values()))).write(path, OPEN)


def write_grc(
    path: str | Path, merged: Mapping[str, Sequence[str]], hierarchical: bool
) -> str | None:
    """Write a recode for τ-ARGUS; return why it cannot be written where it cannot.

    Of a hierarchy the branches to fold are named, otherwise each new code with its old ones.
    """
    if hierarchical:
        lines = ["<TREERECODE>", *merged]
    else:
        parts = [code for new, old in merged.items() for code in (new, *old)]
        bad = next((code for code in parts if _SEPARATORS.search(code)), None)
        if bad is not None:
            return f"'{bad}' has a comma, colon, dash or space, which separate codes there"
        lines = [f"{new}:{','.join(old)}" for new, old in merged.items()]
    Path(path).write_text("\n".join(lines) + "\n", encoding="utf-8")
    return None
