"""Cell suppression: sensitive figures are withheld, and others so that nobody works them out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.desk.arguments import checked
from discreet.extras import with_extra

if TYPE_CHECKING:
    from discreet.desk.cells.given import Hierarchies
    from discreet.desk.suppress.jj import JJSuppressReport
    from discreet.desk.suppress.method import Suppression
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
@checked
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
    objective: Objective | str | None = None,
    zeros: Zeros | str = Zeros.PUBLISHED,
    singletons: bool = True,
    exact: bool = False,
    seconds: float | None = None,
    effort: float = 1.0,
    problem: str | PathLike[str] | None = None,
    tell: Tell | None = None,
) -> SuppressReport | JJSuppressReport:
    """Return which cells of a table to withhold; raise where a cell cannot be protected.

    `table` is a CSV file or a data frame; several, in a list or by name, are linked. With `by` it
    holds records to tabulate: names of columns, or several lists of them for linked tables. `rule`
    says which cells are sensitive: "p=10", "pq=10,50", "dominance=2,80", "minimum=3" or a list of
    such rules; counts are sensitive below 3 by default. `history` is a file of τ-ARGUS (.hst) with
    what is known of cells beforehand. `objective` is "information" by default. To `problem`, a name
    that ends in .jj, the true table is written for other solvers before the search begins.

    A file whose name ends in .jj says itself which cells are sensitive, which are kept and what
    each costs.
    """
    from dataclasses import replace

    from discreet.checks import chosen
    from discreet.desk.sensitivity import rules_of
    from discreet.desk.suppress.endings import ending
    from discreet.desk.suppress.jj import jj_of
    from discreet.desk.suppress.method import Suppression
    from discreet.desk.suppress.report import SuppressReport, read_linked
    from discreet.table.jj import write_jj

    small = None if objective is None else chosen("objective", Objective, objective)
    method = Suppression(
        width=width,
        objective=small or Objective.INFORMATION,
        zeros_published=chosen("zeros", Zeros, zeros) is Zeros.PUBLISHED,
        singletons=singletons,
        exact=exact,
        effort=effort,
        seconds=seconds,
    )
    if problem is not None:
        ending("problem", Path(problem), (".jj",))
    file = _jj_file(table)
    if file is not None:
        asked = {
            "rule": rule, "by": by, "value": value, "holding": holding, "hierarchy": hierarchy,
            "history": history, "width": width, "zeros": not method.zeros_published,
            "problem": problem,
        }  # fmt: skip
        return _suppress_jj(file, asked, method, small, tell)
    read = read_linked(table, by, value, holding, hierarchy)
    if history is not None:
        read = read.with_history(Path(history))
    method = replace(method, rules=tuple(rules_of(read.cells[0], rule)))
    if problem is not None:
        system, _, stated = method.stated(read.cells)
        write_jj(jj_of(system, stated), Path(problem))
    results = method.apply_linked(read.cells, read.contributions, tell)
    return SuppressReport(dict(zip(read.names, results, strict=True)))


def _jj_file(table: Any) -> Path | None:
    """Return the JJ file that was given, if one was; raise where others were given with it."""
    from discreet.desk.cells.given import several
    from discreet.errors import ParameterError

    given = list(table.values()) if isinstance(table, Mapping) else several(table)
    files = [Path(one) for one in given if isinstance(one, str | Path)]
    found = [file for file in files if file.suffix.lower() == ".jj"]
    if found and len(given) > 1:
        raise ParameterError("a JJ file has all linked tables: give it alone.")
    return found[0] if found else None


def _suppress_jj(
    path: Path,
    asked: dict[str, Any],
    method: Suppression,
    objective: Objective | None,
    tell: Tell | None,
) -> JJSuppressReport:
    """Return what is withheld of a JJ file; raise where it says itself what was asked for."""
    from discreet.desk.suppress.jj import suppress_jj
    from discreet.errors import ParameterError
    from discreet.table.jj import read_jj

    given = [name for name, one in asked.items() if one]
    if given:
        raise ParameterError(
            f"{' and '.join(given)} cannot be given with a JJ file: it says which cells are "
            "sensitive, which are kept, and how they add up."
        )
    return suppress_jj(
        read_jj(path), path.name, objective, method.exact, method.effort, method.seconds, tell
    )
