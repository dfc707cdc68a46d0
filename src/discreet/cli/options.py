"""Options that several commands have, read and checked in one place."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.errors import ParameterError

if TYPE_CHECKING:
    import numpy as np

StoreFolder = Annotated[Path, typer.Argument(metavar="STORE", show_default=False)]
By = Annotated[
    str, typer.Option(metavar="NAMES", help="Variables or levels, up to 6: age_band,sex")
]
Where = Annotated[
    str | None, typer.Option(metavar="FILTERS", help="Who is counted: sex=2,la=E01|E02")
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


def check_out(out: Path, table: Path, option: str = "--out") -> None:
    """Raise if the file to write has no folder, or is the table itself."""
    if not out.parent.is_dir():
        raise ParameterError(f"{option} must be in a folder that exists. Got {out}.")
    if out.exists() and out.resolve() == table.resolve():
        raise ParameterError(f"{option} must be another file than the table.")


def check_chance(secret: Path | None, seed: int | None) -> None:
    """Raise if there are two sources of chance."""
    if secret is not None and seed is not None:
        raise ParameterError("--secret and --seed cannot both be given.")


def generator(
    table: object, method: str, options: dict[str, str], secret: Path | None, seed: int | None
) -> np.random.Generator:
    """Return the source of chance: the secret and the table, the seed, or the system's own.

    `table` is all that makes the table, with a repr that says it all.
    """
    from secrets import token_bytes

    import numpy as np

    from discreet.protect.keys import table_generator

    if seed is not None:
        if seed < 0:
            raise ParameterError(f"--seed must not be negative. Got {seed}.")
        return np.random.default_rng(seed)
    try:
        content = token_bytes(32) if secret is None else secret.read_bytes()
    except OSError as error:
        raise ParameterError(f"--secret must be a readable file. {error}") from None
    # Everything that makes the question, and the counts: another table must not share its luck.
    question = repr((method, sorted(options.items()), table))
    return table_generator(content, question.encode())
