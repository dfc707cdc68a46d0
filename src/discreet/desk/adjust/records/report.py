"""What `adjust_records` answers: the records whose tables are safe, and cells to withhold."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Any

import numpy as np

from discreet.desk.adjust.audit import digits
from discreet.desk.adjust.records import RecordAdjustment
from discreet.desk.adjust.records.withheld import Short, short_cells
from discreet.desk.adjust.report import STOPPED, ChangeReport, digit_facts
from discreet.desk.cells import Records
from discreet.desk.report import NAMED
from discreet.table.sheet import Sheet
from discreet.table.source import Source
from discreet.types import Flags, Floats, Integers
from discreet.utility.change import listing_text, plain_rows


@dataclass(frozen=True, eq=False, repr=False)
class RecordsReport(ChangeReport):
    """Adjusted records: `found` has them in the order of `records`; `place` is that of each line.

    With `withheld` they are released though cells are short of their protection, which must then
    be withheld from every table, and others with them. `listed` is the file that lists these. With
    `tables` only these are published, by the places of their dimensions, and their margins.
    """

    public = False

    source: Source
    value: str
    order: int | None
    records: Records
    place: Integers
    found: RecordAdjustment
    withheld: Short | None = None
    name: str = "the records"
    listed: str | None = None
    tables: Sequence[Sequence[int]] | None = None

    @property
    def released(self) -> bool:
        """Whether the records may be written: all cells are protected, or the rest withheld."""
        if self.found.short.any():
            return self.withheld is not None and self.withheld.others is not None
        return True

    @property
    def _decimals(self) -> int:
        """How many decimals the records are written with."""
        return 6 if self.found.decimals is None else self.found.decimals

    @property
    def _moved(self) -> tuple[Floats, Floats, Flags, Integers]:
        found = self.found
        return found.true, found.released, found.sensitive, found.cells.sum(axis=1)

    @cached_property
    def _brief(self) -> dict[str, Any]:
        """Everything but the names of the cells that are short, of which there may be millions."""
        found = self.found
        many = found.cells.sum(axis=1)
        odd = digits(found.true, np.round(found.released, self._decimals), many)  # as written
        return {
            "file": self.name,
            "status": str(found.status),
            "records": found.rows.records,
            "cells": found.rows.cell_count,
            "equations": found.rows.equations,
            "rows": found.rows.size,
            "sensitive": int(many[found.sensitive].sum()),
            "short": found.short_cells,
            "digits": digit_facts(odd),
            "percent_change": plain_rows(self._listing.changes),
            "value_distribution": plain_rows(self._listing.values),
        }

    @property
    def facts(self) -> dict[str, Any]:
        """Everything the report says, as plain values, and every cell to withhold."""
        facts = {**self._brief, "short_cells": [", ".join(cell) for cell in self._short_cells()]}
        if self.withheld is not None and self.withheld.others is not None:
            facts["complements"] = [", ".join(cell) for cell in self.withheld.others]
        return facts

    @property
    def stopped(self) -> bool:
        """Whether the work was stopped before its end."""
        return self.found.status == "stopped"

    @property
    def lines(self) -> list[str]:
        """The report as a person reads it."""
        facts = self._brief
        lines = self._outcome()
        if self.stopped:
            lines.append(STOPPED)
        lines.append(
            f"{facts['records']:,} records, {facts['cells']:,} cells that are not 0, "
            f"{facts['equations']:,} equations; {facts['rows']:,} sets of contributors."
        )
        if facts["digits"] is not None:
            lines.append(
                f"{facts['digits']['said']} Round the tables made of these records, every figure "
                "alike, before they are published."
            )
        return [*lines, "", *listing_text(self._listing).splitlines()]

    def _outcome(self) -> list[str]:
        sensitive, short = self._brief["sensitive"], self._brief["short"]
        if not short:
            return [
                f"{self.name}: all {sensitive:,} sensitive cells of all tables are at or beyond "
                "their protection."
            ]
        some = [", ".join(cell) for cell in islice(self._short_cells(), NAMED)]
        more = f"; and {short - len(some):,} more" if short > len(some) else ""
        listed = f"{self.listed} lists them" if self.listed else "the report lists them"
        said = (
            f"NOT PROTECTED: {short:,} of {sensitive:,} sensitive cells are below their "
            f"protection: {'; '.join(some)}{more}."
        )
        if self.withheld is None:
            return [
                said,
                f"They must be withheld from every table; {listed}. Nothing is written: to go on "
                "like this, withhold.",
            ]
        if self.withheld.others is None:
            return [
                said,
                "Nothing is written: no pattern was found from which they could not be computed. "
                "Publish fewer tables.",
            ]
        return [
            said,
            f"They must be withheld from every table, and {len(self.withheld.others):,} more, from "
            f"which they could be computed; {listed}.",
            "Audited: they are as uncertain as asked, to every contributor as well.",
        ]

    @property
    def sheets(self) -> dict[str, Sheet]:
        """The records with the adjusted value: their tables are what may be published."""
        source = self.source
        columns: list[Any] = [source.column(name) for name in source.header]
        columns[source.header.index(self.value)] = self.found.records[self.place].tolist()
        texts = {self.value: f"{{:.{self._decimals}f}}".format}
        return {self.name: Sheet(source.header, columns, texts, source.delimiter)}

    @property
    def custodian(self) -> Sheet:
        """The cells that must be withheld from every table. Not for publication."""
        cells, variables = list(self._short_cells()), self.records.variables
        others = () if self.withheld is None else self.withheld.others or ()
        columns = dict(zip(variables, zip(*cells, *others, strict=True), strict=False))
        shown = sorted(variables, key=self.source.header.index)  # as in the file
        status = ["short"] * len(cells) + ["complement"] * len(others)
        return Sheet([*shown, "status"], [*(list(columns.get(n, ())) for n in shown), status])

    def _short_cells(self) -> Iterator[tuple[str, ...]]:
        """Yield every cell that is short of its protection."""
        for cell, _ in short_cells(self.records, self.found, self.order, self.tables):
            yield cell
