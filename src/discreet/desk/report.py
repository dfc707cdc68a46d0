"""The one shape of what the desk answers: a report that prints, and whose table is handed on."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from textwrap import wrap
from typing import Any

from discreet.desk.charts import Chart
from discreet.errors import ParameterError
from discreet.files import OPEN
from discreet.table.sheet import Sheet

WIDTH = 80
NAMED = 5


class Report(ABC):
    """What a method of the desk found, for the custodian: it may tell about true figures.

    Printed it is the report of the command. `facts` says the same in plain values, as `--json`
    prints them. The table itself is converted, written and drawn.
    """

    public = True
    """Whether what `write` writes may be published; if not, its owner alone can read it."""

    @property
    @abstractmethod
    def facts(self) -> dict[str, Any]:
        """Everything the report says, as plain values."""

    @property
    @abstractmethod
    def lines(self) -> list[str]:
        """The report as a person reads it, before lines are broken."""

    @property
    @abstractmethod
    def sheets(self) -> dict[str, Sheet]:
        """The tables that were made, by name."""

    @abstractmethod
    def plot(self) -> Chart:
        """Return a picture of the result."""

    @property
    def sheet(self) -> Sheet:
        """The table that was made, where there is one."""
        if len(self.sheets) > 1:
            first = next(iter(self.sheets))
            raise ParameterError(
                f"there are several tables: {', '.join(self.sheets)}. Take one by its name, such "
                f"as .sheets['{first}'].to_pandas()."
            )
        return next(iter(self.sheets.values()))

    @property
    def stopped(self) -> bool:
        """Whether the work was stopped before its end."""
        return bool(self.facts["status"] == "stopped")

    def __str__(self) -> str:
        return "\n".join(part for line in self.lines for part in wrapped(line))

    __repr__ = __str__

    def to_json(self) -> str:
        """Return the facts as JSON."""
        return json.dumps(self.facts, indent=2, ensure_ascii=False)

    def to_arrow(self) -> Any:
        """Return the table as an Arrow table."""
        return self.sheet.to_arrow()

    def to_pandas(self) -> Any:
        """Return the table as a pandas data frame."""
        return self.sheet.to_pandas()

    def write(self, path: str | Path) -> None:
        """Write the table as CSV, whole or not at all; several tables go into a folder."""
        mode = OPEN if self.public else 0o600
        if len(self.sheets) == 1:
            self.sheet.write(path, mode)
            return
        if not Path(path).is_dir():
            raise ParameterError(f"several tables are written into a folder. Got {path}.")
        for name, sheet in self.sheets.items():
            sheet.write(Path(path) / name, mode)


def wrapped(line: str, further: int | None = None) -> list[str]:
    """Return a line in parts that fit the width; what follows the first is indented more."""
    indent = len(line) - len(line.lstrip())
    if len(line) <= WIDTH:
        return [line]
    return wrap(
        line,
        WIDTH,
        subsequent_indent=" " * (indent + 2 if further is None else further),
        break_on_hyphens=False,
        drop_whitespace=True,
    )


def named(names: Sequence[str], most: int = NAMED) -> str:
    """Return the first few names, and how many more there are."""
    more = f"; and {len(names) - most:,} more" if len(names) > most else ""
    return "; ".join(names[:most]) + more
