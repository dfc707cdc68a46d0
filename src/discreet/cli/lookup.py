"""`discreet lookup`: designs a look-up table for cell keys."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.options import Force, check_new
from discreet.errors import ParameterError


class Design(StrEnum):
    """How the chances are made from the numbers given."""

    MAX_ENTROPY = "max-entropy"
    NORMAL = "normal"


def command(
    out: Annotated[
        Path, typer.Option("--out", "-o", help="File to write, in the layout of ptable (R).")
    ],
    bound: Annotated[int, typer.Option(help="Largest change of a count.")] = 5,
    variance: Annotated[float, typer.Option(help="Variance of the noise.")] = 3.0,
    forbid: Annotated[str, typer.Option(help="Values never released, such as 1,2.")] = "",
    stay: Annotated[
        float | None, typer.Option(help="Smallest probability that a count is released unchanged.")
    ] = None,
    design: Annotated[
        Design, typer.Option(help="Largest entropy, or a truncated normal.")
    ] = Design.MAX_ENTROPY,
    force: Force = False,
) -> None:
    """Design a look-up table for cell keys, and describe what it does.

    The noise has mean zero and the variance asked for; that of small counts may be less. Zero
    stays zero.
    """
    from discreet.protect import lookup

    check_new(out, force)
    try:
        barred = tuple(int(part) for part in forbid.split(",") if part.strip())
    except ValueError:
        raise ParameterError(
            f"--forbid must be integers, separated by commas. Got {forbid}."
        ) from None
    if design is Design.NORMAL:
        if barred or stay is not None:
            raise ParameterError("--forbid and --stay are options of the design max-entropy.")
        table = lookup.normal(variance, bound)
    else:
        table = lookup.max_entropy(bound, variance, barred, stay)
    table.write_csv(out)
    last = len(table.matrix) - 1
    stays = f"{table.matrix[1, 1]:.0%} of ones and {table.matrix[last, last]:.0%} of large counts"
    bias, spread = abs(table.transition().bias).max(), table.transition().variance
    typer.echo(
        f"{out.name}: counts 0 to {last}, the last for all larger ones; changes within ±{bound}, "
        f"mean {'0' if bias < 1e-9 else f'up to {bias:.2f} off 0'}, "
        f"variance {spread[1]:.3g} for ones and {spread[last]:.3g} for large "
        f"counts; {stays} stay as they are."
    )
