"""Redesign: the least coarsening of a table that passes a rule, and why it is that one."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from discreet.desk.arguments import checked
from discreet.extras import with_extra

if TYPE_CHECKING:
    from discreet.desk.cells.given import Hierarchies
    from discreet.desk.redesign.report import RedesignReport
    from discreet.progress import Tell
    from discreet.table.source import Given


class Cost(StrEnum):
    """What a merge costs, in nats: −log of what is left.

    Cells: Σ w·log(categories before / after), so that with equal weights the design with the
    most cells is the cheapest. Information: Σ w·(entropy of the dimension before − after), so
    that merging rare categories costs little.
    """

    CELLS = "cells"
    INFORMATION = "information"


class Steps(StrEnum):
    """What moves at once along a hierarchy."""

    LEVELS = "levels"  # all codes of a level
    SUBTREES = "subtrees"  # any branch by itself


@with_extra()
@checked
def redesign(
    table: Given,
    rule: Any,
    *,
    hierarchy: Hierarchies | None = None,
    ordered: Collection[str] = (),
    steps: Steps | str = Steps.SUBTREES,
    cost: Cost | str = Cost.CELLS,
    weights: Mapping[str, float] | None = None,
    keep: Collection[str] = (),
    fixed: Collection[str] = (),
    monotone: bool = False,
    most: int | None = None,
    absent_zero: bool = False,
    tell: Tell | None = None,
) -> RedesignReport:
    """Return the least coarsening of a table that passes a rule; raise where none was found.

    `table` is a CSV file or a data frame. `rule` is a text such as "smallest=3", "small=0.1",
    "zeros=0.5", "mean=5", "risk=0.15" or "tablebuilder"; of a table of values "p=10", "pq=10,50",
    "dominance=2,80" or "minimum=3"; or a function of counts and dimensions that returns True,
    False or a `Finding`. Several rules in a list must all pass. A dimension is merged along its
    `hierarchy`, by runs of neighbours where it is `ordered`, and else only dropped; one in `keep`
    is never dropped, one in `fixed` never changed.
    """
    from discreet.desk.cells.given import groups_of
    from discreet.desk.redesign.method import least_coarsening
    from discreet.desk.redesign.report import RedesignReport, refuse_none
    from discreet.desk.redesign.rules import criterion
    from discreet.desk.redesign.tables import read_design
    from discreet.table.source import read_source

    source = read_source(table)
    given = read_design(source, groups_of(hierarchy), absent_zero)
    passes = criterion(rule, given.cells)
    found = least_coarsening(
        given, given.groups, passes, ordered=ordered, steps=steps, cost=cost, weights=weights,
        keep=keep, fixed=fixed, monotone=monotone, most=most, tell=tell,
    )  # fmt: skip
    design = refuse_none(found)
    return RedesignReport(source.name, given, found, design, str(passes), str(cost))
