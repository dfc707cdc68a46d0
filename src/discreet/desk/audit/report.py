"""What `audit` answers: the interval of every cell, the worst first."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from discreet.desk.audit.method import FAULTS, Known
from discreet.desk.charts import BLUE, ORANGE, Chart, axis, chart, colours
from discreet.desk.report import Report, named
from discreet.risk.cell import Audit, insider_range
from discreet.table.decimals import of_steps
from discreet.table.sheet import Sheet
from discreet.types import Flags, Floats, Integers

WORST = 10
BAR = 30
DRAWN = 40


@dataclass(frozen=True, eq=False, repr=False)
class AuditReport(Report):
    """What an intruder can prove: `result` has the intervals, `cells` says of which cells.

    `sensitive` says which sensitive cells are known too closely, to anybody or to a contributor,
    where the true table was given.
    """

    public = False

    name: str
    known: Known
    result: Audit
    cells: Integers
    sensitive: dict[str, Any] | None = None

    @cached_property
    def facts(self) -> dict[str, Any]:
        """Everything the report says, as plain values; an upper bound without end is None."""
        result, precision = self.result, self.known.change.precision
        possible = result.risk.possible.flat[self.cells]
        exact = possible == 1
        return {
            "status": str(result.proof.status),
            "cells": len(self.cells),
            "exact": int(exact.sum()),
            "exact_share": float(exact.mean()),
            "bounds_attained": float(self._final.all(axis=0).mean()),
            "bounds_final_for_reals": float(self._final_for_reals.all(axis=0).mean()),
            "ends_final": float(self._final.mean()),
            "ends_final_for_reals": float(self._final_for_reals.mean()),
            "gap": float(of_steps(result.proof.gap, precision)),
            "precision": precision,
            "widths": _widths(possible),
            "worst": self._worst(),
            "insiders": self._insiders(),
            "method": self.known.change.facts,
            "sensitive": self.sensitive,
        }

    @property
    def protected(self) -> bool:
        """Whether no sensitive cell is known too closely, to anybody or to a contributor.

        Without the true table none is known to be sensitive.
        """
        held = self.sensitive or {}
        return not (held.get("too_close") or held.get("too_close_to_contributors"))

    @property
    def _final(self) -> Flags:
        """Which ends, the least and the greatest value of each cell, occur in a table that fits."""
        return np.asarray(self.result.attained.reshape(2, -1)[:, self.cells])

    @property
    def _final_for_reals(self) -> Flags:
        """Which ends occur in a table of real numbers, or are as close to it as integers are."""
        return np.asarray(self.result.proof.linear[:, self.known.system.variable][:, self.cells])

    def _worst(self) -> list[dict[str, Any]]:
        low, high = self.result.low.flat[self.cells], self.result.high.flat[self.cells]
        possible = self.result.risk.possible.flat[self.cells]
        value = self.result.risk.values.flat[self.cells]
        return [
            {
                "cell": self.known.table.name(int(self.cells[i])),
                "low": float(low[i]),
                "high": _plain(high[i]),
                "possible": _plain(possible[i]),
                "risk": "certain disclosure" if possible[i] == 1 else float(value[i]),
            }
            for i in np.lexsort((self.cells, low, possible))
        ]

    def _insiders(self) -> list[dict[str, Any]]:
        found = []
        for cell, amount in self.known.contributions.items():
            low, high = insider_range(
                self.result.low.flat[cell], self.result.high.flat[cell], amount
            )
            found.append(
                {
                    "cell": self.known.table.name(cell),
                    "contribution": amount,
                    "others_low": float(low),
                    "others_high": _plain(float(high)),
                }
            )
        return found

    @property
    def lines(self) -> list[str]:
        """The report as a person reads it: what is proved exactly first."""
        facts = self.facts
        lines = [] if self.sensitive is None else _protection(self.sensitive)
        lines += [_disclosed(facts), _certainty(facts)]
        if facts["method"] is not None:
            lines.append(_left(facts["method"]))
        lines += ["", "Worst cells", *_listed(facts["worst"])]
        lines += ["", "Possible values of a cell", *_bars(facts["widths"])]
        if facts["insiders"]:
            lines += ["", "Insiders"]
        for row in facts["insiders"]:
            others = _interval(row["others_low"], row["others_high"])
            lines.append(
                f"  who gave {row['contribution']:,.15g} to {row['cell']} knows the others' sum: "
                f"{others}"
            )
        return lines

    @property
    def sheets(self) -> dict[str, Sheet]:
        """The interval of every cell that was audited, and its risk."""
        risk, chosen = self.result.risk, self.cells
        columns = {
            "low": self.result.low.flat[chosen].tolist(),
            "high": [_plain(value) for value in self.result.high.flat[chosen]],
            "risk": [
                float("inf") if possible == 1 else value
                for value, possible in zip(
                    risk.values.flat[chosen].tolist(), risk.possible.flat[chosen], strict=True
                )
            ],
        }
        ends = np.where(self._final, "yes", np.where(self._final_for_reals, "for reals", "no"))
        columns |= {"low_final": ends[0].tolist(), "high_final": ends[1].tolist()}
        texts = {"risk": lambda value: "certain" if value == float("inf") else f"{value:.4f}"}
        return {self.name: self.known.table.sheet(columns, chosen, texts)}

    def plot(self) -> Chart:
        """Return the narrowest intervals, each from its least to its greatest value."""
        rows = [
            {**row, "kind": "exact" if row["possible"] == 1 else "interval"}
            for row in self.facts["worst"][:DRAWN]
            if row["high"] is not None
        ]
        return chart(
            f"{self.name}: what an intruder can prove",
            rows,
            encoding={
                "y": axis("cell", "nominal", "", sort=None, axis={"labelLimit": 300}),
                "color": colours("kind", "", {"interval": BLUE, "exact": ORANGE}),
                "x": axis("low", "quantitative", "Possible values"),
            },
            layer=[
                {"mark": {"type": "bar", "height": 8}, "encoding": {"x2": {"field": "high"}}},
                {"mark": {"type": "point", "filled": True, "size": 45}},
                {
                    "mark": {"type": "point", "filled": True, "size": 45},
                    "encoding": {"x": axis("high", "quantitative", "Possible values")},
                },
            ],
            width=420,
            height={"step": 20},
        )


def _plain(value: float) -> float | None:
    return float(value) if value < float("inf") else None


def _widths(possible: Floats) -> list[dict[str, Any]]:
    """Return classes of the number of possible values that double in width, with their cells."""
    finite = possible[np.isfinite(possible)]
    classes: list[dict[str, Any]] = []
    start, end = 1, 1
    while len(finite) and start <= finite.max():
        inside = int(((finite >= start) & (finite <= end)).sum())
        # The class of certain disclosure is always shown; empty ones before the first are not.
        if start == 1 or inside or any(row["cells"] for row in classes):
            classes.append({"from": start, "to": end, "cells": inside})
        start, end = end + 1, 2 * end + 1
    if len(finite) < len(possible):
        classes.append({"from": 0, "to": None, "cells": len(possible) - len(finite)})
    return classes


def _disclosed(facts: dict[str, Any]) -> str:
    cells, exact = facts["cells"], facts["exact"]
    if exact:
        return (
            f"DISCLOSED: {exact:,} of {cells:,} cells can be proved exactly "
            f"({facts['exact_share']:.1%})."
        )
    narrow = facts["worst"][0]["possible"]
    values = "no upper bound" if narrow is None else f"{narrow:,.0f} possible values"
    return (
        f"NOT DISCLOSED EXACTLY: none of {cells:,} cells can be proved; the narrowest has {values}."
    )


def _listed(worst: list[dict[str, Any]]) -> list[str]:
    rows = [
        (row["cell"], _interval(row["low"], row["high"]), _possible(row)) for row in worst[:WORST]
    ]
    wide = [max(len(row[k]) for row in rows) for k in range(2)]
    lines = [f"  {a:<{wide[0]}}  {b:>{wide[1]}}  {c}" for a, b, c in rows]
    return lines + ([f"  and {len(worst) - WORST:,} more"] if len(worst) > WORST else [])


def _possible(row: dict[str, Any]) -> str:
    if row["risk"] == "certain disclosure":
        return "certain"
    if row["possible"] is None:
        return "no upper bound"
    return f"{row['possible']:,.0f} values, risk {row['risk']:.3f}"


def _bars(widths: list[dict[str, Any]]) -> list[str]:
    most = max(row["cells"] for row in widths)
    lines = []
    for row in widths:
        first, last = row["from"], row["to"]
        name = "no bound" if last is None else f"{last:,}"
        if last is not None and first < last:
            name = f"{first:,}–{last:,}"
        bar = "█" * max(round(BAR * row["cells"] / most), 1 if row["cells"] else 0)
        lines.append(f"  {name:>15} {row['cells']:>8,} {bar}".rstrip())
    return lines


def _protection(sensitive: dict[str, Any]) -> list[str]:
    cells, close = sensitive["cells"], sensitive["too_close"]
    every = "the sensitive cell is" if cells == 1 else f"all {cells:,} sensitive cells are"
    lines = [f"PROTECTED: {every} as uncertain as the rule asks."]
    if close:
        lines = [
            f"NOT PROTECTED: {len(close):,} of {cells:,} sensitive cells are known too closely: "
            f"{named(close, FAULTS)}."
        ]
    known = sensitive["too_close_to_contributors"]
    if known is None:
        lines.append(
            "Contributors are not in the true table: what they know was not reckoned with."
        )
    if known:
        lines.append(
            f"NOT PROTECTED FROM CONTRIBUTORS: {len(known):,} of {cells:,} sensitive cells are "
            f"known too closely to a contributor to another: {named(known, FAULTS)}."
        )
    return lines


def _left(method: dict[str, Any]) -> str:
    kind = "within" if method["name"] == "perturbation" else "to base"
    return (
        f"{method['name'].capitalize()} {kind} {method['bound']:,.15g} leaves "
        f"{method['values']:,.0f} values of a figure, {method['values_at_zero']:,.0f} of a 0, "
        "before any sum."
    )


def _certainty(facts: dict[str, Any]) -> str:
    share, reals = facts["bounds_attained"], facts["bounds_final_for_reals"]
    if facts["status"] == "stopped":
        return (
            "STOPPED before the end: intervals are valid but may be narrower; "
            f"{share:.0%} are final."
        )
    if share == 1:
        return "Every interval is final: both of its ends occur in tables that fit the figures."
    said = (
        f"Intervals are valid; {share:.0%} are final, the others may be narrower. Of their ends "
        f"{facts['ends_final']:.0%} are."
    )
    if reals > share:
        said += f" To an intruder who reckons with real numbers {reals:.0%} of intervals are final."
    return said


def _interval(low: float, high: float | None) -> str:
    if high is None:
        return f"{low:,.15g} or more"
    return f"{low:,.15g}" if low == high else f"{low:,.15g} to {high:,.15g}"
