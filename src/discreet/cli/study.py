"""`discreet study`: compares protection methods on one's own tables."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.options import AbsentZero, Force, SumsAreCells, check_new
from discreet.errors import ParameterError

FILES = ("results.csv", "results.parquet", "map.svg", "report.html")
PARTS = ".parts"


def command(
    file: Annotated[
        Path | None,
        typer.Argument(
            metavar="[STUDY.toml]",
            help="A study file; or shlomo2015, shlomo2010, longhurst2007, antal2014: the papers.",
            show_default=False,
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="DIR", help="The folder to write.")
    ] = None,
    quick: Annotated[
        Path | None,
        typer.Option(
            metavar="TABLE.csv",
            help="Eight usual methods at three strengths each, on one table of counts.",
        ),
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(
            metavar="PATH",
            help="Other data than the file names: a store, a description, or a table.",
        ),
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(help="How many processes draw.  [default: all processors]", min=1),
    ] = None,
    seed: Annotated[
        int | None, typer.Option(help="Other draws than those of the study's own seed.", min=0)
    ] = None,
    absent_zero: AbsentZero = False,
    sums_are_cells: SumsAreCells = False,
    force: Force = False,
) -> None:
    """Compare protection methods on your own tables.

    A study file says which tables, which methods with which parameters, and
    how to judge them. DIR gets results.csv, results.parquet, map.svg (risk and
    utility of every setting) and report.html. All mistakes of the file are
    told before anything runs. A study that was stopped goes on where it was.

    The report is for the custodian: its figures come from true counts.
    """
    from dataclasses import replace
    from time import monotonic

    from discreet.cli.progress import shown
    from discreet.extras import with_extra

    with with_extra("build,desk"):
        from discreet.study.collect import collected
        from discreet.study.file import read
        from discreet.study.quick import quick as quick_study
        from discreet.study.run import run, workers_for

    if (file is None) == (quick is None):
        raise ParameterError("give a study file, or --quick and a table.")
    if out is None:
        raise ParameterError("--out must name the folder to write.")
    _check(out, force)
    began = monotonic()
    if quick:
        study = quick_study(quick, absent_zero=absent_zero, sums_are_cells=sums_are_cells)
    else:
        study = read(_found(file or Path()), data)
    if seed is not None:
        study = replace(study, seed=seed)
    parts = out / PARTS
    out.mkdir(mode=0o700, parents=True, exist_ok=True)  # all in it comes from true counts
    parts.mkdir(mode=0o700, exist_ok=True)
    with shown() as tell:
        try:
            found = run(study, parts, workers_for(study) if workers is None else workers, tell)
        except KeyboardInterrupt:
            typer.echo("\nThe same command goes on from here.", err=True)
            raise
    results = collected(study, found, monotonic() - began)
    results.write(out)
    for path in parts.iterdir():
        path.unlink()
    parts.rmdir()
    typer.echo(str(results))
    typer.echo(f"\nWrote {', '.join(FILES)} to {out}.")


def _found(file: Path) -> Path:
    """Return the file, or the study of a paper that is named."""
    from discreet.study.papers import FOLDER, NAMES

    return FOLDER / f"{file}.toml" if str(file) in NAMES and not file.is_file() else file


def _check(out: Path, force: bool) -> None:
    """Refuse a folder with a study in it, unless it may be written over."""
    if out.exists() and not out.is_dir():
        raise ParameterError(f"--out must be a folder. Got the file {out}.")
    if out.is_dir():
        for name in FILES:
            check_new(out / name, force)
