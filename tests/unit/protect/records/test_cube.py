"""Input perturbation: additive and consistent tables from cells changed once."""

from __future__ import annotations

import numpy as np
import pytest

from discreet import protect
from discreet.errors import ParameterError
from discreet.protect import InputPerturbation
from discreet.protect.records.cube import cell_sums, populated_cells


def test_tables_of_the_noisy_cube_add_up_and_agree() -> None:
    rng = np.random.default_rng(1)
    a, b = rng.integers(0, 4, 500), rng.integers(0, 5, 500)
    first, cells = populated_cells([(a, 4), (b, 5)], 500)
    counts = np.bincount(cells)
    assert counts.sum() == 500
    assert np.array_equal(a[first][cells], a)
    assert np.array_equal(b[first][cells], b)
    noisy = InputPerturbation(protect.RandomRounding(3)).apply(counts, rng.random(len(counts)))
    assert (noisy % 3 == 0).all()
    table = np.zeros((4, 5), np.int64)
    table[a[first], b[first]] = noisy
    assert table.sum() == noisy.sum()


def test_the_total_is_kept_where_the_method_keeps_it() -> None:
    rng = np.random.default_rng(2)
    counts = rng.poisson(3, 999) + 1
    noisy = InputPerturbation(protect.SemiControlledRounding(3)).apply(counts, rng)
    assert abs(int(noisy.sum()) - int(counts.sum())) < 3


def test_sums_wrap_and_are_exact() -> None:
    keys = np.array([2**32 - 1, 2**32 - 1, 5], np.uint32)
    assert cell_sums(np.array([0, 0, 1]), 2, keys).tolist() == [2**33 - 2, 5]


def test_methods_that_make_something_of_nothing_are_refused() -> None:
    made = protect.StochasticPerturbation([[0.5, 0.5], [0.5, 0.5]])
    for method in (made, protect.IndividualSwapping(0.1)):
        with pytest.raises(ParameterError, match="method must leave zeros alone"):
            InputPerturbation(method)
    with pytest.raises(ParameterError, match="a method for tables"):
        InputPerturbation(protect.RecordSwapping(0.1))  # type: ignore[arg-type]
