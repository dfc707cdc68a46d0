"""Data of studies: a small hypercube in a file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray


def small_cube() -> NDArray[np.int64]:
    """Counts by area (4, the last empty), age (3) and work (2): small ones and zeros among them."""
    return np.array(
        [
            [[12, 0], [3, 40], [1, 7]],
            [[25, 2], [5, 61], [0, 9]],
            [[7, 1], [18, 33], [4, 0]],
            [[0, 0], [0, 0], [0, 0]],
        ]
    )


def write_cube(path: Path, counts: NDArray[np.int64] | None = None) -> None:
    """Write a hypercube as a long file with a row for every cell."""
    cube = small_cube() if counts is None else counts
    lines = ["area,age,work,count"]
    lines += [
        f"a{i},{j},{'yes' if k else 'no'},{cube[i, j, k]}" for i, j, k in np.ndindex(*cube.shape)
    ]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
