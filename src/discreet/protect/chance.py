"""Where the chance of a method on one table comes from: a secret, a seed, or the system."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from discreet.errors import ParameterError

if TYPE_CHECKING:
    import numpy as np

Secret = str | Path | bytes
"""The path of a file of at least 16 bytes, or the bytes themselves."""


def generator(
    table: object, method: str, options: dict[str, str], secret: Secret | None, seed: int | None
) -> np.random.Generator:
    """Return the source of chance: the secret and the table, the seed, or the system's own.

    `table` is all that makes the table, with a repr that says it all.
    """
    from secrets import token_bytes

    import numpy as np

    from discreet.protect.keys import table_generator

    if secret is not None and seed is not None:
        raise ParameterError("a secret and a seed cannot both be given.")
    if seed is not None:
        if seed < 0:
            raise ParameterError(f"seed must not be negative. Got {seed}.")
        return np.random.default_rng(seed)
    try:
        given = token_bytes(32) if secret is None else secret
        content = given if isinstance(given, bytes) else Path(given).read_bytes()
    except OSError as error:
        raise ParameterError(f"secret must be a readable file. {error}") from None
    # Everything that makes the question, and the counts: another table must not share its luck.
    question = repr((method, sorted(options.items()), table))
    return table_generator(content, question.encode())
