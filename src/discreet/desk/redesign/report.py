"""What `redesign` answers: what is left of the table, and why no less was merged."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from discreet.desk.charts import BLUE, GREY, ORANGE, Chart, axis, chart, colours
from discreet.desk.redesign.model import Design, Finding, Redesign
from discreet.desk.redesign.recode import write_csv, write_grc
from discreet.desk.redesign.tables import InnerTable
from discreet.desk.report import Report, wrapped
from discreet.errors import CannotProtect, ParameterError
from discreet.solve.solution import Status
from discreet.table.hierarchy import is_total_code
from discreet.table.sheet import Sheet

SHOWN = 6
STEPS = 15
DRAWN = 2_000

Merged = Mapping[str, Mapping[str, list[str]]]


def refuse_none(found: Redesign) -> Design:
    """Return the design that was found; raise with the reason where there is none."""
    if found.design is not None:
        return found.design
    if found.status is Status.INFEASIBLE:
        last = min(found.rejected, key=lambda entry: -entry.cost).verdict
        because = last.reason + (f": {last.cells[0]}" if last.cells else "")
        raise CannotProtect(
            "no coarsening of this table passes, not even what is left when everything allowed is "
            f"merged ({because}). Nothing is written."
        )
    if found.status is Status.STOPPED:
        raise ParameterError("stopped before a design was found that passes. Nothing is written.")
    raise CannotProtect(
        f"none of {found.tested:,} designs passed, and not all were tried. Nothing is written. "
        "Allow more designs (most), or ask for less."
    )


@dataclass(frozen=True, eq=False, repr=False)
class RedesignReport(Report):
    """The least coarsening of a table: `found` explains it, `design` is the coarser table."""

    name: str
    given: InnerTable
    found: Redesign
    design: Design
    rule: str
    cost: str
    notes: tuple[str, ...] = ()

    @cached_property
    def facts(self) -> dict[str, Any]:
        """Everything the report says, as plain values; a reach without end is None."""
        found = self.found
        return {
            "status": str(found.status),
            "rule": self.rule,
            "before": _finding(found.before),
            "cells_before": int(self.given.counts.size),
            "entropy_before": found.entropy,
            "cost_kind": self.cost,
            "reach": None if found.reach == float("inf") else found.reach,
            "tested": found.tested,
            **_design(self.design),
            "merges": [
                {
                    "dimension": merge.variable,
                    "merged": _lists(merge.merged),
                    "if_undone": _finding(merge.undone),
                }
                for merge in found.merges
            ],
            "forced": [
                {"dimension": one.variable, "code": one.code, "verdict": _finding(one.verdict)}
                for one in found.forced
            ],
            "steps": [
                {
                    "dimension": step.variable,
                    "merged": _lists(step.merged),
                    "cost": step.cost,
                    "before": _finding(step.before),
                }
                for step in found.steps
            ],
            "next_best": [_design(runner) for runner in found.runners],
            "rejected": [
                {
                    "cost": entry.cost,
                    "merged": {name: _lists(part) for name, part in entry.merged.items()},
                    "verdict": _finding(entry.verdict),
                }
                for entry in found.rejected
            ],
            "notes": [*self.given.notes, *self.notes],
        }

    @property
    def lines(self) -> list[str]:
        """The report as a person reads it: what is left first."""
        facts = self.facts
        if not facts["merged"]:
            return ["PASSES as it is: nothing is merged.", f"Rule: {facts['rule']}."]
        lines = [*self._head(), "", *self._merges(), *self._forced(), "", *self._way()]
        lines += ["", *self._next_best(), "", *self._rejected()]
        if facts["notes"]:
            lines += ["", "Notes", *(f"  {note}." for note in facts["notes"])]
        return lines

    def _head(self) -> list[str]:
        facts = self.facts
        costs = [f"{name} {value:.3f}" for name, value in facts["costs"].items() if value]
        shares = f", {', '.join(costs) or 'none'}" if len(facts["costs"]) > 1 else ""
        return [
            f"PASSES with {facts['cells']:,} of {facts['cells_before']:,} cells, "
            f"{_certainty(facts)}.",
            f"Rule: {facts['rule']}.",
            f"As it came: {_told(facts['before'])}.",
            f"Cost ({facts['cost_kind']}): {facts['cost']:.3f} nats{shares}. Entropy of the table: "
            f"{facts['entropy']:.3f}, before {facts['entropy_before']:.3f}.",
        ]

    def _merges(self) -> list[str]:
        merges, dropped = self.facts["merges"], self.facts["dropped"]
        lines = ["Merged, and what fails if that alone is undone"]
        for merge in merges[:STEPS]:
            lines.append(f"  {_merged(merge['dimension'], merge['merged'], dropped)}")
            lines.append(f"      {_told(merge['if_undone'])}")
        return lines + _more(merges, STEPS)

    def _forced(self) -> list[str]:
        forced = self.facts["forced"]
        if not forced:
            return []
        lines = ["", "No design passes that keeps these apart, whatever else is merged"]
        for one in forced[:SHOWN]:
            lines.append(f"  {one['dimension']} {one['code']}: {_told(one['verdict'])}")
        return lines + _more(forced, SHOWN)

    def _way(self) -> list[str]:
        steps, total = self.facts["steps"], 0.0
        lines = ["The way there: cost so far, what was merged, what failed before"]
        for step in steps[:STEPS]:
            total += step["cost"]
            what = _short({step["dimension"]: step["merged"]}, self.facts["dropped"])
            lines += _priced(total, f"{what} — {step['before']['reason']}")
        return lines + _more(steps, STEPS)

    def _next_best(self) -> list[str]:
        lines = ["Next best"]
        for runner in self.facts["next_best"]:
            proved = self.facts["reach"] is None or runner["cost"] <= self.facts["reach"]
            what = f"{_short(runner['merged'], runner['dropped'])} ({runner['cells']:,} cells)"
            lines += _priced(runner["cost"], what if proved else f"{what}, not proved")
        return lines if len(lines) > 1 else [*lines, "  none that is not merely coarser"]

    def _rejected(self) -> list[str]:
        rejected = self.facts["rejected"]
        lines = [f"Cheaper, but failing: {len(rejected):,} tried, the nearest first"]
        for entry in rejected[:SHOWN]:
            what = _short(entry["merged"], ())
            lines += _priced(entry["cost"], f"{what} — {_told(entry['verdict'])}")
        return lines + _more(rejected, SHOWN)

    @property
    def sheets(self) -> dict[str, Sheet]:
        """The coarser table in the layout of the one that was given."""
        return {self.name: self.given.sheet(self.design)}

    @property
    def recode_files(self) -> list[str]:
        """The names of the files that recodes are written to."""
        stems = [_stem(variable) for variable in self.design.merged]
        return [f"{stem}.{ending}" for stem in stems for ending in ("csv", "grc")]

    def write_recodes(self, folder: str | Path) -> tuple[str, ...]:
        """Write old and new codes: DIM.csv, and DIM.grc for τ-ARGUS; return what was not."""
        try:
            Path(folder).mkdir(exist_ok=True)
        except OSError as error:
            raise ParameterError(f"recodes must be a folder that can be made. {error}") from None
        notes, recodes = [], self.given.recodes(self.design)
        for variable, merged in self.design.merged.items():
            stem = _stem(variable)
            write_csv(Path(folder) / f"{stem}.csv", recodes[variable])
            hierarchical = bool(self.given.groups.get(variable))
            problem = write_grc(Path(folder) / f"{stem}.grc", merged, hierarchical)
            if problem is not None:
                notes.append(f"{stem}.grc is not written: {problem}")
        return tuple(notes)

    def plot(self) -> Chart:
        """Return the designs that were tried by their cost and by how far they are from passing."""
        found = self.found
        tried = [
            {"cost": entry.cost, "score": entry.verdict.score, "design": "failing"}
            for entry in found.rejected[:DRAWN]
            if entry.verdict.score is not None
        ]
        others = [{"cost": d.cost, "score": 0.0, "design": "next best"} for d in found.runners]
        answer = {"cost": self.design.cost, "score": 0.0, "design": "the answer"}
        colour = {"failing": GREY, "next best": BLUE, "the answer": ORANGE}
        return chart(
            f"{self.name}: designs that were tried",
            [*tried, *others, answer],
            mark={"type": "point", "filled": True, "size": 60, "opacity": 0.8},
            encoding={
                "x": axis("cost", "quantitative", "Cost, nats"),
                "y": axis("score", "quantitative", "Distance from passing"),
                "color": colours("design", "Design", colour),
            },
            width=420,
            height=260,
        )


def _design(design: Design) -> dict[str, Any]:
    return {
        "cost": design.cost,
        "costs": dict(design.costs),
        "cells": int(design.counts.size),
        "entropy": design.entropy,
        "merged": {name: _lists(part) for name, part in design.merged.items()},
        "dropped": list(design.dropped),
    }


def _lists(merged: Mapping[str, tuple[str, ...]]) -> dict[str, list[str]]:
    return {new: list(old) for new, old in merged.items()}


def _finding(finding: Finding) -> dict[str, Any]:
    plain = asdict(finding)
    del plain["stays"]
    return {**plain, "cells": list(finding.cells)}


def _certainty(facts: dict[str, Any]) -> str:
    if facts["status"] == "solved":
        return f"proved to be the least coarsening ({facts['tested']:,} designs tried)"
    if facts["status"] == "stopped":
        return "STOPPED before the end: the best so far"
    return (
        f"the best found ({facts['tested']:,} designs tried); none costs less than "
        f"{facts['reach']:.3f} nats"
    )


def _told(finding: dict[str, Any]) -> str:
    if finding["passed"]:
        return "it would still pass"
    cells = finding["cells"]
    if not cells:
        return str(finding["reason"])
    return f"{finding['reason']} ({cells[0]}{' …' if finding['failing'] > 1 else ''})"


def _merged(variable: str, merged: dict[str, list[str]], dropped: list[str]) -> str:
    if variable in dropped:
        return f"{variable} is dropped: {_codes(next(iter(merged.values())))}"
    return "; ".join(f"{variable} {new} = {_codes(old)}" for new, old in merged.items())


def _codes(codes: list[str]) -> str:
    if len(codes) > SHOWN:
        return f"{', '.join(codes[: SHOWN - 1])} … {codes[-1]} ({len(codes):,} codes)"
    return ", ".join(codes)


def _short(merged: Merged, dropped: Any) -> str:
    """Return a design in a few words."""
    parts = []
    for name, groups in merged.items():
        codes = list(groups)
        if (name in dropped and len(codes) == 1) or any(is_total_code(code) for code in codes):
            parts.append(f"no {name}")
        else:
            more = f" and {len(codes) - 4:,} more" if len(codes) > 4 else ""
            parts.append(f"{name} {', '.join(codes[:4])}{more}")
    return "; ".join(parts) or "nothing merged"


def _priced(cost: float, what: str) -> list[str]:
    return wrapped(f"  {cost:.3f}  {what}", 9)


def _more(entries: list[Any], shown: int) -> list[str]:
    return [f"  and {len(entries) - shown:,} more"] if len(entries) > shown else []


def _stem(variable: str) -> str:
    return re.sub(r"[^\w.-]", "_", variable)
