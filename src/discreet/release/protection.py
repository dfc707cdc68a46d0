"""Step 3: true counts in, released figures out, for the inner cells and the totals."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError
from discreet.policy import Margins, Protection
from discreet.population.keys import Secret
from discreet.protect import KeyMix, plain_uniforms, table_generator
from discreet.protect.base import CellwiseMethod, TablewiseMethod
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
    released = _released(counts, keys, table.modulus, protection, secret, question)
    return with_totals(released) if totals is Margins.SUMMED else released


def _released(
    counts: NDArray[np.int64],
    keys: NDArray[np.int64],
    modulus: int,
    protection: Protection,
    secret: Secret,
    question: str,
) -> NDArray[np.int64]:
    method = protection.build
    if method is None:
        return counts
    if protection.cellwise:
        assert isinstance(method, CellwiseMethod)
        if protection.plain_keys:
            uniforms = plain_uniforms(keys, modulus)
        else:
            uniforms = KeyMix(secret.value).uniforms(keys)
        return np.asarray(method.apply(counts, uniforms), np.int64)
    if not isinstance(method, TablewiseMethod):
        raise ParameterError(f"the method '{protection.method}' cannot protect a table.")
    rng = table_generator(secret.value, question.encode())
    return np.asarray(method.apply(counts, rng), np.int64)
