"""`discreet protect`: protects any table of counts in a file."""

from __future__ import annotations

from dataclasses import replace
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from discreet.cli.options import (
    AbsentZero,
    Force,
    SecretFile,
    Seed,
    check_out,
    method_names,
    options_of,
)
from discreet.errors import ParameterError, unknown

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from discreet.protect import Method
    from discreet.protect.base import Chance
    from discreet.protect.keyed import CellKeys
    from discreet.table.files import TableFile

    Draws = np.random.Generator | Chance


class Totals(StrEnum):
    """What stands where the file has totals."""

    SUMMED = "summed"
    PROTECTED = "protected"


def command(
    table: Annotated[Path, typer.Argument(help="CSV file of counts, long or wide.")],
    method: Annotated[
        str,
        typer.Option(
            "--method",
            "-m",
            autocompletion=method_names,
            help="random-rounding, conventional-rounding, small-cell-adjustment, "
            "semi-controlled-rounding, controlled-rounding, small-count-rounding, "
            "count-adjustment, stochastic-perturbation, cell-key-perturbation, sampling, "
            "same-margins, or one of an installed package.",
        ),
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="File to write, in the same layout.")],
    option: Annotated[
        list[str] | None,
        typer.Option(help="name=value of the method, such as base=5. May be repeated."),
    ] = None,
    totals: Annotated[
        Totals | None,
        typer.Option(
            help="Totals: sums of the protected cells, or protected themselves. A file without "
            "totals gets them.  [default: summed, where the file has totals]",
            show_default=False,
        ),
    ] = None,
    fit: Annotated[
        list[str] | None,
        typer.Option(
            metavar="A,B",
            help="Protect the totals by these dimensions and fit the cells to them; 'total' is the "
            "grand total. May be repeated.",
        ),
    ] = None,
    keys: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Column of a long file with the cell keys, or the sums of record keys: the change "
            "of a cell is by its key. It is not written.",
        ),
    ] = None,
    modulus: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=2**32,
            help="With --keys: what keys are below.  [default: 1, fractions as cellKey has them; "
            "of an explicit look-up its keys]",
            show_default=False,
        ),
    ] = None,
    secret: SecretFile = None,
    seed: Seed = None,
    absent_zero: AbsentZero = False,
    force: Force = False,
) -> None:
    """Protect any table of counts, and say what changed and what was kept.

    Without --secret and --seed the draws are new each time: publish one of them only, for the
    mean of many is the truth. With --keys they are the same in every table; a secret mixes them.
    """
    from discreet.protect.keys import generator, secret_bytes
    from discreet.protect.registry import method as build

    check_out(out, table, force)
    file, held = _read(table, keys, modulus, method, option or [], absent_zero)
    if totals is not None and not file.has_totals:
        file = file.with_totals()
        held = held and replace(held, table=held.table.with_totals())
    same, place = file.canonical()  # the same table in another order gets the same draws
    options = _options(option or [], file, same)
    protection, margins = build(method, options), _margins(fit or [], same)
    if totals is Totals.PROTECTED and not protection.cellwise:
        raise ParameterError(
            f"--totals protected is for methods that act cell by cell; {method} does not."
        )
    if margins and totals is Totals.PROTECTED:
        raise ParameterError("--fit cannot come with --totals protected: cells add up to totals.")
    if held:
        _check_keyed(protection, method, margins, seed)
        mixed = None if secret is None else secret_bytes(secret)
        held = replace(held, table=held.table.canonical()[0])
        chance, of_totals = (held.chance(protection, mixed, alone) for alone in (False, True))
        released = _protected(protection, same, totals, chance, of_totals)
    else:
        question = {**options, "fit": str(margins)} if margins else options
        rng = generator((same.dimensions, same.counts.tolist()), method, question, secret, seed)
        released = _protected(protection, same, totals, rng, rng, margins)
    file.write(out, file.aligned(released), released.figures[place][file.is_total])
    shown = ", ".join(f"{name}={value}" for name, value in options.items())
    said = _said(same, released.counts, protection, totals, margins)
    typer.echo(f"{out.name}: {method}{f' ({shown})' if shown else ''}: {'; '.join(said)}.")


def _read(
    table: Path,
    keys: str | None,
    modulus: int | None,
    method: str,
    option: list[str],
    absent_zero: bool,
) -> tuple[TableFile, CellKeys | None]:
    """Return the table, and its cell keys where a column has them."""
    from discreet.protect.keyed import read_keyed
    from discreet.protect.registry import method as build
    from discreet.table.files import read_table

    if keys is None:
        if modulus is not None:
            raise ParameterError("--modulus comes with --keys.")
        return read_table(table, absent_zero), None
    number = build(method, options_of(option)).keys
    return read_keyed(table, keys, modulus or number or 1, absent_zero)


