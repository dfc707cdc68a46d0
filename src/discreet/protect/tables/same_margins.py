"""A draw from the tables with the same margins."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from discreet.checks import whole
from discreet.errors import InternalError, ParameterError
from discreet.protect.base import Kept, Method
from discreet.solve import kernels
from discreet.types import Integers

MOST_RECORDS = 10**9
"""The largest total that the hypergeometric draws of numpy take."""

SLACK = 0.5
"""Weight of a cell of −1 on the way from table to table, over the number of cells and the largest
count: the walk then spends most of its steps in tables that count, and still passes the others."""

CHUNK = 100_000


@dataclass(frozen=True)
class SameMargins(Method):
    """Replaces the table by a random one with the same margins.

    `order` 1 keeps the totals of every single dimension, and the draw is exact: as if the records
    were dealt out anew, each variable by itself. `order` = dimensions − 1 keeps every margin over
    all but one dimension, by a random walk of `steps` tables per cell. Both have one target: a
    table n has probability ∝ Π 1/n!. It publishes the true margins: only where the policy lists
    them. Nothing is known of a single count, whose chances are the whole table's. Zeros move, so
    that a released table bounds no risk and there is no multiplier.

    Notes
    -----
    Two-way tables: sequential multivariate hypergeometric draws. Walk: Metropolis steps by moves
    of ±1 on the 2^k corners of a cube [Diaconis1998]. Such moves alone do not connect all tables
    of three and more dimensions; here a cell may be −1 on the way, and only tables without
    negative cells count. That this connects them is verified by enumeration on small tables, not
    proven in general.

    >>> F = np.array([[5, 1], [2, 8]])
    >>> found = dc.protect.SameMargins().apply(F, np.random.default_rng(1))
    >>> found.sum(axis=0).tolist(), found.sum(axis=1).tolist()
    ([7, 9], [6, 10])
    """

    cellwise = False
    moves_zeros = True
    largest = 10**8
    order: int = 1
    steps: int = 100

    def __post_init__(self) -> None:
        whole("order", self.order, 1, 31)
        whole("steps", self.steps, 1, 1_000_000)

    def draw(self, counts: Integers, rng: np.random.Generator, /) -> Integers:
        """Return a table with the same margins."""
        return self._deal(counts, rng) if self.order == 1 else self._walk(counts, rng)

    def check(self, dimensions: int) -> None:
        """Raise where the order is none of the table's."""
        if dimensions <= self.order or self.order not in (1, dimensions - 1):
            raise ParameterError(
                "order must be 1 or the number of dimensions less 1, "
                f"for a table of at least 2 dimensions. Got {self.order} for {dimensions}."
            )

    def _deal(self, true: Integers, rng: np.random.Generator) -> Integers:
        if int(true.sum(dtype=np.int64)) >= MOST_RECORDS:
            raise ParameterError(f"the total must be below {MOST_RECORDS:,} for an exact draw.")
        axes = range(true.ndim)
        margins = [
            true.sum(axis=tuple(a for a in axes if a != axis), dtype=np.int64) for axis in axes
        ]
        dealt = margins[0]
        for margin in margins[1:]:
            left = margin.copy()
            rows = np.zeros((len(dealt), len(margin)), np.int64)
            for i in np.flatnonzero(dealt):
                rows[i] = rng.multivariate_hypergeometric(left, dealt[i], method="marginals")
                left -= rows[i]
            dealt = rows.reshape(-1)
        return np.asarray(dealt.reshape(true.shape))

    def _walk(self, true: Integers, rng: np.random.Generator) -> Integers:
        cells = true.flatten()
        if min(true.shape) < 2:
            return true  # a single category leaves nothing to move
        strides = np.array(
            [int(np.prod(true.shape[axis + 1 :])) for axis in range(true.ndim)], np.int64
        )
        wanted = self.steps * true.size
        slack = SLACK / (true.size * float(true.max()))
        for _ in range(1000 + 1000 * wanted // CHUNK):
            pairs = np.empty((min(CHUNK, 2 * wanted + 10), 2 * true.ndim), np.int64)
            for axis, length in enumerate(true.shape):
                first = rng.integers(0, length, len(pairs))
                second = rng.integers(0, length - 1, len(pairs))
                pairs[:, 2 * axis] = first
                pairs[:, 2 * axis + 1] = second + (second >= first)
            wanted -= kernels.walk_moves(
                cells, strides, pairs, rng.random(len(pairs)), slack, wanted
            )
            if wanted == 0:
                return cells.reshape(true.shape)
        raise InternalError("the walk through the tables met too few without negative cells.")

    def keeps(self, dimensions: int) -> Kept:
        """Return what is kept: the margins exactly."""
        return Kept(unbiased=False, margins=tuple(combinations(range(dimensions), self.order)))
