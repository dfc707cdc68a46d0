"""The listing by percent change: its classes, their ends, zeros and weights."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import ParameterError
from discreet.utility import change_listing, listing_text


def test_a_class_holds_its_upper_end() -> None:
    # Percent changes of 0, 0.1, 0.5, 10, 10.01 and 100 of 1,000; 1.1 is not exact in binary.
    true = np.full(6, 1000.0)
    released = np.array([1000.0, 1001.0, 995.0, 1000.0 * 1.1, 1100.1, 0.0])
    listing = change_listing(true, released, np.zeros(6, bool))
    found = {(row.low, row.high): row.nonsensitive for row in listing.changes if row.nonsensitive}
    assert found == {(0, 0.1): 2, (0.1, 0.5): 1, (5, 10): 1, (10, 15): 1, (30, 100): 1}


def test_zeros_that_stay_are_no_cells_and_those_that_do_not_have_no_percentage() -> None:
    listing = change_listing([0, 0, 1, 1], [0, 1, 0, 1], [False, False, False, False])
    assert [row.nonsensitive for row in listing.changes if row.nonsensitive] == [1, 1, 1]
    assert listing.changes[-1].nonsensitive == 1  # 0 → 1
    assert listing.changes[-2].nonsensitive == 1  # 1 → 0 is 100%
    assert sum(row.nonsensitive for row in listing.values) == 2


def test_weights_count_cells_and_sensitive_ones_are_apart() -> None:
    listing = change_listing([10, 200], [11, 200], [True, False], weights=[3, 4])
    assert (listing.sensitive, listing.nonsensitive) == (3, 4)
    assert listing.within(0.1) == 1.0
    row = next(row for row in listing.changes if row.sensitive)
    assert (row.low, row.high, row.sensitive) == (5, 10, 3)


def test_values_are_classed_by_a_constant_factor() -> None:
    listing = change_listing([1.0, 2.0**20], [1.0, 2.0**20], [True, False])
    assert [row.high / row.low for row in listing.values] == pytest.approx([2.0] * 20)
    assert (listing.values[0].sensitive, listing.values[-1].nonsensitive) == (1, 1)


def test_the_text_has_the_layout_in_print() -> None:
    text = listing_text(change_listing([100.0, 50.0], [100.0, 51.0], [False, True]))
    lines = text.splitlines()
    assert lines[0] == "Frequency Count of Percent Cell Value Change:"
    assert lines[2].split() == ["From", "%", "To", "Non-Sensitive", "Sensitive"]
    assert lines[3].split() == [".00", "-", ".10", "1", "0"]
    assert lines[8].split() == ["2.00", "-", "5.00", "0", "0"]
    assert lines[7].split() == ["1.50", "-", "2.00", "0", "1"]
    assert lines[13].split() == ["100.00", "-", "above", "0", "0"]
    assert "Cell Value Distribution" in text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([1.0], [1.0, 2.0], [True]), "one entry per cell"),
        (([1.0], [np.nan], [True]), "finite"),
        (([1.0], [1.0], [True], [-1]), "integers of 0 or more"),
        (([1.0], [1.0], [True], [0.5]), "integers of 0 or more"),
    ],
)
def test_what_cannot_be_listed_is_refused(arguments: tuple[list[float]], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        change_listing(*arguments)


def test_a_share_is_only_known_at_the_end_of_a_class() -> None:
    with pytest.raises(ParameterError, match=r"the end of a class: 0.1, 0.5"):
        change_listing([1.0], [1.0], [False]).within(0.3)


@given(
    st.lists(
        st.tuples(st.integers(0, 10**6), st.integers(0, 10**6), st.booleans(), st.integers(0, 5)),
        max_size=30,
    )
)
def test_every_cell_is_listed_once(cells: list[tuple[int, int, bool, int]]) -> None:
    true, released, sensitive, weights = (
        np.array([cell[i] for cell in cells], kind)
        for i, kind in enumerate((float, float, bool, int))
    )
    listing = change_listing(true, released, sensitive, weights)
    listed = (true > 0) | (released > 0)
    assert listing.sensitive == weights[listed & sensitive].sum()
    assert listing.nonsensitive == weights[listed & ~sensitive].sum()
    values = sum(row.sensitive + row.nonsensitive for row in listing.values)
    assert values == weights[true > 0].sum()
