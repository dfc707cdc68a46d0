"""Whether the ids of all records differ, seen while they pass."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from discreet.build.encode import filled
from discreet.compiling import SMALL, there

_EACH, _MOST = 16, 2**33
"""Bits for each record, and in all (1 GiB, of which only what is touched takes memory)."""


class Ids:
    """Ids that are whole numbers, and not much larger than there are records: a bit for each.

    Others are not followed: then nothing is known, and somebody else has to compare them.
    """

    def __init__(self, rows: int) -> None:
        self.differ = there() and rows > SMALL
        bits = min(_MOST, _EACH * rows) if self.differ else 0
        self._seen = np.zeros(-(-bits // 8), np.uint8)

    def add(self, ids: pa.Array) -> None:
        """Take some ids; `differ` stays true while each was seen once."""
        if not self.differ:
            return
        from discreet.population.kernels import mark

        whole = pa.types.is_integer(ids.type) and not ids.null_count
        self.differ = whole and bool(mark(filled(ids, 0).astype(np.int64), self._seen))
