"""Which carriers each cell has, and which cells are short of what they need."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from discreet.desk.adjust.carriers.find import Carriers
from discreet.desk.adjust.records.adjust import EXACT
from discreet.solve.layout import Laid
from discreet.types import Flags, Floats


def short_of(change: Floats, need: Floats) -> Flags:
    """Return which changes are less than what is needed."""
    return np.asarray(np.abs(change) < need * (1 - EXACT))


def members_of(tables: Sequence[Laid], carriers: Carriers, cells: int) -> Any:
    """Return a 0/1 matrix: which carriers each cell has, at every level of every dimension."""
    seen: set[tuple[tuple[int, int], ...]] = set()
    rows, columns = [], []
    for table in tables:
        paths = [
            _paths(tree.parents, carriers.codes[:, d])
            for d, tree in zip(table.dimensions, table.trees, strict=True)
        ]
        for levels in product(*(range(len(path)) for path in paths)):
            pairs = zip(table.dimensions, levels, strict=True)
            kept = tuple((d, level) for d, level in pairs if level)
            if kept in seen:
                continue
            seen.add(kept)
            at = np.stack([path[level] for path, level in zip(paths, levels, strict=True)])
            there = np.flatnonzero((at >= 0).all(axis=0))
            cell = table.cells[tuple(at[:, there])]
            rows.append(cell[cell >= 0])
            columns.append(there[cell >= 0])
    where = np.concatenate(rows), np.concatenate(columns)
    shape = cells, len(carriers.values)
    return sparse.csr_matrix((np.ones(len(where[0])), where), shape)


def _paths(parents: Sequence[int], codes: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """Return the codes from the total down to these, −1 where one is above already."""
    up = np.append(np.array(parents), -1)
    paths = [codes]
    while (up[paths[-1]] >= 0).any():
        paths.append(up[paths[-1]])
    whole = np.stack(paths)
    depth = (whole >= 0).sum(axis=0)
    place = depth[None, :] - 1 - np.arange(len(paths))[:, None]
    return [
        np.where(row >= 0, whole[np.maximum(row, 0), np.arange(len(codes))], -1) for row in place
    ]
