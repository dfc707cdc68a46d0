"""`discreet ledger`."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterable
from dataclasses import asdict
from itertools import islice
from textwrap import fill
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from discreet.cli.options import AsJson, StoreFolder, TierName, Where, reporting

if TYPE_CHECKING:
    from discreet.ledger import Entry, Ledger, Look, Outlook
    from discreet.policy import Tier
    from discreet.query import QuestionClass
    from discreet.service.opened import Opened

_MOST = 40
"""Lines of a list on the terminal."""


@reporting
def command(
    store: StoreFolder,
    by: Annotated[
        str | None,
        typer.Option(metavar="NAMES", help="Say what a table by these variables would use."),
    ] = None,
    where: Where = None,
    tier: TierName = None,
    as_json: AsJson = False,
    new: Annotated[
        bool,
        typer.Option("--new", help="If it is lost, make it anew of what is recorded."),
    ] = False,
) -> None:
    """Show which tables are released, and which detail is used up.

    Fine detail may be in a few released tables only. The ledger says which
    tables show it already, and with --by what a new one would use. It holds no
    figures, and nothing about who asked.
    """
    from discreet.errors import ParameterError, QueryRefused
    from discreet.population import state
    from discreet.rules import Code
    from discreet.service.opened import open_store

    if where is not None and by is None:
        raise ParameterError("--where is of a table: give --by as well.")
    if new and not os.environ.get(state.SETTING):
        state.make(store)
    opened = open_store(store, new=new)
    chosen = opened.policy.tier(tier)
    kept = opened.releaser.ledgers.of(chosen)
    if by is not None:
        asked = _class(opened, by, where)
        if asked.cells > kept.space.rules.max_table:
            raise QueryRefused(Code.TOO_LARGE, Code.TOO_LARGE.sentence)
        outlook = kept.outlook(asked)
        if as_json:
            typer.echo(json.dumps(_outlook_json(asked, outlook), indent=1))
        else:
            _print_outlook(asked, outlook)
        return
    entries, looks = kept.entries(), kept.looks()
    if as_json:
        typer.echo(json.dumps(_json(opened, chosen, kept, entries, looks), indent=1))
    else:
        _print(opened, chosen, kept, entries, looks)


def _class(opened: Opened, by: str, where: str | None) -> QuestionClass:
    from discreet.query import Query, Question, QuestionClass

    return QuestionClass.of(Question.of(Query.parse(by, where), opened.schema))


# What is released


def _print(
    opened: Opened,
    tier: Tier,
    kept: Ledger,
    entries: list[Entry],
    looks: list[Look],
) -> None:
    say(f"{opened.schema.title} ({opened.id}), {tier.label}")
    say(_rule(kept))
    tables = [entry for entry in entries if not entry.route.summed]
    if not entries:
        say("Nothing is released yet.")
    if tables:
        rows = (
            (e.route.asked.name, f"{e.route.asked.cells:,}", e.route.status, e.origin, str(e.since))
            for e in tables
        )
        print_list(("Table", ">Cells", "Status", "Why", "Since"), rows, len(tables))
    sums = [entry.route for entry in entries if entry.route.summed]
    if sums:
        pairs = ((route.asked.name, route.source.name) for route in sums)
        print_list(("Answered by sums", "of the table"), pairs, len(sums))
    here = {entry.route.source for entry in entries}
    others = [one for one in kept.tables() if one not in here]
    if others:
        cells = ((one.name, f"{one.cells:,}") for one in others)
        print_list(("Of other editions, or joint with other offices", ">Cells"), cells, len(others))
    _print_looks(looks)


def _rule(kept: Ledger) -> str:
    rules, people = kept.space.rules, kept.space.population
    if not rules.guards:
        return "The policy guards nothing: any number of tables may show any detail."
    most = people // rules.guard_below
    looks = "one table" if rules.looks == 1 else f"{rules.looks} tables"
    return (
        f"Detail of more than {most:,} cells, fewer than {rules.guard_below:,} of {people:,} "
        f"people in each, may be in {looks}."
    )


def _print_looks(looks: list[Look]) -> None:
    used_up = [look for look in looks if not look.left]
    if used_up:
        rows = ((look.of.name, f"{look.used} of {look.limit}") for look in used_up)
        print_list(("Used up", "In tables"), rows, len(used_up))
        say("No new table may show one of these; sums of the tables above may.")
    left = len(looks) - len(used_up)
    if left:
        details = "detail is" if left == 1 else "details are"
        say(f"{left:,} {details} in some table, and may be in more.")


def say(text: str) -> None:
    """Print a sentence, its lines as wide as the terminal."""
    typer.echo(fill(text, _width()))


def print_list(heads: Iterable[str], rows: Iterable[Any], count: int) -> None:
    """Print the first of some rows under their heads, a number under a head that begins with >."""
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for head in heads:
        right = head.startswith(">")
        justify: Literal["left", "right"] = "right" if right else "left"
        table.add_column(head.removeprefix(">"), justify=justify, overflow="fold", no_wrap=right)
    for row in islice(rows, _MOST):
        table.add_row(*row)
    console = Console(highlight=False, markup=False, width=_width(), color_system=None)
    with console.capture() as printed:
        console.print(table)
    typer.echo()
    for line in printed.get().splitlines():
        typer.echo(line.rstrip())
    if count > _MOST:
        typer.echo(f"… and {count - _MOST:,} more.")


def _width() -> int:
    return shutil.get_terminal_size((80, 24)).columns


def _json(
    opened: Opened, tier: Tier, kept: Ledger, entries: list[Entry], looks: list[Look]
) -> dict[str, Any]:
    return {
        "dataset": opened.id,
        "tier": tier.id,
        "population": kept.space.population,
        "guard_below": kept.space.rules.guard_below,
        "looks": kept.space.rules.looks,
        "tables": [
            _table(entry.route.asked) | {"status": entry.route.status} | _when(entry)
            for entry in entries
            if not entry.route.summed
        ],
        "sums": [
            _table(entry.route.asked) | {"source": entry.route.source.name} | _when(entry)
            for entry in entries
            if entry.route.summed
        ],
        "details": [_table(look.of) | _look(look) for look in looks],
    }


def _table(c: QuestionClass) -> dict[str, Any]:
    return {"name": c.name, "cells": c.cells}


def _when(entry: Entry) -> dict[str, Any]:
    return {"origin": entry.origin, "since": entry.since.isoformat()}


def _look(look: Look) -> dict[str, Any]:
    return {"used": look.used, "limit": look.limit}


# What a table would use


def _print_outlook(asked: QuestionClass, outlook: Outlook) -> None:
    say(f"{asked.name}: the complete table has {asked.cells:,} cells.")
    say(_sentence(outlook))
    detail = outlook.detail
    if detail is None:
        return
    say(
        f"Of the detail in it, '{detail.of.name}' has the fewest looks left: "
        f"{detail.left} of {detail.limit}."
    )
    if outlook.tables:
        rows = ((t.name, f"{t.cells:,}", t.status, t.origin, str(t.since)) for t in outlook.tables)
        heads = ("Used by", ">Cells", "Status", "Why", "Since")
        print_list(heads, rows, len(outlook.tables))


def _sentence(outlook: Outlook) -> str:
    from discreet.ledger import State

    source = "" if outlook.source is None else outlook.source.name
    return {
        State.RELEASED: f"It is released, since {outlook.since}.",
        State.SUMS: f"Questions are answered by sums of '{source}', which is released.",
        State.LOOK: "It would be a new table, and use a look at all of its detail.",
        State.FREE: "It may be released, and uses nothing.",
        State.USED: "It is refused: detail in it is used up, and no released table covers it.",
        State.REFUSED: "It was made, and is not available.",
    }[outlook.state]


def _outlook_json(asked: QuestionClass, outlook: Outlook) -> dict[str, Any]:
    detail = outlook.detail
    return {
        **_table(asked),
        "state": outlook.state,
        "source": None if outlook.source is None else outlook.source.name,
        "since": None if outlook.since is None else outlook.since.isoformat(),
        "detail": None if detail is None else _table(detail.of) | _look(detail),
        "tables": [asdict(table) | {"since": table.since.isoformat()} for table in outlook.tables],
    }
