"""What every engine does, and what they share."""

from __future__ import annotations

from threading import Event
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from discreet.query import Question
from discreet.table import CountTable

SPARSE_FROM = 2**20
"""Tables with fewer cells are always dense: what a small table is must not surprise."""


class Engine(Protocol):
    """Counts the records of each cell of a question and sums their keys."""

    def tabulate(self, question: Question, stop: Event | None = None) -> CountTable:
        """Return the table, or raise `Stopped` soon after `stop` is set."""
        ...


def smaller(table: CountTable) -> CountTable:
    """Return a table dense or sparse, whichever takes fewer bytes."""
    populated = len(table.counts) if table.is_sparse else int(np.count_nonzero(table.counts))
    cell = table.counts.itemsize + table.keys.itemsize
    dense = table.size * cell
    sparse = populated * (cell + 4 * len(table.dimensions))
    return table.sparse() if table.size >= SPARSE_FROM and sparse < dense else table.dense()


def table_of(
    question: Question,
    cells: NDArray[np.uint64],
    counts: NDArray[np.uint64],
    keys: NDArray[np.uint64],
    modulus: int,
) -> CountTable:
    """Return the table whose populated cells, by row-major index, are the ones given."""
    order = np.argsort(cells)
    cells, counts, keys = cells[order], counts[order], keys[order]
    coordinates = np.empty((len(question.axes), len(cells)), np.uint32)
    rest = cells
    for d in range(len(question.axes) - 1, -1, -1):
        size = np.uint64(len(question.axes[d]))
        coordinates[d] = rest % size
        rest = rest // size
    sparse = CountTable(
        question.dimensions,
        counts.astype(np.uint32),
        keys.astype(np.uint32),
        modulus,
        coordinates,
    )
    return smaller(sparse)
