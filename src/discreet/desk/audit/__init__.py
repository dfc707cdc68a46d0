"""Audit: what an intruder can prove about the cells of a published table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.desk.arguments import checked
from discreet.extras import with_extra

if TYPE_CHECKING:
    from discreet.desk.audit.report import AuditReport
    from discreet.desk.cells.given import Hierarchies
    from discreet.progress import Tell
    from discreet.table.source import Given


@with_extra()
@checked
def audit(
    published: Given,
    rule: Any = None,
    *,
    true: Given | None = None,
    rounded: float | None = None,
    random_rounded: float | None = None,
    within: float | None = None,
    hierarchy: Hierarchies | None = None,
    insiders: Sequence[tuple[Mapping[str, str], float]] = (),
    precision: float = 1.0,
    seconds: float | None = None,
    tell: Tell | None = None,
) -> AuditReport:
    """Return the least and the greatest value that every cell without an exact figure can have.

    `published` is a CSV file or a data frame; withheld figures are empty or marked. Figures may
    be `rounded` to a base, `random_rounded` to one, or perturbed `within` a bound. `insiders` know
    a contribution: the codes of a cell and an amount. With the `true` table the report says which
    cells that are sensitive by a `rule` ("p=10", …) are known too closely.
    """
    from discreet.desk.audit.method import Change, Known, prove, sensitive
    from discreet.desk.audit.report import AuditReport
    from discreet.desk.cells.given import groups_of
    from discreet.errors import ParameterError
    from discreet.table.jj import OF_JJ
    from discreet.table.published import read_published
    from discreet.table.source import read_source

    if true is None and rule:
        raise ParameterError("a rule needs the true table (true).")
    if seconds is not None and not seconds >= 0:
        raise ParameterError(f"seconds must be 0 or more. Got {seconds:g}.")
    if isinstance(published, str | Path) and Path(published).suffix.lower() == ".jj":
        raise ParameterError("audit reads tables, and no JJ files: their cells have no codes.")
    source, groups = read_source(published), groups_of(hierarchy)
    if source.header == OF_JJ:
        raise ParameterError(
            f"'{source.name}' has the cells of a JJ file without its equations, so that nothing "
            "can be proved of them. Audit the tables that they come from."
        )
    change = Change.of(rounded, random_rounded, within, precision)
    known = Known.of(read_published(source, groups), change, insiders)
    cells = known.cells(true is not None)
    if not len(cells):
        raise ParameterError(
            f"'{source.name}' publishes every cell exactly: there is nothing to prove. "
            "Say how its figures were changed: rounded, random-rounded or within."
        )
    result = prove(known, seconds, tell)
    held = None if true is None else sensitive(known.table, result, true, groups, rule)
    return AuditReport(source.name, known, result, cells, held)
