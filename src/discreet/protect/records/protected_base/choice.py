"""Which records of a larger area are donors: a keyed share, of every pattern about as many.

Of two records that are much the same the secret takes one, so that figures of the donors are near
those of all: the local pivotal method [Grafstrom2012]. Every record has the same chance, the share,
by the secret; which records are donors together depends on those near each other as well.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from discreet.protect.records.protected_base import kernels
from discreet.protect.records.protected_base.donors import Donors

WHOLE = 2**30
"""The chance of a donor that is taken."""

PASSES = 2
"""How often donors are put in order to decide between those that differ in so many columns."""


def taken(
    donors: Donors,
    main: NDArray[np.uint8],
    words: NDArray[np.uint64],
    share: float,
    worth: NDArray[np.int64],
) -> NDArray[np.bool_]:
    """Return which of the donors are taken: the share of them, rounded up.

    `main` are the bytes of their records, `words` a random word for each donor; `worth` is that of
    records by the number of columns in which they differ.
    """
    chances = np.full(len(donors), round(share * WHOLE), np.int64)
    columns, state = np.arange(main.shape[1]), np.zeros(1, np.uint64)
    most = len(worth) - 2

    def undecided() -> NDArray[np.int64]:
        return np.flatnonzero((chances > 0) & (chances < WHOLE))

    def pivot(order: NDArray[np.int32], differ: int) -> None:
        kernels.pivot(main, donors.first, order, words, worth, differ, chances, WHOLE)

    for differ in np.repeat(np.arange(most + 1), PASSES).tolist():
        kernels.shuffle(columns, state)
        for order in donors.orders(main, columns, undecided()):
            pivot(order, differ)
    while len(left := undecided()) > 1:  # of a size one or none, for a share of a half
        pivot(left.astype(np.int32), most)
    return chances > 0
