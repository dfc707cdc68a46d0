"""The same question as a program asks it: curl, Python, R."""

from __future__ import annotations

from dataclasses import dataclass

from discreet.page.state import State, address
from discreet.release.formats.tidy import Columns


@dataclass(frozen=True)
class Program:
    """A few lines that fetch this table."""

    id: str
    label: str
    code: str


def api_address(
    folder: str, state: State, totals: str, format: str | None = None, route: str = "table"
) -> str:
    """Return the address at which programs get this table, in the folder of its data set."""
    return address(
        f"{folder}/{route}",
        {
            "by": ",".join(state.by),
            "where": state.where or None,
            "totals": totals if totals != "none" else None,
            "format": format,
        },
    )


def programs(csv: str, meta: str, file: str, columns: Columns) -> tuple[Program, ...]:
    """Return the question for three kinds of users: codes stay texts, figures are numbers."""
    types = ", ".join(f'"{name}": str' for name in columns.codes)
    python = (
        f'import pandas as pd\n\nurl = "{csv}"\n'
        f'types = {{{types}, "{columns.value}": "Int64"}}\n'
        'table = pd.read_csv(url, dtype=types, keep_default_na=False, na_values=[""])'
    )
    classes = ", ".join(f'"{name}" = "character"' for name in columns.codes)
    r = (
        f'url <- "{csv}"\n'
        f'types <- c({classes}, "{columns.value}" = "integer")\n'
        'table <- read.csv(url, colClasses = types, check.names = FALSE, na.strings = "")'
    )
    curl = "\n".join(
        f"curl --fail --output {name} \\\n  '{url}'"
        for name, url in ((file, csv), (f"{file}.meta.json", meta))
    )
    return (
        Program("python", "Python", python),
        Program("r", "R", r),
        Program("curl", "curl", curl),
    )
