"""Options that several commands have, read and checked in one place."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from functools import wraps
from inspect import Parameter, signature
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from discreet.errors import ParameterError
from discreet.files import written

if TYPE_CHECKING:
    from discreet.desk.report import Report

Groups = dict[str, dict[str, list[str]]]
"""Dimension → group → codes. Those of files are lists of codes, which `--group` may add to."""

StoreFolder = Annotated[Path, typer.Argument(metavar="STORE", show_default=False)]
By = Annotated[
    str, typer.Option(metavar="NAMES", help="Variables or levels, up to 6: age_band,sex")
]
Where = Annotated[
    str | None, typer.Option(metavar="FILTERS", help="Who is counted: sex=2,la=E01|E02")
]
TierName = Annotated[
    str | None,
    typer.Option(
        "--tier", metavar="TIER", help="The kind of user.  [default: public]", show_default=False
    ),
]
SecretFile = Annotated[
    Path | None,
    typer.Option(
        help="File of at least 16 bytes. The same table then always gets the same answer."
    ),
]
Seed = Annotated[
    int | None, typer.Option(help="Repeatable draws for studies; whoever guesses it undoes them.")
]
AbsentZero = Annotated[
    bool, typer.Option("--absent-zero", help="Rows that a long file leaves out are zeros.")
]
SumsAreCells = Annotated[
    bool,
    typer.Option(
        "--sums-are-cells", help="A category that is the sum of the others is no total: keep it."
    ),
]
RecordsBy = Annotated[
    list[str] | None,
    typer.Option(
        metavar="A,B",
        help="The file holds records: tabulate these columns. Repeated: linked tables.",
    ),
]
Value = Annotated[
    str | None, typer.Option(metavar="COLUMN", help="With --by: sum this column; else count.")
]
Holding = Annotated[
    str | None,
    typer.Option(metavar="COLUMN", help="With --by: records equal here are one contributor."),
]
HierarchyFiles = Annotated[
    list[str] | None,
    typer.Option(
        metavar="DIM=FILE.hrc", help="Codes of a dimension in levels, @ by @. May be repeated."
    ),
]
Group = Annotated[
    list[str] | None,
    typer.Option(
        metavar="DIM:SUM=A|B",
        help="The code SUM of a dimension is the sum of the codes A and B. May be repeated.",
    ),
]
Minimum = Annotated[
    int | None,
    typer.Option(help="Sensitive: fewer than this many contributors. Counts: 3 by default."),
]
P = Annotated[float | None, typer.Option("--p", metavar="P", help="Sensitive by the p% rule.")]
PQ = Annotated[str | None, typer.Option("--pq", metavar="P,Q", help="Sensitive by the pq rule.")]
Dominance = Annotated[
    str | None,
    typer.Option(metavar="N,K", help="Sensitive: the N largest have more than K percent."),
]
ShowCodes = Annotated[
    bool, typer.Option("--codes", help="Print codes and the names of levels instead of labels.")
]
Force = Annotated[bool, typer.Option("--force", help="Write over files that are there already.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print the report as JSON.")]
ReportFile = Annotated[
    Path | None,
    typer.Option("--out", "-o", metavar="FILE", help="Write this to a file instead."),
]


def reporting(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command with --out, which takes what it would print, and --force."""

    @wraps(command)
    def reported(*given: Any, out: Path | None, force: bool, **named: Any) -> None:
        with printed(out, force):
            command(*given, **named)

    kinds = get_type_hints(command, include_extras=True) | {"out": ReportFile, "force": Force}
    known = signature(command)
    taken = [one.replace(annotation=kinds[name]) for name, one in known.parameters.items()]
    taken += [
        Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=kinds[name])
        for name, default in (("out", None), ("force", False))
    ]
    reported.__signature__ = known.replace(parameters=taken)  # type: ignore[attr-defined]
    reported.__annotations__ = kinds
    return reported


