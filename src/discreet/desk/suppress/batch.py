"""Batch files of τ-ARGUS (.arb): tables that are read, suppressed and written, as far as known.

A command that is not known here stops the batch before anything is read, with its line.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from discreet.desk.report import Report
from discreet.desk.suppress import suppress
from discreet.errors import ParameterError
from discreet.progress import Tell
from discreet.table.argus import Metadata, read_described, read_metadata, text_of
from discreet.table.hierarchy import read_hrc
from discreet.table.source import Source

COMMAND = re.compile(r"<(\w+)>\s*(.*)")
RULE = re.compile(r"(\w+)\(([^)]*)\)")
SOLVERS = {"MOD": False, "GH": False, "NET": False, "OPT": True}
"""The ways to suppress, and whether they prove the optimum."""
SAID_ELSEWHERE = (
    "READMICRODATA",
    "READTABLE",
    "SILENT",
    "LOGBOOK",
    "SOLVER",
    "CLEAR",
    "VERSIONINFO",
    "GOINTERACTIVE",
)
"""Commands that say nothing that a run here needs."""

NOTES = {"GOINTERACTIVE": "there are no windows here, so the batch ends where they would open"}
"""What is said of commands that would do something elsewhere."""


@dataclass
class Table:
    """One table of a batch: what it is of, and what is to be done with it."""

    by: list[str]
    response: str
    rules: list[str] = field(default_factory=list)
    history: Path | None = None
    exact: bool | None = None
    seconds: float | None = None
    out: Path | None = None


@dataclass
class Batch:
    """What a batch file says."""

    folder: Path
    data: Path | None = None
    metadata: Path | None = None
    tables: list[Table] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def run(self, tell: Tell | None = None) -> dict[Path, Report]:
        """Return the reports of the tables that are written, and write them."""
        return {table.out: self._one(table, tell) for table in self.tables if table.out is not None}

    def _one(self, table: Table, tell: Tell | None) -> Report:
        meta, source = self._read()
        holding = next((v.name for v in meta.variables if "HOLDING" in v.tags), None)
        given: dict[str, Any] = {}
        if not meta.tabular:
            counts = table.response.upper() == "<FREQ>"
            given = {"by": table.by, "value": None if counts else table.response,
                     "holding": holding}  # fmt: skip
        groups = {}
        for one in meta.variables:
            if one.name in table.by and "HIERCODELIST" in one.tags:
                lead = one.tags.get("HIERLEADSTRING", "@")
                groups[one.name] = read_hrc(self.folder / one.tags["HIERCODELIST"], lead)
            elif one.name in table.by and "HIERLEVELS" in one.tags:
                raise ParameterError(
                    f"'{one.name}' has levels by the digits of its codes (HIERLEVELS), which are "
                    "not read here: give them as a file (.hrc)."
                )
        report = suppress(
            source, table.rules or None, hierarchy=groups, history=table.history,
            exact=bool(table.exact), seconds=table.seconds, tell=tell, **given,
        )  # fmt: skip
        report.write(str(table.out))
        return report

    def _read(self) -> tuple[Metadata, Source]:
        if self.data is None:
            raise ParameterError("a batch must open data: <OPENMICRODATA> or <OPENTABLEDATA>.")
        path = self.metadata or self.data.with_suffix(".rda")
        header, rows = read_described(path, self.data)
        return read_metadata(path), Source(self.data.name, header, rows)


def read_batch(path: str | Path) -> Batch:
    """Return what a batch file says; raise where it says what is not known here."""
    source = Path(path)
    if not source.exists():
        raise ParameterError(f"there is no file '{source}'.")
    batch, unknown = Batch(source.parent), []
    for number, line in enumerate(text_of(source).splitlines(), 1):
        text = line.partition("//")[0].strip()
        found = COMMAND.fullmatch(text)
        if not text:
            continue
        name = found[1].upper() if found else text
        if name in SAID_ELSEWHERE:
            if name in NOTES:
                batch.notes.append(f"line {number}, {name}: {NOTES[name]}.")
            continue
        if not found or name not in COMMANDS:
            unknown.append(f"line {number}: {name[:40]}")
            continue
        try:
            COMMANDS[name](batch, found[2].strip())
        except ParameterError:
            raise
        except (ValueError, IndexError):
            raise ParameterError(
                f"line {number} of '{source.name}' is not understood: {text}"
            ) from None
    if unknown:
        raise ParameterError(
            f"'{source.name}' has commands that are not known here: {'; '.join(unknown)}. "
            f"Known: {', '.join([*COMMANDS, *SAID_ELSEWHERE])}."
        )
    if not any(table.out for table in batch.tables):
        raise ParameterError(
            f"'{source.name}' must write a table (<WRITETABLE>): else nothing is done here."
        )
    return batch


def _names(text: str) -> list[str]:
    return re.findall(r'"([^"]*)"', text)


def _open_data(batch: Batch, text: str) -> None:
    batch.data = batch.folder / (_names(text) or [text])[0]


def _open_metadata(batch: Batch, text: str) -> None:
    batch.metadata = batch.folder / (_names(text) or [text])[0]


def _table(batch: Batch, text: str) -> None:
    by, response, *_ = text.split("|")
    batch.tables.append(Table(_names(by), response.strip().strip('"')))


def _rule(batch: Batch, text: str) -> None:
    """Take P(p,1), NK(n,k) and FREQ(n,range); what else makes a rule would be another one."""
    for name, inside in RULE.findall(text):
        values = [float(part) for part in inside.split(",") if part.strip()]
        if name.upper() == "P" and (len(values) < 2 or values[1] == 1):
            batch.tables[-1].rules.append(f"p={values[0]:g}")
        elif name.upper() == "NK":
            batch.tables[-1].rules.append(f"dominance={values[0]:g},{values[1]:g}")
        elif name.upper() == "FREQ" and (values[0] - 1) * sum(values[1:]) / 100 <= 1:
            # The range, in percent of the largest sensitive count, is within one contributor.
            batch.tables[-1].rules.append(f"minimum={values[0]:g}")
        else:
            raise ParameterError(f"the rule {name}({inside}) of the batch is not known here.")
    if not RULE.findall(text):
        raise ValueError(text)


def _chosen(batch: Batch, text: str) -> Table:
    return batch.tables[int(text) - 1]


def _apriori(batch: Batch, text: str) -> None:
    rest = text.rpartition('"')[2] if text.count('"') == 2 else text.split('"')[2]
    number = rest.split(",")[1] if "," in rest else "1"
    _chosen(batch, number).history = batch.folder / _names(text)[0]


def _suppress(batch: Batch, text: str) -> None:
    ((name, inside),) = RULE.findall(text)
    if name.upper() not in SOLVERS:
        raise ParameterError(
            f"the batch asks for {name}, which is not known here. Known: {', '.join(SOLVERS)}."
        )
    parts = [part.strip() for part in inside.split(",")]
    table = _chosen(batch, parts[0])
    table.exact = SOLVERS[name.upper()]
    if table.exact and len(parts) > 1:
        table.seconds = 60 * float(parts[1])


def _write(batch: Batch, text: str) -> None:
    number = text.strip("() ").split(",")[0]
    _chosen(batch, number).out = batch.folder / _names(text)[-1]


COMMANDS: dict[str, Callable[[Batch, str], None]] = {
    "OPENMICRODATA": _open_data,
    "OPENTABLEDATA": _open_data,
    "OPENMETADATA": _open_metadata,
    "SPECIFYTABLE": _table,
    "SAFETYRULE": _rule,
    "APRIORI": _apriori,
    "SUPPRESS": _suppress,
    "WRITETABLE": _write,
}
