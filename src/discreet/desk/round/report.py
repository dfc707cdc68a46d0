"""What `round` answers: how far the rounding went, and what changed."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from discreet.desk.charts import BLUE, Chart, axis, chart
from discreet.desk.report import Report
from discreet.desk.round import Mode
from discreet.solve.solution import Solution, Status
from discreet.table.files import TableFile
from discreet.table.sheet import Sheet
from discreet.types import Integers


@dataclass(frozen=True, eq=False, repr=False)
class RoundReport(Report):
    """A table that adds up: `found` has its inner counts in the order of `same`.

    `table` is what it was made of, and `same` that with its dimensions and codes sorted.
    """

    name: str
    table: TableFile
    same: TableFile
    found: Solution
    mode: Mode
    base: int

    @cached_property
    def change(self) -> Integers:
        """By how much each figure changed, in sorted order."""
        return np.asarray(self.same.with_counts(self.found.values).figures - self.same.figures)

    @property
    def facts(self) -> dict[str, Any]:
        """Everything the report says, as plain values."""
        change = self.change.astype(np.float64)
        return {
            "file": self.name,
            "mode": str(self.mode),
            "base": None if self.mode is Mode.ADDITIVE else self.base,
            "status": str(self.found.status),
            "gap": self._gap,
            "figures": change.size,
            "changed": int(np.count_nonzero(change)),
            "largest_change": int(np.abs(change).max()),
            "root_mean_square": float(np.sqrt(np.mean(change**2))),
        }

    @property
    def _gap(self) -> float | None:
        """The share by which a table may be closer: 0 where it is the closest, None if unknown.

        Of rounded figures the solver's own gap is a distance, which is the largest change.
        """
        if self.found.status is Status.SOLVED:
            return 0.0
        known = self.mode is Mode.ADDITIVE and np.isfinite(self.found.gap)
        return float(self.found.gap) if known else None

    @property
    def lines(self) -> list[str]:
        """The report as a person reads it."""
        facts = self.facts
        tail = f"{facts['changed']:,} of {facts['figures']:,} figures changed"
        if facts["changed"]:
            tail += (
                f", by {facts['largest_change']:,} at most, root mean square "
                f"{facts['root_mean_square']:.3f}"
            )
        return [f"{self.name}: {self._outcome()}.", f"{tail}."]

    def _outcome(self) -> str:
        base, status, gap = self.base, self.found.status.value, self.found.gap
        if self.mode is Mode.SMALL:
            stopped = "; STOPPED before the end" if status == "stopped" else ""
            return f"counts below {base} rounded, everything adds up{stopped}"
        if self.mode is Mode.ADDITIVE:
            what = {
                "solved": "the closest table that adds up",
                "feasible": f"adds up; no table is more than {1 - 1 / (1 + gap):.1%} closer",
                "stopped": "adds up; STOPPED before the end, there may be closer ones",
            }[status]
            return f"additive, {status}: {what}"
        what = {
            "solved": f"every cell and total is next to its count, less than {base} away",
            "relaxed": f"proved that not all can be less than {base} away; all are less than "
            f"{2 * base} away",
            "feasible": f"none found with all less than {base} away, none ruled out; all are less "
            f"than {2 * base} away",
            "stopped": f"STOPPED before the end: adds up, but a total is up to {gap:,.0f} "
            "away. Do not publish it as controlled",
        }[status]
        return f"controlled rounding to base {base}, {status}: {what}"

    @property
    def sheets(self) -> dict[str, Sheet]:
        """The rounded table in the layout of the one that was given."""
        released = self.same.with_counts(self.found.values)
        return {self.name: self.table.sheet(self.table.aligned(released))}

    def plot(self) -> Chart:
        """Return how many figures changed by how much."""
        values, numbers = np.unique(self.change, return_counts=True)
        rows = [
            {"change": int(value), "figures": int(number)}
            for value, number in zip(values, numbers, strict=True)
        ]
        return chart(
            f"{self.name}: change of the figures",
            rows,
            mark={"type": "bar", "color": BLUE},
            encoding={
                "x": axis("change", "ordinal", "Change", axis={"labelAngle": 0}),
                "y": axis("figures", "quantitative", "Figures", axis={"tickMinStep": 1}),
            },
            width={"step": 40},
            height=200,
        )
