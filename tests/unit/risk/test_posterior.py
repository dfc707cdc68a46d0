"""The posterior of a released figure."""

from __future__ import annotations

from math import isnan

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet import risk
from discreet.errors import ParameterError
from discreet.protect.cells.rounding import RandomRounding
from risk_tables import LIVELY, METHODS, Integers, every_release, tables

ROUNDING = RandomRounding(3).transition()


def test_the_posterior_by_hand() -> None:
    # One 0, two 1s, one 2 under rounding to 3. Released 0: 1·1 + 2·⅔ + ⅓ = 8/3 expected cells.
    who = risk.posterior(ROUNDING, [0, 1, 1, 2])
    values, chances = who.row(0)
    assert values.tolist() == [0, 1, 2]
    np.testing.assert_allclose(chances, [3 / 8, 4 / 8, 1 / 8])
    assert who.zeros_true == pytest.approx(3 / 8)
    assert isnan(who.small_true)
    assert who.unchanged == pytest.approx(1 / 4)
    # Best guesses: a released 0 is a 1 (4/3 of the cells), a released 3 too (2/3 either way).
    assert who.correct_claims == pytest.approx((4 / 3 + 2 / 3) / 4)
    with pytest.raises(ParameterError, match="is ever released as 1"):
        who.row(1)


@given(tables(most=6, most_axes=1, most_side=4), st.sampled_from(["lively", "rounding to 3"]))
def test_the_posterior_is_that_of_every_release(table: Integers, name: str) -> None:
    method = METHODS[name]
    who = risk.posterior(method, table)
    same = released = unchanged = 0.0
    for chance, seen in every_release(table, method):
        small = np.isin(seen, (1, 2))
        released += chance * small.sum()
        same += chance * (small & (seen == table)).sum()
        unchanged += chance * (seen == table).mean()
    assert who.unchanged == pytest.approx(unchanged)
    if released > 1e-12:
        assert who.small_true == pytest.approx(same / released)
    assert who.correct_claims >= who.unchanged - 1e-12


def test_zeros_that_may_be_released_as_more() -> None:
    who = risk.posterior(LIVELY, [0, 0, 1, 2])
    # Released 1: 2·0.2 + 1·0.4 + 1·0.2 = 1.0 expected; true ones 0.4. Released 2: 0.2 + 0.3 + 0.7.
    assert who.true_share(1) == pytest.approx(0.4)
    assert who.true_share(1, 2) == pytest.approx((0.4 + 0.7) / (1.0 + 1.2))
