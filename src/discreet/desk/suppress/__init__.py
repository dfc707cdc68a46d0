"""Cell suppression: sensitive figures are withheld, and others so that nobody works them out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.extras import with_extra

if TYPE_CHECKING:
    from discreet.desk.cells.given import Hierarchies
    from discreet.desk.suppress.report import SuppressReport
    from discreet.progress import Tell
    from discreet.table.source import Given


class Objective(StrEnum):
    """What withholding a cell costs: each the same, its value, or the logarithm of its value."""

    NUMBER = "number"
    VALUE = "value"
    INFORMATION = "information"


class Zeros(StrEnum):
    """Whether cells of 0 are always published or may be withheld."""

    PUBLISHED = "published"
    WITHHELD = "withheld"


@with_extra()
def suppress(
    table: Given | Sequence[Given] | Mapping[str, Given],
    rule: Any = None,
    *,
    by: Sequence[str] | Sequence[Sequence[str]] | None = None,
    value: str | None = None,
    holding: str | None = None,
    hierarchy: Hierarchies | None = None,
    history: str | PathLike[str] | None = None,
    width: float | None = None,
    objective: Objective | str = Objective.INFORMATION,
    zeros: Zeros | str = Zeros.PUBLISHED,
    singletons: bool = True,
    exact: bool = False,
    seconds: float | None = None,
    effort: float = 1.0,
    tell: Tell | None = None,
) -> SuppressReport:
    """Return which cells of a table to withhold; raise where a cell cannot be protected.

    `table` is a CSV file or a data frame; several, in a list or by name, are linked. With `by` it
    holds records to tabulate: names of columns, or several lists of them for linked tables. `rule`
    says which cells are sensitive: "p=10", "pq=10,50", "dominance=2,80", "minimum=3" or a list of
    such rules; counts are sensitive below 3 by default. `history` is a file of τ-ARGUS (.hst) with
    what is known of cells beforehand.
    """
    from discreet.checks import chosen
    from discreet.desk.sensitivity import rules_of
    from discreet.desk.suppress.method import Suppression
    from discreet.desk.suppress.report import SuppressReport, read_linked

    read = read_linked(table, by, value, holding, hierarchy)
    if history is not None:
        read = read.with_history(Path(history))
    method = Suppression(
        tuple(rules_of(read.cells[0], rule)),
        width,
        chosen("objective", Objective, objective),
        chosen("zeros", Zeros, zeros) is Zeros.PUBLISHED,
        singletons,
        exact,
        effort,
        seconds,
    )
    results = method.apply_linked(read.cells, read.contributions, tell)
    return SuppressReport(dict(zip(read.names, results, strict=True)))
