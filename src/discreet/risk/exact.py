"""Risk before and after and the distances of a pair of tables, in one pass over the cells.

What `before`, `after_transition`, `hellinger` and `average_absolute` say one by one, for the record
of each table that is released.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

import numpy as np

from discreet.compiling import pays
from discreet.risk import kernels
from discreet.risk.terms import (
    changed_zero_share_of,
    concentration_of,
    distinct,
    smallness_of,
    weighted,
)
from discreet.risk.transition import impossible_release
from discreet.table.transition import Chances, Transition
from discreet.types import Integers


@dataclass(frozen=True)
class Exact:
    """What the custodian's record says of a table: risks, and distances from the true one.

    The risk after is NaN where it has no value.
    """

    before: float
    after: float
    hellinger: float
    average_absolute: float


def exact(
    true: Integers,
    released: Integers,
    chances: Chances,
    weights: tuple[float, ...],
    multiplier: float,
) -> Exact | None:
    """Return the measures of valid counts; None where they are to be had one by one alone.

    That is the split form of the risk, chances without a description of bounded size, and kernels
    that are not loaded.
    """
    bounded = len(weights) == 3 and isinstance(chances, Transition)
    if not bounded or not pays(kernels.pair, true.size):
        return None
    assert isinstance(chances, Transition)
    # Of one type with the warm-up: others would be compiled for anew.
    f, g = (np.array(counts, np.int64, order="C").reshape(-1) for counts in (true, released))
    total, cells = int(f.sum()), f.size
    (zeros, either, both, moved), (log, apart) = (part.tolist() for part in kernels.pair(f, g))
    size = smallness_of(total)
    before = float(weighted(weights, zeros / cells, concentration_of(total, log, cells), size))
    rows = np.array(chances.changes), np.array(chances.probabilities)
    held, logs = kernels.contents(*distinct(f), *distinct(g), *rows, chances.period).tolist()
    if np.isnan(held):
        raise impossible_release()
    entropy = multiplier * concentration_of(held, logs, cells)
    changed = changed_zero_share_of(zeros, either, both, cells)
    after = float(weighted(weights, changed, entropy, size))
    after = after if np.isnan(after) else min(after, before)
    return Exact(before, after, sqrt(0.5 * apart), moved / cells)
