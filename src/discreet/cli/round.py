"""`discreet round`: rounds a table under control, or makes one add up again."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli.options import AbsentZero, SecretFile, Seed, check_chance, check_out, generator
from discreet.errors import ParameterError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from discreet.solve.solution import Solution
    from discreet.table.files import TableFile


class Mode(StrEnum):
    """What is rounded."""

    CONTROLLED = "controlled"
    SMALL = "small"
    ADDITIVE = "additive"


def command(
    table: Annotated[Path, typer.Argument(help="CSV file of counts, long or wide.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="File to write, in the same layout.")],
    base: Annotated[int, typer.Option(help="Round to multiples of this.")] = 3,
    mode: Annotated[
        Mode,
        typer.Option(
            help="controlled: every cell and total; small: only counts below the base; "
            "additive: no rounding, the closest table that adds up."
        ),
    ] = Mode.CONTROLLED,
    secret: SecretFile = None,
    seed: Seed = None,
    absent_zero: AbsentZero = False,
) -> None:
    """Round a table so that everything still adds up, and say how far that went.

    Three- and more-way tables may have no controlled rounding. Then some totals are one multiple
    further away, and the report says whether that was proved necessary.
    """
    import numpy as np

    from discreet.cli.progress import after_a_while, shown
    from discreet.solve.solution import Status
    from discreet.solve.system import TableSystem
    from discreet.table.files import read_table

    check_out(out, table)
    check_chance(secret, seed)
    file = read_table(table, absent_zero)
    if mode is not Mode.ADDITIVE:
        file.refuse_gap("Leave the totals out, or use --mode additive.")
    same, _ = file.canonical()  # the same table in another order gets the same draws
    rng = generator(
        (same.dimensions, same.counts.tolist()),
        f"round {mode.value}",
        {"base": str(base)},
        secret,
        seed,
    )
    system = TableSystem.of(same.shape)
    with shown() as tell:
        found = _solve(same, system, mode, base, rng, after_a_while(tell))
    if found.status in (Status.NOT_CONVERGED, Status.INFEASIBLE):
        raise ParameterError(
            "no table was found that adds up within twice the base; nothing is written."
        )
    released = same.with_counts(found.values)
    before = same.figures if mode is Mode.ADDITIVE else same.with_counts(same.counts).figures
    file.write(out, file.aligned(released))
    change = np.abs(released.figures - before)
    typer.echo(f"{out.name}: {_sentence(mode, base, found, change)}")
    if found.status is Status.STOPPED:
        raise typer.Exit(130)


def _solve(
    file: TableFile, system: Any, mode: Mode, base: int, rng: np.random.Generator, tell: Any
) -> Solution:
    import numpy as np

    from discreet.solve import closest_additive, controlled_rounding, round_small_counts
    from discreet.solve.solution import Solution

    if mode is Mode.CONTROLLED:
        return controlled_rounding(file.counts, base, rng, tell=tell)
    if mode is Mode.SMALL:
        return round_small_counts(system, file.counts, base, rng, tell)
    if not file.has_totals:
        raise ParameterError("--mode additive needs a file with totals, such as a code _T.")
    target = np.zeros(system.shape, np.int64)
    counted = np.zeros(system.shape, bool)
    where = tuple(file.rows.T)  # −1 is the last index, and so is the total of an axis
    target[where] = file.figures
    counted[where] = True
    found = closest_additive(system, target, rng, counted=counted, tell=tell)
    return Solution(found.status, found.values.reshape(file.shape), found.gap)


def _sentence(mode: Mode, base: int, found: Solution, change: NDArray[np.int64]) -> str:
    """Return what was done, how far it is from what was asked, and what changed."""
    import numpy as np

    status = found.status.value
    if mode is Mode.CONTROLLED:
        what = {
            "solved": f"every cell and total is next to its count, less than {base} away",
            "relaxed": f"proved that not all can be less than {base} away; all are less than "
            f"{2 * base} away",
            "feasible": f"none found with all less than {base} away, none ruled out; all are less "
            f"than {2 * base} away",
            "stopped": f"STOPPED before the end: adds up, but a total is up to {found.gap:,.0f} "
            "away. Do not publish it as controlled",
        }[status]
        head = f"controlled rounding to base {base}, {status}: {what}"
    elif mode is Mode.SMALL:
        head = f"counts below {base} rounded, everything adds up" + (
            "; STOPPED before the end" if status == "stopped" else ""
        )
    else:
        what = {
            "solved": "the closest table that adds up",
            "feasible": f"adds up; no table is more than {1 - 1 / (1 + found.gap):.1%} closer",
            "stopped": "adds up; STOPPED before the end, there may be closer ones",
        }[status]
        head = f"additive, {status}: {what}"
    changed = int(np.count_nonzero(change))
    tail = f"{changed:,} of {change.size:,} figures changed"
    if changed:
        root = float(np.sqrt(np.mean(change.astype(np.float64) ** 2)))
        tail += f", by {int(change.max()):,} at most, root mean square {root:.3f}"
    return f"{head}; {tail}."
