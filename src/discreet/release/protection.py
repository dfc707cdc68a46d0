"""Step 3: true counts in, released figures out, for the inner cells and the totals."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from discreet.policy import Margins, Protection
from discreet.population.keys import Secret
from discreet.protect import Chance
from discreet.table import CountTable


def with_totals(array: NDArray[np.int64], modulus: int | None = None) -> NDArray[np.int64]:
    """Return an array with a total at the end of every axis (of keys: modulo the modulus)."""
    for axis in range(array.ndim):
        total = array.sum(axis=axis, keepdims=True)
        if modulus is not None:
            total %= modulus
        array = np.concatenate([array, total], axis=axis)
    return array


def protect(
    table: CountTable, protection: Protection, totals: Margins, secret: Secret, question: str
) -> NDArray[np.int64]:
    """Return the released figures, with totals at the end of each axis if asked for.

    `question` is the canonical text that seeds a table-wise method; a cellwise one is keyed by
    the cell keys, so that a cell has the same figure in every table that shows it.
    """
    counts = np.asarray(table.counts, np.int64)
    keys = np.asarray(table.keys, np.int64)
    if totals is Margins.PROTECTED:
        counts, keys = with_totals(counts), with_totals(keys, table.modulus)
    method = protection.build
    if method is not None:
        modulus = table.modulus if protection.plain_keys else None
        chance = Chance.keyed(secret.value, question.encode(), keys, modulus=modulus)
        counts = np.asarray(method.apply(counts, chance), np.int64)
    return with_totals(counts) if totals is Margins.SUMMED else counts
