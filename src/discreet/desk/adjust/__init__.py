"""Controlled tabular adjustment: sensitive figures moved to safety, everything still adds up."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.desk.arguments import checked
from discreet.extras import with_extra

if TYPE_CHECKING:
    from discreet.desk.adjust.jj import JJReport
    from discreet.desk.adjust.method import ControlledAdjustment
    from discreet.desk.adjust.records.report import RecordsReport
    from discreet.desk.adjust.report import AdjustReport
    from discreet.desk.cells.given import Hierarchies
    from discreet.progress import Tell
    from discreet.protect.keys import Secret
    from discreet.table.source import Given


# Figures rounded to more than this would be hardly any.
MOST_COARSE = 50.0


class Norm(StrEnum):
    """What is made least over all cells."""

    L1 = "l1"
    """the sum of weighted absolute changes"""
    L2 = "l2"
    """the sum of weighted squared changes"""


class Weight(StrEnum):
    """What a change of a cell counts."""

    VALUE = "value"
    """in proportion to the cell: 1/value"""
    ONE = "one"
    """by itself"""


@with_extra()
@checked
def adjust(
    table: Given,
    rule: Any = None,
    *,
    by: Sequence[str] | Sequence[Sequence[str]] | None = None,
    value: str | None = None,
    holding: str | None = None,
    hierarchy: Hierarchies | None = None,
    percent: float | None = None,
    norm: Norm | str = Norm.L1,
    weight: Weight | str = Weight.VALUE,
    margins: float = 1.0,
    capacity: float = 100.0,
    fix: Sequence[Sequence[str]] = (),
    above: float | None = None,
    spread: float = 0.0,
    audit: bool = False,
    withhold: bool = False,
    beyond: float | None = None,
    coarse: float | None = None,
    secret: Secret | None = None,
    seed: int | None = None,
    tell: Tell | None = None,
) -> AdjustReport | JJReport:
    """Return a table whose sensitive figures are moved to safety, the others little.

    `table` is a CSV file or a data frame; with `by` it holds records to tabulate: names of columns,
    or several lists of them for linked tables. `rule` says which cells are sensitive: "p=10",
    "pq=10,50", "dominance=2,80", "minimum=3" or a list of such rules; counts are sensitive below 3
    by default. `percent` is the protection where neither rule nor file says an amount (else 10),
    `capacity` the largest change of other cells in percent. Totals by the dimensions in `fix`
    stay; no dimensions mean the grand total. With `audit` the report says what one who
    knows the method can prove. With `withhold` cells that cannot be protected are left empty, with
    `beyond` those too that would change by more than so many percent; and others, so that nobody
    computes them. Figures that would change by more than `coarse` percent are shown rounded. A file
    whose name ends in .jj says itself which cells are sensitive and which are kept.
    """
    from dataclasses import replace

    from discreet.desk.adjust.audit import exposed
    from discreet.desk.adjust.complements import withheld
    from discreet.desk.adjust.method import ControlledAdjustment, kept_totals, of_tables
    from discreet.desk.adjust.report import AdjustReport
    from discreet.desk.cells.given import groups_of, read_either, tables_of
    from discreet.desk.sensitivity import PERCENT, check_percent, rules_of
    from discreet.desk.suppress.insiders import Contributions
    from discreet.errors import ParameterError
    from discreet.protect.keys import generator
    from discreet.table.source import read_source

    method = ControlledAdjustment.of(norm, weight, margins, capacity, above, spread)
    if isinstance(table, str | Path) and Path(table).suffix.lower() == ".jj":
        asked = {
            "rule": rule, "by": by, "value": value, "holding": holding, "hierarchy": hierarchy,
            "percent": percent, "fix": fix, "audit": audit, "withhold": withhold, "beyond": beyond,
            "coarse": coarse, "above": above,
        }  # fmt: skip
        return _adjust_jj(Path(table), method, asked, secret, seed, tell)
    if beyond is not None and not beyond > 0:
        raise ParameterError(f"beyond must be a percentage above 0. Got {beyond:g}.")
    if coarse is not None and not 0 < coarse <= MOST_COARSE:
        raise ParameterError(
            f"coarse must be a percentage above 0, at most {MOST_COARSE:g}. Got {coarse:g}."
        )
    if beyond is not None and coarse is not None and not coarse < beyond:
        raise ParameterError(
            "coarse must be below beyond: figures that change by more are left empty. "
            f"Got {coarse:g} and {beyond:g}."
        )
    source, tables = read_source(table), tables_of(by)
    cells, records = read_either(source, tables, value, holding, groups_of(hierarchy))
    rules = rules_of(cells, rule, PERCENT if percent is None else percent)
    check_percent(percent, cells, rules)
    fixed = kept_totals(cells, fix, tables)
    published = of_tables(cells, tables) if tables else None
    rng = generator(cells.identity, f"adjust {method} {rules}", {}, secret, seed)
    method = replace(method, coarse=None if coarse is None else coarse / 100)
    result = method.adjust(cells, rules, rng, fixed, published, tell)
    exposure = exposed(result, rules, method.capacity, fixed, tell) if audit else None
    share = None if beyond is None else beyond / 100
    held = None
    if withhold or beyond is not None:
        # Of counts, the table says as much as the records.
        lines = None if records is None or cells.counts else Contributions.of_records(records)
        held = withheld(result, rules, share, lines, tell)
    return AdjustReport(source.name, result, above, exposure, held)


def _adjust_jj(
    path: Path,
    method: ControlledAdjustment,
    asked: dict[str, Any],
    secret: Secret | None,
    seed: int | None,
    tell: Tell | None,
) -> JJReport:
    """Return the adjusted cells of a JJ file; raise where it says itself what was asked for."""
    from discreet.desk.adjust.jj import adjust_jj
    from discreet.errors import ParameterError
    from discreet.protect.keys import generator
    from discreet.table.jj import read_jj

    # A number is given even if it is 0.
    given = [name for name, one in asked.items() if one or (one == 0 and one is not False)]
    given += ["spread"] if method.spread else []
    given += ["margins"] if method.margins != 1 else []
    if given:
        raise ParameterError(
            f"{' and '.join(given)} cannot be given with a JJ file: it says which cells are "
            "sensitive, which are kept, and how they add up."
        )
    table = read_jj(path)
    rng = generator((table.values.tolist(),), f"adjust {method}", {}, secret, seed)
    return adjust_jj(
        table, path.name, method.norm, method.weight, method.capacity, int(rng.integers(2**62)),
        tell,
    )  # fmt: skip


@with_extra()
@checked
def adjust_records(
    table: Given,
    rule: Any,
    *,
    by: Sequence[str] | Sequence[Sequence[str]],
    value: str,
    order: int | None = None,
    holding: str | None = None,
    hierarchy: Hierarchies | None = None,
    percent: float | None = None,
    withhold: bool = False,
    secret: Secret | None = None,
    seed: int | None = None,
    tell: Tell | None = None,
) -> RecordsReport:
    """Return records adjusted so that all tables of up to `order` dimensions are safe.

    For more cells than fit in a table: sums of `value`, by the columns of `by`; several lists of
    columns are linked tables, and only they are published, with their margins. `rule` is p of the
    p% rule, or any rule as for `adjust`. With `withhold` cells that are short of their protection
    are listed, with others, so that nobody computes them. The tables made of the records may be
    published, the records may not.
    """
    from itertools import combinations

    from discreet.desk.adjust import records as solver
    from discreet.desk.adjust.records.report import RecordsReport
    from discreet.desk.adjust.records.withheld import with_complements
    from discreet.desk.cells import read_records
    from discreet.desk.cells.given import groups_of, tables_of
    from discreet.desk.sensitivity import PERCENT, check_percent, record_rules
    from discreet.protect.keys import generator
    from discreet.table.decimals import decimals_of
    from discreet.table.source import read_source

    rules = record_rules(rule, PERCENT if percent is None else percent)
    check_percent(percent, None, rules)
    source, tables = read_source(table), tables_of(by)
    names = list(dict.fromkeys(name for names in tables for name in names))
    given = read_records(source, names, value, holding, groups_of(hierarchy))
    records, place = given.canonical()
    chosen = None
    if len(tables) > 1:
        places = [sorted(records.variables.index(name) for name in names) for names in tables]
        chosen = [
            kept
            for names in places
            for kept in combinations(names, min(len(names), len(names) if order is None else order))
        ]
    identity = (records.variables, records.codes, records.at.tolist(), records.amounts.tolist())
    words = {"order": str(order)} | ({} if chosen is None else {"tables": str(sorted(chosen))})
    rng = generator(identity, "adjust records", words, secret, seed)
    rows = solver.cell_rows(
        records.at, records.hierarchies, records.amounts, order, records.units, tell, chosen
    )
    needs = solver.needs_of(rows, rules)
    found = solver.adjust_records(
        rows, needs, rng, tell=tell, decimals=decimals_of(records.amounts, 6)
    )
    short = None
    if withhold and found.short.any():
        short = with_complements(records, found, order, chosen, rules, tell)
    return RecordsReport(source, value, order, records, place, found, short, tables=chosen)
