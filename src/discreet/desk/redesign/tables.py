"""Tables as a redesign needs them: inner cells with their dimensions, and the coarser table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.desk.cells import CellTable, read_cells
from discreet.desk.redesign.model import Design
from discreet.desk.redesign.recode import recoded, without_groups
from discreet.errors import unknown
from discreet.table.decimals import decimals_of
from discreet.table.dimension import Dimension
from discreet.table.files import TableFile, read_table
from discreet.table.grid import Grid
from discreet.table.hierarchy import Groups, refuse_strange_members
from discreet.table.sheet import Sheet
from discreet.table.source import COUNT_NAMES, VALUE_NAME, Source


@dataclass(frozen=True, eq=False)
class InnerTable:
    """The inner cells of a table: of counts from a `file`, or of values in `cells`.

    `notes` say what a reader should know about how the table was understood.
    """

    counts: NDArray[Any]
    dimensions: tuple[Dimension, ...]
    groups: Groups
    file: TableFile | None = None
    cells: CellTable | None = None
    notes: tuple[str, ...] = ()

    def recodes(self, design: Design) -> dict[str, dict[str, str]]:
        """Return for each dimension what stands for each of its codes."""
        return {
            dimension.variable: design.recode(dimension.variable, dimension.codes)
            for dimension in self.dimensions
        }

    def sheet(self, design: Design) -> Sheet:
        """Return the coarser table in the layout of this one, without what was dropped."""
        if self.file is not None:
            table = recoded(self.file, self.recodes(design))
            return table.sheet(table.counts)
        kept = [d for d, dimension in enumerate(design.dimensions) if len(dimension) > 1] or [0]
        values = design.counts.sum(axis=tuple(d for d in range(self.counts.ndim) if d not in kept))
        places = decimals_of(self.counts)
        values = values if places is None else np.round(values, places)
        left = [design.dimensions[d] for d in kept]
        grid = Grid(
            tuple(dimension.variable for dimension in left),
            tuple(dimension.codes for dimension in left),
            tuple((-1,) * len(dimension) for dimension in left),
        )
        return grid.sheet({VALUE_NAME: values.ravel().tolist()})


def read_design(source: Source, groups: Groups, absent_zero: bool = False) -> InnerTable:
    """Return the table of a file or data frame: of values with contributors, or of counts."""
    # The tidy file of a release has a column value too, and labels: it holds counts.
    has_counts = source.is_released or set(source.names) & set(COUNT_NAMES)
    if VALUE_NAME in source.names and not has_counts:
        return _of_values(read_cells(source, groups), groups)
    file = read_table(source, absent_zero)
    names = [dimension.variable for dimension in file.dimensions]
    for name in groups:
        if name not in names:
            raise unknown("dimension", name, names)
        codes = file.dimensions[names.index(name)].codes
        refuse_strange_members(codes, groups[name], f"{name} of '{source.name}'")
    file.refuse_gap("Leave the totals out, or put them right.")
    inner = without_groups(file, groups)
    notes = _notes(file.dimensions, inner.dimensions, groups)
    return InnerTable(inner.counts, inner.dimensions, groups, inner, notes=notes)


def _of_values(cells: CellTable, groups: Groups) -> InnerTable:
    dimensions = tuple(
        Dimension.plain(variable, [codes[i] for i in inner.tolist()])
        for variable, codes, inner in zip(cells.variables, cells.codes, cells.inner, strict=True)
    )
    return InnerTable(cells.values[np.ix_(*cells.inner)], dimensions, groups, cells=cells)


def _notes(
    before: tuple[Dimension, ...], after: tuple[Dimension, ...], groups: Groups
) -> tuple[str, ...]:
    notes = []
    for old, new in zip(before, after, strict=True):
        if len(old) > len(new):
            notes.append(
                f"{old.variable}: {len(old) - len(new):,} codes are groups of others; left out"
            )
        mine = groups.get(old.variable)
        members = {member for part in (mine or {}).values() for member in part}
        alone = [code for code in new.codes if mine and code not in members]
        if alone:
            shown = ", ".join(alone[:3]) + (" …" if len(alone) > 3 else "")
            notes.append(f"{old.variable}: directly below the total: {shown}")
    return tuple(notes)
