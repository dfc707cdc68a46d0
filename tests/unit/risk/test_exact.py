"""All measures of a record in one pass, beside the measures one by one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet import risk, utility
from discreet.compiling import SMALL, there
from discreet.errors import ParameterError
from discreet.protect.cells.rounding import RandomRounding
from discreet.risk import kernels
from discreet.risk.exact import exact
from discreet.table.transition import Transition
from risk_tables import METHODS, Integers, released_of, tables

WEIGHTS = (0.1, 0.8, 0.1)
ROUNDING = RandomRounding(3).transition()

pytestmark = pytest.mark.skipif(not there(), reason="kernels need numba")


@pytest.fixture(scope="module", autouse=True)
def _loaded() -> None:
    kernels.warm_up()


@given(tables(), st.integers(0, 10**6), st.sampled_from(sorted(METHODS)), st.floats(0, 1))
def test_one_pass_finds_what_the_measures_find(
    table: Integers, seed: int, name: str, multiplier: float
) -> None:
    chances = METHODS[name]
    released = released_of(table, chances, seed)
    found = exact(table, released, chances, WEIGHTS, multiplier)
    assert found is not None
    after = risk.after_transition(table, released, chances, WEIGHTS, multiplier)
    near = {"rel": 1e-12, "abs": 1e-12, "nan_ok": True}
    assert found.before == pytest.approx(after.before, **near)
    assert found.after == pytest.approx(float(after), **near)
    assert found.hellinger == pytest.approx(utility.hellinger(table, released), **near)
    assert found.average_absolute == utility.average_absolute(table, released)


def test_hand_checked() -> None:
    """The example of `after_transition`, and √(½·((√40 − √39)² + …)) by hand."""
    true, released = np.array([[40, 2], [0, 58]]), np.array([[39, 3], [0, 57]])
    found = exact(true, released, ROUNDING, WEIGHTS, 1 / 3)
    assert found is not None
    assert (round(found.before, 3), round(found.after, 3)) == (0.419, 0.173)
    assert found.average_absolute == 0.75
    assert found.hellinger == pytest.approx(0.2363, abs=1e-4)  # √(½·(.00633 + .10102 + .00435))


def test_no_record_says_that_protection_raised_the_risk() -> None:
    """Of few cells the expected contents may lie closer together than the counts: 0.121, 0.120."""
    true, released = np.array([3, 3, 4, 8, 1, 4]), np.array([3, 3, 6, 9, 0, 3])
    found = exact(true, released, ROUNDING, WEIGHTS, 1.0)
    assert found is not None
    assert found.after == found.before
    assert risk.after_transition(true, released, ROUNDING, WEIGHTS, 1.0).capped


def test_large_counts_are_measured_too() -> None:
    """Counts far above the number of cells are sorted, not listed."""
    true = np.array([10**9, 7, 0])
    released = np.array([10**9 + 2, 6, 0])
    found = exact(true, released, ROUNDING, WEIGHTS, 0.5)
    assert found is not None
    assert found.after == pytest.approx(
        float(risk.after_transition(true, released, ROUNDING, WEIGHTS, 0.5)), rel=1e-12
    )


def test_an_impossible_release_is_refused_without_its_figure() -> None:
    with pytest.raises(ParameterError, match="no true count leads to") as raised:
        exact(np.array([3, 9]), np.array([3, 30]), ROUNDING, WEIGHTS, 0.5)
    assert "30" not in str(raised.value)


def test_what_it_cannot_measure_is_left_to_the_measures(monkeypatch: pytest.MonkeyPatch) -> None:
    table = np.array([3, 9])
    assert exact(table, table, ROUNDING, (0.1, 0.7, 0.1, 0.1), 0.5) is None
    assert exact(table, table, object(), WEIGHTS, 0.5) is None  # type: ignore[arg-type]
    monkeypatch.setattr("discreet.risk.exact.pays", lambda kernel, size: size > SMALL)
    assert exact(table, table, Transition.identity(), WEIGHTS, 0.5) is None
