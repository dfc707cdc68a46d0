"""Tables and methods that the tests of measures share, and the naive enumeration of releases."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray

from discreet.protect.cells.rounding import RandomRounding
from discreet.table.transition import Transition

Integers = NDArray[np.int64]

# A small matrix that makes and removes zeros, which rounding does not.
LIVELY = Transition.from_matrix([[0.7, 0.2, 0.1], [0.3, 0.4, 0.3], [0.1, 0.2, 0.7]])
METHODS = {
    "rounding to 3": RandomRounding(3).transition(),
    "rounding to 5": RandomRounding(5).transition(),
    "lively": LIVELY,
    "identity": Transition.identity(),
}


def tables(
    most: int = 60, least_cells: int = 2, most_axes: int = 3, most_side: int = 5
) -> st.SearchStrategy[Integers]:
    """Tables of counts of any dimension that hold at least one person."""
    shapes = hnp.array_shapes(min_dims=1, max_dims=most_axes, min_side=1, max_side=most_side)
    return (
        shapes.filter(lambda shape: int(np.prod(shape)) >= least_cells)
        .flatmap(lambda shape: hnp.arrays(np.int64, shape, elements=counts(most)))
        .filter(lambda table: bool(table.any()))
    )


def counts(most: int) -> st.SearchStrategy[int]:
    """Counts with as many zeros and small ones as census tables have."""
    return st.one_of(st.just(0), st.integers(0, 3), st.integers(0, most))


def released_of(true: Integers, method: Transition, seed: int) -> Integers:
    """One released table."""
    drawn = method.draw(true, np.random.default_rng(seed).random(true.shape))
    return np.asarray(drawn, np.int64)


def every_release(true: Integers, method: Transition) -> Iterator[tuple[float, Integers]]:
    """Every released table with its probability: the slow truth that formulas are held against."""
    rows = [method.row(int(count)) for count in true]
    for chosen in product(*(range(len(values)) for values, _ in rows)):
        released = np.array([rows[c][0][k] for c, k in enumerate(chosen)], np.int64)
        yield float(np.prod([rows[c][1][k] for c, k in enumerate(chosen)])), released
