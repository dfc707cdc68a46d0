"""`discreet verify`: whether a file is an unaltered release of a store."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from discreet.cli.options import reporting
from discreet.errors import DiscreetError, ParameterError

if TYPE_CHECKING:
    from discreet.release.verify import Verification

MOST_CELLS = 10
"""The most changed cells that are named; the rest are counted."""
T = TypeVar("T")


@reporting
def command(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A file in any of the formats.")],
    store: Annotated[
        Path | None, typer.Option(metavar="STORE", help="The store that should have released it.")
    ] = None,
    key: Annotated[
        Path | None, typer.Option(metavar="FILE.pub", help="Or just its public key, signing.pub.")
    ] = None,
) -> None:
    """Check that a file was released by a store and has not been altered.

    Every figure, label and note is compared with what was signed, and the file
    with what this program would write: what hides or adds anything is altered.
    Rows of data formats may be in any order. What was signed and the format
    does not hold is named. The exit status is 1 if the file is not genuine.
    With --store, altered figures are named. FILE may also be a certificate, or
    the report of attacks in JSON.
    """
    from discreet.release.signature import read_public_key
    from discreet.release.verify import verify
    from discreet.service.certificate import KIND, kind_of

    if (store is None) == (key is None):
        raise ParameterError("either --store or --key must be given, and not both.")
    public = key
    if store is not None:
        public = store / "signing.pub"
        if not public.is_file():
            raise ParameterError(f"{store} must be a store that has signed a file: no {public}.")
    assert public is not None
    kind = kind_of(file)
    if kind is not None:
        (_certificate if kind == KIND else _attacks)(file, read_public_key(public))
        return
    found = verify(file, read_public_key(public))
    typer.echo(f"{file.name} ({found.format}): {found.authenticity.value}")
    for reason in found.reasons:
        typer.echo(f"  {reason}")
    if found.absent:
        typer.echo(f"  signed, but not in this file to be compared: {', '.join(found.absent)}")
    if found.provenance is not None:
        origin = found.provenance
        typer.echo(f"  data set {origin['dataset']}, version {origin['data_version']}")
        typer.echo(f"  policy {origin['policy_version']}, tier {origin['tier']}")
        typer.echo(f"  {origin['question']}, totals {origin['totals']}")
    if store is not None and not found.genuine and found.provenance is not None:
        for line in _changes(store, found):
            typer.echo(f"  {line}")
    if not found.genuine:
        raise typer.Exit(1)


def _genuine(file: Path, kind: str, found: T | None) -> T:
    """Say whether a file is genuine, and return what it says if it is."""
    typer.echo(f"{file.name} ({kind}): {'altered or foreign' if found is None else 'genuine'}")
    if found is None:
        typer.echo("  it was not signed by this key, or was changed since")
        raise typer.Exit(1)
    return found


def _certificate(file: Path, key: bytes) -> None:
    """Say whether a certificate is genuine, and what it says."""
    from discreet.service.certificate import read

    found = _genuine(file, "certificate", read(file, key))
    said = found.statement
    people = "invented people" if found.public else "the office's own people"
    typer.echo(f"  data set {said['dataset']}, edition {said['edition']}, policy {said['policy']}")
    typer.echo(f"  tested on {people}, {said['tested'][:10]}, by Discreet {said['program']}")
    typer.echo(f"  {'passed' if found.passed else 'not passed'}")


def _attacks(file: Path, key: bytes) -> None:
    """Say whether a report of attacks is genuine, and what it says."""
    from discreet.service.certificate import read_report

    said = _genuine(file, "attacks", read_report(file, key))
    typer.echo(f"  {said['title']}, policy {said['policy']}, by Discreet {said['program']}")
    typer.echo(f"  {said['verdict']}")


def _changes(store: Path, verification: Verification) -> list[str]:
    """Return the cells that differ from the release, where the store can make it again."""
    import discreet as dc
    from discreet.release.verify import differences

    assert verification.found is not None
    assert verification.provenance is not None
    try:
        release = dc.open(store).again(verification.provenance)
    except (DiscreetError, OSError):
        release = None
    if release is None:
        return ["the changed cells cannot be named: the store now holds another version"]
    cells = differences(verification.found.table, release.table)
    names = [d.level for d in release.table.dimensions]
    lines = [
        f"{', '.join(map(' '.join, zip(names, place, strict=True)))}: "
        f"{_shown(now)} instead of {_shown(then)}"
        for place, now, then in islice(cells, MOST_CELLS)
    ]
    more = sum(1 for _ in cells)
    return [*lines, f"and {more:,} more cells"] if more else lines


def _shown(value: float | None) -> str:
    return "nothing" if value is None else f"{value:,}"
