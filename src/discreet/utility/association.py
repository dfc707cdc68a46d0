"""Association between the axes of a table: χ² and Cramér's V, released against true."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.checks import checked_axis, checked_counts, checked_pair, checked_total


@dataclass(frozen=True)
class Association:
    """A measure of association of the true and of the released table."""

    true: float
    released: float

    @property
    def relative_change(self) -> float:
        """(released − true)/true; NaN where the true one is 0."""
        return (self.released - self.true) / self.true if self.true else float("nan")


def chi_square(F: ArrayLike, axis: int = 0) -> float:
    """Return χ² of one axis against all the others laid side by side.

    Notes
    -----
    Σ(F − E)²/E with E = row total · column total / N. Zeros: rows and columns of zeros are left
    out (their expected counts are 0); a table of nobody is refused.

    >>> dc.utility.chi_square([[30, 0], [0, 30]])
    60.0
    """
    rows = _two_way(checked_counts(F), axis)
    total = checked_total(rows)
    # Σ F²/(row·column) needs no array of expected counts beside the table.
    row, column = rows.sum(axis=1, keepdims=True), rows.sum(axis=0, keepdims=True)
    return max(0.0, total * (float((rows / row * (rows / column)).sum()) - 1))


@overload
def cramers_v(F: ArrayLike, G: None = None, axis: int = 0) -> float: ...
@overload
def cramers_v(F: ArrayLike, G: ArrayLike, axis: int = 0) -> Association: ...
def cramers_v(F: ArrayLike, G: ArrayLike | None = None, axis: int = 0) -> float | Association:
    """Return Cramér's V of a table, or that of the true and of the released one.

    For the custodian where the table is the true one.

    Notes
    -----
    √(χ²/(N·min(r − 1, c − 1))), one axis against all the others [Shlomo2010, §4.2]. Zeros: rows
    and columns of zeros are left out and do not count in r and c; NaN where fewer than two of
    either remain; a table of nobody is refused.

    >>> dc.utility.cramers_v([[30, 0], [0, 30]])
    1.0
    >>> dc.utility.cramers_v([[30, 0], [0, 30]], [[15, 15], [15, 15]])
    Association(true=1.0, released=0.0)
    """
    if G is not None:
        true, released = checked_pair(F, G)
        return Association(cramers_v(true, axis=axis), cramers_v(released, axis=axis))
    rows = _two_way(checked_counts(F), axis)
    total = checked_total(rows)
    least = min(rows.shape) - 1
    return sqrt(chi_square(rows) / (total * least)) if least > 0 else float("nan")


def _two_way(counts: NDArray[np.int64], axis: int) -> NDArray[np.int64]:
    place = checked_axis(counts, axis)
    rows = np.moveaxis(counts, place, 0).reshape(counts.shape[place], -1)
    return rows[rows.any(axis=1)][:, rows.any(axis=0)]