@contextmanager
def printed(out: Path | None, force: bool) -> Iterator[None]:
    """Let what is printed be written to a new file, which its owner alone can read."""
    if out is None:
        yield
        return
    check_new(out, force)
    text = StringIO()
    try:
        with redirect_stdout(text):
            yield
    except typer.Exit:
        _keep(out, text)
        raise
    _keep(out, text)


def _keep(out: Path, text: StringIO) -> None:
    with written(out) as file:
        file.write(text.getvalue().encode())


def say_private(*paths: Path | None) -> None:
    """Say of files that are not for publication that nobody else can read them."""
    given = [path.name for path in paths if path is not None and path.is_file()]
    if given:
        typer.echo(f"Note: {', '.join(given)}: for you alone (mode 600).", err=True)


def method_names(incomplete: str) -> list[str]:
    """Return the methods whose names begin so, for the completion of shells."""
    from discreet.protect.registry import methods

    return [name for name in methods() if name.startswith(incomplete)]


def check_out(out: Path, table: Path, force: bool, option: str = "--out") -> None:
    """Raise if the file to write has no folder, is the table itself, or is there already."""
    if out.exists() and out.resolve() == table.resolve():
        raise ParameterError(f"{option} must be another file than the table.")
    check_new(out, force, option)


def check_new(out: Path, force: bool, option: str = "--out") -> None:
    """Raise if a file cannot be written here, or is there already and may not be written over."""
    if not out.parent.is_dir():
        raise ParameterError(f"{option} must be in a folder that exists. Got {out}.")
    if out.is_dir():
        raise ParameterError(f"{option} must be a file. {out} is a folder.")
    if out.exists() and not force:
        raise ParameterError(f"{out} is there already. Give --force to write over it.")


def rules_of(
    minimum: int | None, p: float | None, pq: str | None, dominance: str | None
) -> list[str]:
    """Return the rules that were asked for, in the words of the desk."""
    given = {"minimum": minimum, "p": p, "pq": pq, "dominance": dominance}
    return [f"{name}={value}" for name, value in given.items() if value is not None]


def options_of(given: list[str]) -> dict[str, str]:
    """Return the options of a method, given as name=value each, by name."""
    options = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals or not name.strip():
            raise ParameterError(f"--option must have the form name=value. Got {text}.")
        if name.strip() in options:
            raise ParameterError(f"--option {name.strip()} must be given once.")
        options[name.strip()] = value.strip()
    return options


def names_of(texts: list[str] | None) -> list[list[str]]:
    """Return dimensions separated by commas, once for each time the option was given."""
    return [[name.strip() for name in text.split(",") if name.strip()] for text in texts or []]


def groups_of(hierarchy: list[str] | None, group: list[str] | None = None) -> Groups:
    """Return the sums of codes by dimension, from DIM=FILE.hrc and DIM:SUM=A|B."""
    from discreet.table.hierarchy import read_hrc

    groups: Groups = {}
    for text in hierarchy or []:
        dimension, equals, path = (part.strip() for part in text.partition("="))
        if not (dimension and equals and path):
            raise ParameterError(f"--hierarchy must have the form dimension=file.hrc. Got {text}.")
        if dimension in groups:
            raise ParameterError(f"--hierarchy must be given once for {dimension}.")
        groups[dimension] = read_hrc(path)
    for text in group or []:
        head, equals, tail = text.partition("=")
        dimension, colon, name = (part.strip() for part in head.partition(":"))
        members = [member.strip() for member in tail.split("|")]
        if not (equals and colon and dimension and name and all(members)):
            raise ParameterError(f"--group must have the form dimension:sum=a|b. Got {text}.")
        if name in groups.setdefault(dimension, {}):
            raise ParameterError(f"--group must name '{name}' once.")
        groups[dimension][name] = members
    return groups


def show(report: Report, as_json: bool) -> None:
    """Print a report; end with 130 where its work was stopped."""
    typer.echo(report.to_json() if as_json else str(report))
    if report.stopped:
        raise typer.Exit(130)
