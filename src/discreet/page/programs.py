"""The same question as a program asks it: curl, Python, R."""

from __future__ import annotations

from dataclasses import dataclass

from discreet.page.state import State, address


@dataclass(frozen=True)
class Program:
    """A few lines that fetch this table."""

    id: str
    label: str
    code: str


def api_address(dataset: str, state: State, totals: str, format: str | None = None) -> str:
    """Return the address at which programs get this table."""
    return address(
        f"/api/v1/datasets/{dataset}/table",
        {
            "by": ",".join(state.by),
            "where": state.where or None,
            "totals": totals if totals != "none" else None,
            "format": format,
        },
    )


def programs(base: str, dataset: str, state: State, totals: str) -> tuple[Program, ...]:
    """Return the question for three kinds of users."""
    csv = base + api_address(dataset, state, totals, "csv")
    python = (
        f'import pandas as pd\n\nurl = "{csv}"\ntable = pd.read_csv(url, comment="#", dtype=str)'
    )
    r = f'url <- "{csv}"\ntable <- read.csv(url, comment.char = "#", colClasses = "character")'
    curl = f"curl --fail --output table.csv \\\n  '{csv}'"
    return (
        Program("python", "Python", python),
        Program("r", "R", r),
        Program("curl", "curl", curl),
    )
