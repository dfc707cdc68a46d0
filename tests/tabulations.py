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


def as_dict(table: CountTable) -> dict[tuple[str, ...], tuple[int, int]]:
    """The populated cells of a table by their codes."""
    sparse = table.sparse()
    assert sparse.coordinates is not None
    codes = [dimension.codes for dimension in table.dimensions]
    return {
        tuple(codes[d][i] for d, i in enumerate(cell)): (n, k)
        for cell, n, k in zip(
            sparse.coordinates.T.tolist(), sparse.counts.tolist(), sparse.keys.tolist(), strict=True
        )
    }
