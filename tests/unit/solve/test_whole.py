"""A walk finds the whole tables that enumeration finds, and no others."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy import sparse

from discreet.solve import TableSystem
from discreet.solve.whole import Walk


def _line_sums(shape: tuple[int, ...]) -> sparse.csr_matrix:
    """The sums of a table along each axis, as a matrix on its inner cells."""
    system = TableSystem.of(shape)
    members = system.members.tocsr()
    sizes = np.diff(members.indptr)
    return members[np.flatnonzero(np.isin(sizes, shape))].astype(np.float64)


@pytest.mark.parametrize("seed", range(4))
def test_each_end_is_met_that_enumeration_meets(seed: int) -> None:
    rng = np.random.default_rng(seed)
    part, true = _line_sums((2, 2, 3)), rng.integers(0, 3, 12)
    right = part @ true
    walk = Walk(part, right, np.zeros(12), np.full(12, 2.0), seed)
    # The naive twin: all 3^12 tables, those kept that have the sums.
    every = np.array(list(product(range(3), repeat=12)))
    kept = every[(every @ part.T.toarray() == right).all(axis=1)]
    assert len(kept)
    for cell, value in product(range(12), range(3)):
        possible = (kept[:, cell] == value).any()
        for _ in range(8):
            found, used = walk.mended(true, cell, value, 20_000)
            assert used <= 20_000
            if found is not None:
                break
        assert (found is not None) == possible
        if found is not None:
            assert found[cell] == value
            assert (kept == found).all(axis=1).any()


def test_a_first_table_is_found_near_one_that_does_not_add_up() -> None:
    rng = np.random.default_rng(1)
    part, true = _line_sums((5, 5, 5)), rng.integers(0, 9, 125)
    walk = Walk(part, part @ true, np.zeros(125), np.full(125, np.inf), 1)
    found, _ = walk.mended(np.full(125, 4), None, 0, 2_000_000)
    assert found is not None
    np.testing.assert_array_equal(part @ found, part @ true)
    assert (found >= 0).all()


def test_what_cannot_be_is_not_found() -> None:
    # An odd cycle: no whole x, y and z have x + y = y + z = z + x = 1.
    ring = sparse.csr_matrix([[1.0, 1, 0], [0, 1, 1], [1, 0, 1]])
    walk = Walk(ring, np.ones(3), np.zeros(3), np.ones(3), 1)
    assert walk.mended(np.zeros(3, np.int64), None, 0, 10_000) == (None, 10_000)
    # An equation without cells that does not hold.
    empty = sparse.csr_matrix([[1.0, 1.0], [0.0, 0.0]])
    walk = Walk(empty, np.array([1.0, 1.0]), np.zeros(2), np.ones(2), 1)
    assert walk.mended(np.zeros(2, np.int64), None, 0, 10_000)[0] is None
