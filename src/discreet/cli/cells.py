"""What the commands on tables of cells share: reading them, hierarchies and rules.

Not a command itself.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from discreet.errors import ParameterError

if TYPE_CHECKING:
    from discreet.desk.cells import CellTable, Records
    from discreet.desk.sensitivity import Rule


def groups_of(hierarchy: list[str], group: list[str]) -> dict[str, dict[str, list[str]]]:
    """Return the sums of codes by dimension, from DIM=FILE.hrc and DIM:SUM=A|B."""
    from discreet.table.hierarchy import read_hrc

    groups: dict[str, dict[str, list[str]]] = {}
    for text in hierarchy:
        dimension, equals, path = (part.strip() for part in text.partition("="))
        if not (dimension and equals and path):
            raise ParameterError(f"--hierarchy must have the form dimension=file.hrc. Got {text}.")
        if dimension in groups:
            raise ParameterError(f"--hierarchy must be given once for {dimension}.")
        groups[dimension] = read_hrc(path)
    for text in group:
        head, equals, tail = text.partition("=")
        dimension, colon, name = head.partition(":")
        members = [member.strip() for member in tail.split("|")]
        if not (equals and colon and dimension.strip() and name.strip() and all(members)):
            raise ParameterError(f"--group must have the form dimension:sum=a|b. Got {text}.")
        named = groups.setdefault(dimension.strip(), {})
        if name.strip() in named:
            raise ParameterError(f"--group must name '{name.strip()}' once.")
        named[name.strip()] = members
    return groups


def names_of(texts: list[str]) -> list[list[str]]:
    """Return dimensions separated by commas, once for each time the option was given."""
    return [[name.strip() for name in text.split(",") if name.strip()] for text in texts]


def read(
    path: Path,
    by: list[str],
    value: str | None,
    holding: str | None,
    groups: dict[str, dict[str, list[str]]],
) -> CellTable | Records:
    """Return a table of cells, or records where --by says which columns to tabulate."""
    from discreet.desk.cells import read_cells, read_records

    if not by:
        if value is not None or holding is not None:
            raise ParameterError("--value and --holding are for records: say --by what as well.")
        return read_cells(path, groups)
    dimensions = list(dict.fromkeys(name for table in names_of(by) for name in table))
    return read_records(path, dimensions, value, holding, groups)


def rules_of(
    cells: CellTable,
    minimum: int | None,
    p: float | None,
    pq: str | None,
    dominance: str | None,
    percent: float = 10.0,
) -> list[Rule]:
    """Return the rules that were asked for, and what the file says; for counts at least 3."""
    from discreet.desk.sensitivity import Dominance, Given, PriorPosterior, Threshold

    rules: list[Rule] = []
    if minimum is not None:
        rules.append(Threshold(minimum, percent))
    if p is not None:
        rules.append(PriorPosterior(p))
    if pq is not None:
        rules.append(PriorPosterior(*_pair("--pq", pq, "P,Q")))
    if dominance is not None:
        n, k = _pair("--dominance", dominance, "N,K")
        if not n.is_integer():
            raise ParameterError(f"--dominance must have a whole number N. Got {dominance}.")
        rules.append(Dominance(int(n), k))
    if any(said is not None for said in (cells.sensitive, cells.lower, cells.upper)):
        rules.append(Given(percent))
    if not rules and cells.counts:
        rules.append(Threshold(3, percent))
    if not rules:
        raise ParameterError(
            "a table of values needs a rule: --minimum, --p, --pq, --dominance, or a column "
            "sensitive, lower or upper in the file."
        )
    return rules


def _pair(option: str, text: str, form: str) -> tuple[float, float]:
    try:
        first, second = (float(part) for part in text.split(","))
    except ValueError:
        raise ParameterError(f"{option} must be two numbers, {form}. Got {text}.") from None
    return first, second
