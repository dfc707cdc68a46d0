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
    place, left = np.zeros(len(shape), np.int64), start
    for d in range(len(shape) - 1, -1, -1):
        place[d] = left % shape[d]
        left //= shape[d]
    for cell in range(cells):
        for d in range(len(shape)):
            category = first[d] + place[d]
            at = _copied(text, begins[category], begins[category + 1], out, at)
        for column in range(columns):
            if column:
                out[at] = 44  # a comma
                at += 1
            if not withheld[cell]:
                at = _written(figures[column, cell], digits, out, at)
        out[at], out[at + 1] = 13, 10  # the end of a row
        at += 2
        for d in range(len(shape) - 1, -1, -1):
            place[d] += 1
            if place[d] < shape[d]:
                break
            place[d] = 0
    return at


@njit(cache=True, nogil=True)
def _copied(text: Bytes, begin: int, end: int, out: Bytes, at: int) -> int:
    """Write a piece of text; return where it ends."""
    # Without a sign, so that no place could be counted from the end: six times as fast.
    source, target = np.uint64(begin), np.uint64(at)
    for i in range(np.uint64(end - begin)):
        out[target + i] = text[source + i]
    return at + end - begin


@njit(cache=True, nogil=True)
def _written(figure: int, digits: Bytes, out: Bytes, at: int) -> int:
    """Write a figure; return where it ends."""
    left, many, ten = np.uint64(figure), 0, np.uint64(10)
    while many == 0 or left > 0:
        rest = left // ten
        digits[many] = 48 + (left - rest * ten)
        left = rest
        many += 1
    for i in range(many):
        out[at + i] = digits[many - 1 - i]
    return at + many


def warm_up() -> None:
    """Load the kernel, compiled if it never was."""
    one = np.zeros(1, np.int64)
    ends = np.zeros(2, np.int64)
    shape, figures = np.ones(1, np.int64), np.zeros((1, 1), np.int64)
    rows(np.zeros(0, np.uint8), ends, one, shape, figures, np.zeros(1, bool), 0,
         np.zeros(8, np.uint8))  # fmt: skip
