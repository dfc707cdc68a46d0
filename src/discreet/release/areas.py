"""Which areas of a table are withheld, from the protected counts alone."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def withheld_areas(
    failing: NDArray[np.bool_], parents: NDArray[np.integer], people: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Return the areas to withhold: those that fail, and never one alone under a parent.

    One area missing under a published parent is the parent less the others; a second one, the
    smallest by its protected count, goes with it. `parents` is the parent of each area.
    """
    out = failing.copy()
    for parent in np.unique(parents):
        inside = np.flatnonzero(parents == parent)
        if out[inside].sum() == 1 and len(inside) > 1:
            left = inside[~out[inside]]
            out[left[np.argmin(people[left])]] = True
    return out