def _check_keyed(
    protection: Method, method: str, margins: list[tuple[int, ...]], seed: int | None
) -> None:
    if not protection.cellwise:
        raise ParameterError(f"--keys is for methods that act cell by cell; {method} does not.")
    if margins or seed is not None:
        raise ParameterError("--keys cannot come with --fit or --seed: nothing else is drawn.")


def _options(given: list[str], file: TableFile, same: TableFile) -> dict[str, str]:
    """Return the options by name; an axis is given by the name of its dimension or its place."""
    options = options_of(given)
    variables = [dimension.variable for dimension in file.dimensions]
    axis = options.get("axis", "")
    if axis.isdecimal() and int(axis) < len(variables):
        axis = variables[int(axis)]
    if axis in variables:
        options["axis"] = str([dimension.variable for dimension in same.dimensions].index(axis))
    return options


def _margins(given: list[str], file: TableFile) -> list[tuple[int, ...]]:
    """Return the margins to fit to, each as the axes that it keeps."""
    variables = [dimension.variable for dimension in file.dimensions]
    found = []
    for text in given:
        names = [] if text == "total" else [name.strip() for name in text.split(",")]
        for name in names:
            if name not in variables:
                raise unknown("dimension", name, variables)
        if len(set(names)) == len(variables):
            raise ParameterError(f"--fit must leave a dimension out. Got {text}.")
        found.append(tuple(sorted({variables.index(name) for name in names})))
    return list(dict.fromkeys(found))


def _protected(
    protection: Method,
    file: TableFile,
    totals: Totals | None,
    chance: Draws,
    of_totals: Draws,
    margins: list[tuple[int, ...]] | None = None,
) -> TableFile:
    """Return the protected table: cells fitted to margins where asked, or totals by themselves."""
    from discreet.protect import fit_to_margins, protected_margins

    def protect(
        counts: NDArray[np.int64], method: Method = protection, draws: Draws = chance
    ) -> NDArray[np.int64]:
        # Zeros stay, whatever the method could do with them.
        structural = counts == 0 if method.needs_structural else None
        return method.apply(counts, draws, structural).astype("int64", copy=False)

    counts = protect(file.counts)
    if margins:
        rng = cast("np.random.Generator", chance)
        by_itself = partial(protect, method=protection.for_margins)
        targets = protected_margins(file.counts, counts, margins, by_itself, rng)
        counts = fit_to_margins(counts, targets, rng)
    released = file.with_counts(counts)
    if totals is not Totals.PROTECTED:
        return released
    figures = released.figures.copy()
    figures[file.is_total] = protect(file.totals_of(file.counts), draws=of_totals)
    return replace(released, figures=figures)


def _said(
    file: TableFile,
    released: NDArray[np.int64],
    protection: Method,
    totals: Totals | None,
    margins: list[tuple[int, ...]],
) -> list[str]:
    """Return what changed, what was kept, what stands for totals."""
    import numpy as np

    change = np.abs(released - file.counts)
    changed = int(np.count_nonzero(change))
    parts = [f"{changed:,} of {released.size:,} cells changed"]
    if changed:
        parts[0] += f", by {change[change > 0].mean():.1f} on average and {change.max():,} at most"
    if margins:
        named = (" by ".join(file.dimensions[a].variable for a in axes) for axes in margins)
        parts.append(f"fitted to the protected totals of {', '.join(n or 'all' for n in named)}")
        parts.append(f"kept: {'nothing exactly' if protection.moves_zeros else 'zeros'}")
    else:
        parts.append(f"kept: {_kept(protection, file)}")
    if protection.caution:
        parts.append(protection.caution)
    if file.has_totals:
        how = "protected alone" if totals is Totals.PROTECTED else "summed from the protected cells"
        parts.append(f"totals {how}")
        if file.additivity_gap():
            parts.append("the totals of the file did not add up and were not used")
    return parts


def _kept(protection: Method, file: TableFile) -> str:
    promised = protection.keeps(len(file.dimensions))
    kept = []
    for axes in promised.margins:
        names = " by ".join(file.dimensions[axis].variable for axis in axes)
        what = f"totals by {names}" if axes else "the total"
        kept.append(what if promised.within == 1 else f"{what} to less than {promised.within}")
    if promised.unbiased:
        kept.append("all totals on average")
    if not protection.moves_zeros:
        kept.append("zeros")
    return ", ".join(kept) or "nothing exactly"
