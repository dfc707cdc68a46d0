"""What can change along one dimension while every sum of its codes stays what it is.

Raise one inner code by one and lower another by one: every code above exactly one of the two
changes with it, and the rest stays. Or raise one inner code alone: everything above it rises.
Such changes, one for each dimension, multiply to a change of the whole table that keeps all its
equations: in a table without hierarchies a cube with two codes a dimension.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.table.hierarchy import Hierarchy

# Codes with more changes than this keep those within their own family, and the others in turn.
MOST_MOVES = 2_000


class Moves(NamedTuple):
    """For each code of each dimension the changes that hold it, relative to it.

    Code c of dimension d has the number `offsets[d] + c`; its changes are
    `starts[number]:starts[number + 1]`, and the other codes of change m are the entries
    `parts[m]:parts[m + 1]`: how far away their cells lie, and the sign relative to c's.
    """

    strides: NDArray[np.int64]
    offsets: NDArray[np.int64]
    starts: NDArray[np.int64]
    parts: NDArray[np.int64]
    deltas: NDArray[np.int64]
    signs: NDArray[np.int8]


def moves_of(dimensions: Sequence[Hierarchy]) -> Moves:
    """Return the changes along each dimension of a table whose cells are in C order."""
    sizes = [len(dimension) for dimension in dimensions]
    strides = np.append(np.cumprod(sizes[::-1])[-2::-1], 1).astype(np.int64)
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    starts, parts = [0], [0]
    deltas: list[int] = []
    signs: list[int] = []
    for stride, dimension in zip(strides.tolist(), dimensions, strict=True):
        for code, found in enumerate(_through(dimension)):
            for change in found:
                own = change[code]
                for other, sign in change.items():
                    if other != code:
                        deltas.append((other - code) * stride)
                        signs.append(sign * own)
                parts.append(len(deltas))
            starts.append(len(parts) - 1)
    return Moves(
        strides,
        offsets,
        np.array(starts, np.int64),
        np.array(parts, np.int64),
        np.array(deltas, np.int64),
        np.array(signs, np.int8),
    )


def _through(dimension: Hierarchy) -> list[list[dict[int, int]]]:
    """Return, for each code, the changes that hold it: code → +1 or −1."""
    leaves = dimension.leaves.tolist()
    above = {leaf: _path(dimension, leaf) for leaf in leaves}
    found: list[list[dict[int, int]]] = [[] for _ in range(len(dimension))]
    for code in range(len(dimension)):
        inside = [leaf for leaf in leaves if code in above[leaf]]
        family = dimension.parents[code]
        # Near ones first: where there are too many, changes within a family are kept.
        outside: list[int | None] = [None]
        outside += sorted(
            (leaf for leaf in leaves if code not in above[leaf]),
            key=lambda leaf: family not in above[leaf],
        )
        for other in outside:
            for leaf in inside:
                if len(found[code]) == MOST_MOVES:
                    break
                found[code].append(_change(above[leaf], [] if other is None else above[other]))
    return found


def _path(dimension: Hierarchy, leaf: int) -> list[int]:
    path, at = [], leaf
    while at >= 0:
        path.append(at)
        at = dimension.parents[at]
    return path


def _change(up: list[int], down: list[int]) -> dict[int, int]:
    """Return what changes when one inner code rises and another falls: what is above one alone."""
    change = {code: 1 for code in up if code not in down}
    change.update({code: -1 for code in down if code not in up})
    return change
