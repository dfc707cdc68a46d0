"""Tables of counts compared."""

from __future__ import annotations

import numpy as np

from discreet.table import CountTable


def same(one: CountTable, other: CountTable) -> bool:
    """Whether two tables have the same counts, and the same key sums where there are people."""
    one, other = one.dense(), other.dense()
    filled = one.counts > 0
    return (
        one.dimensions == other.dimensions
        and np.array_equal(one.counts, other.counts)
        and np.array_equal(one.keys[filled], other.keys[filled])
    )
