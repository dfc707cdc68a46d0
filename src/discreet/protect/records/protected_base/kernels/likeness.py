"""What donors have in common, and how far off their cells are."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.compiling import njit
from discreet.protect.records.protected_base.kernels.cells import triple

BLOCK = 128
"""Donors that are weighed against each other at a time."""


@njit(cache=True, nogil=True)
def _score(slope: NDArray[np.int32], row: NDArray[Any]) -> Any:
    found = np.int32(0)
    for f in range(len(row)):
        found += slope[row[f]]
    return np.int64(found)


@njit(cache=True, nogil=True)
def beside(
    main: NDArray[np.uint8],
    first: NDArray[np.int64],
    who: NDArray[np.int32],
    columns: NDArray[np.uint8],
    of: NDArray[np.int64],
    at: NDArray[np.int64],
) -> None:
    """Write the records of some donors column by column, whose they are, and where each begins."""
    number = 0
    for k in range(len(who)):
        at[k] = number
        for i in range(first[who[k]], first[who[k] + 1]):
            of[number] = k
            for c in range(main.shape[1]):
                columns[c, number] = main[i, c]
            number += 1
    at[len(who)] = number


@njit(cache=True, nogil=True)
def alike(
    own: NDArray[np.uint8],
    columns: NDArray[np.uint8],
    of: NDArray[np.int64],
    begin: int,
    end: int,
    worth: NDArray[np.int64],
    apart: NDArray[np.uint8],
    out: NDArray[np.int64],
) -> None:
    """Write what the records of one donor have in common with those of others, begin to end.

    `worth` is the weight of all tables in which two records are in one cell, by the number of the
    first columns in which they differ; at last, of each further column that they share.
    """
    first = len(worth) - 2
    size, whose, differ = end - begin, of[begin:end], apart[begin:end]
    for k in range(size):
        out[whose[k]] = 0
    for i in range(len(own)):
        differ[:] = 0
        for c in range(first):
            mine, column = own[i, c], columns[c, begin:end]
            for k in range(size):  # so written that many bytes are compared at a time
                differ[k] = differ[k] + (1 if column[k] != mine else 0)
        for k in range(size):
            out[whose[k]] += worth[differ[k]]
        for c in range(first, own.shape[1]):
            mine, column = own[i, c], columns[c, begin:end]
            for k in range(size):
                if column[k] == mine:
                    out[whose[k]] += worth[-1]


@njit(cache=True, nogil=True)
def scores(
    cells: NDArray[Any],
    codes: NDArray[np.int32],
    first: NDArray[np.int64],
    who: NDArray[np.int32],
    slope: NDArray[np.int32],
    wide: NDArray[np.int32],
    triples: NDArray[np.int32],
    out: NDArray[np.int64],
) -> None:
    """Write the weighted residuals of the cells of some donors."""
    for k in range(len(who)):
        out[k] = 0
        for i in range(first[who[k]], first[who[k] + 1]):
            found, row = _score(slope, cells[i]), codes[i]
            for t in range(len(triples)):
                found += wide[triple(row, triples, t)]
            out[k] += found
