"""`discreet info`."""

from __future__ import annotations

from typing import Annotated

import typer

from discreet.cli.options import StoreFolder, reporting


@reporting
def command(
    store: StoreFolder,
    variable: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="List the categories of a variable or level."),
    ] = None,
    verify: Annotated[
        bool,
        typer.Option("--verify", help="Read everything, and compare every file with its checksum."),
    ] = False,
) -> None:
    """Show what is in a store: variables, levels, categories, versions.

    For the custodian: it prints the number of records.
    """
    from rich.console import Console
    from rich.table import Table

    from discreet.federation.store import pins_of
    from discreet.policy import parse_policy
    from discreet.population import Store
    from discreet.population.sealed import unsealed

    held = Store(store)
    version = held.open()
    unsealed(held, version)
    schema = version.schema
    console = Console(highlight=False, soft_wrap=False)
    if verify:
        from discreet.service.verifying import verify_store

        for other in verify_store(store):
            console.print(f"Not read: version {other} has another format.")
        console.print("Every file has its checksum.")
    if variable is not None:
        _, level = schema.find(*variable.split("@", 1))
        table = Table("Code", "Label", box=None, pad_edge=False, title=level.label)
        for code, label in zip(level.codes, level.labels, strict=True):
            table.add_row(code, label)
        console.print(table)
        return
    console.print(f"[bold]{schema.title}[/bold] ({schema.id})")
    kind = "cells of a hypercube" if version.manifest["hypercube"] else schema.unit
    pins = pins_of(version)
    number = version.rows if pins is None else version.people
    console.print(f"{number:,} {kind}, built {version.manifest['created']}")
    if pins is not None:
        for site in pins.sites:
            console.print(f"At {pins.document.member(site).label}: {pins.versions[site]}")
    if version.elsewhere is not None:
        at = f" at {version.elsewhere.remote}" if version.elsewhere.remote else ""
        console.print(f"Counted by {version.elsewhere.kind}{at}")
        console.print(f"Coded records: {version.elsewhere.coded}", soft_wrap=True)
    versions = ", ".join(f"{v} (current)" if v == version.id else v for v in held.list())
    console.print(f"Versions: {versions}")
    policy = parse_policy(version.policy_values, "policy", str(version.path))
    console.print(f"Policy: {policy.title} (version {policy.version})")
    for accepted in version.manifest["accepted_differencing"]:
        console.print(
            f"Accepted: '{accepted['grouping']}' can be subtracted from '{accepted['against']}'."
        )
    table = Table("Id", "Label", "Categories", box=None, pad_edge=False)
    table.columns[2].justify = "right"
    for v in schema.variables:
        for level in v.levels:
            nested = level is not v.finest
            table.add_row(f"  {level.id}" if nested else level.id, level.label, f"{len(level):,}")
    console.print()
    console.print(table)
    console.print(f"\nCategories of one: discreet info {store} --variable {v.finest.id}")
