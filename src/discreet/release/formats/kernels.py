"""The rows of a tidy CSV file as bytes; `csv.py` has the plain twin, which gives the same."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.compiling import njit

Bytes = NDArray[np.uint8]

DIGITS = 19
"""Of the largest figure."""


@njit(cache=True, nogil=True)
def rows(
    text: Bytes, begins: Any, first: Any, shape: Any, figures: Any, withheld: Any, start: int,
    out: Bytes,
) -> int:  # fmt: skip
    """Write the rows of some cells in row-major order from `start` on; return how many bytes.

    `text` has the categories of all dimensions one after another, each as a row has it with a
    comma behind it; `begins` is where each begins, and `first` the first of each dimension.
    `figures` has a row for each column of figures, none of them negative; they are empty where they
    are withheld.
    """
    at = 0
    digits = np.empty(DIGITS, np.uint8)
    columns, cells = figures.shape
    for cell in range(cells):
        left, size = start + cell, 1
        for d in range(len(shape)):
            size *= shape[d]
        for d in range(len(shape)):
            size //= shape[d]
            category = first[d] + left // size
            left %= size
            for i in range(begins[category], begins[category + 1]):
                out[at] = text[i]
                at += 1
        for column in range(columns):
            if column:
                out[at] = 44  # a comma
                at += 1
            if withheld[cell]:
                continue
            figure, many = figures[column, cell], 0
            while many == 0 or figure > 0:
                digits[many] = 48 + figure % 10
                figure //= 10
                many += 1
            while many:
                many -= 1
                out[at] = digits[many]
                at += 1
        out[at], out[at + 1] = 13, 10  # the end of a row
        at += 2
    return at


def warm_up() -> None:
    """Load the kernel, compiled if it never was."""
    one = np.zeros(1, np.int64)
    ends = np.zeros(2, np.int64)
    shape, figures = np.ones(1, np.int64), np.zeros((1, 1), np.int64)
    rows(np.zeros(0, np.uint8), ends, one, shape, figures, np.zeros(1, bool), 0,
         np.zeros(8, np.uint8))  # fmt: skip
