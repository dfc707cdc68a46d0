"""Risk of single cells: 1/log2 m, ranges before margins, insiders, and the audit of a system."""

from __future__ import annotations

import numpy as np
import pytest

from discreet import risk
from discreet.errors import ParameterError
from discreet.protect.cells.rounding import RandomRounding
from discreet.solve import Hierarchy, Status, TableSystem


def test_the_risk_is_one_over_the_bits_that_remain() -> None:
    # 1, 2, 4 and 407 values: certain, 1/1, 1/2, 1/8.669.
    found = risk.cell_risk([5, 0, 0, 0], [5, 1, 3, 406])
    assert found.certain.tolist() == [True, False, False, False]
    assert found.values[0] == np.inf
    np.testing.assert_allclose(found.values[1:], [1, 0.5, 1 / np.log2(407)])
    assert found.possible.tolist() == [1, 2, 4, 407]


def test_a_cell_without_an_upper_bound_has_no_risk() -> None:
    assert risk.cell_risk([0], [np.inf]).values.tolist() == [0]


def test_values_are_counted_on_the_published_precision() -> None:
    # 0.1, 0.2, 0.3: three values on one decimal.
    assert risk.cell_risk([0.1], [0.3], step=0.1).possible.tolist() == [3]


def test_only_multiples_of_the_step_are_values() -> None:
    # From 0.05 to 0.25: 0.1 and 0.2. From 0.28 to 0.29 in hundredths: both; 0.29/0.01 is not 28.99.
    assert risk.cell_risk([0.05], [0.25], step=0.1).possible.tolist() == [2]
    assert risk.cell_risk([0.28], [0.29], step=0.01).possible.tolist() == [2]
    with pytest.raises(ParameterError, match="there must be a multiple of the step"):
        risk.cell_risk([0.11], [0.19], step=0.1)


def test_a_base_is_in_the_units_of_the_figures() -> None:
    # 10 rounded to base 5, in tenths: 7.5 to 12.4, 50 values; at random 5.1 to 14.9, 99 values; a 0
    # at random 0 to 4.9, 50 values.
    for random, ends, values in (
        (False, ((0, 2.4), (7.5, 12.4)), [25, 50]),
        (True, ((0, 4.9), (5.1, 14.9)), [50, 99]),
    ):
        low, high = risk.rounded_range([0, 10], 5, random, step=0.1)
        assert list(zip(low.tolist(), high.tolist(), strict=True)) == list(ends)
        assert risk.cell_risk(low, high, 0.1).possible.tolist() == values
    # A base of 0.5 in tenths is 5 steps.
    assert [part.tolist() for part in risk.rounded_range([1.5], 0.5, False, 0.1)] == [[1.3], [1.7]]


def test_chances_that_differ_leave_less_than_their_number_says() -> None:
    # ½, ¼, ¼: 1.5 bits. Four equal ones: 2 bits, 1/log2 4. One alone is certain.
    found = risk.entropy_risk([[0.5, 0.25, 0.25, 0], [0.25, 0.25, 0.25, 0.25], [0, 1, 0, 0]])
    np.testing.assert_allclose(found.values, [1 / 1.5, 1 / 2, np.inf])
    assert found.possible.tolist() == [3, 4, 1]
    assert found.certain.tolist() == [False, False, True]
    for size in (2, 3, 407):
        uniform = risk.entropy_risk(np.full(size, 1 / size))
        np.testing.assert_allclose(uniform.values, risk.cell_risk(0, size - 1).values)


def test_the_chances_of_a_randomly_rounded_count() -> None:
    # Of 0, 1, 1, 2 rounded to base 3 a released 0 was 0, 1, 2 with 3/8, 4/8, 1/8 (test_risk_cells):
    # 3/8·log2(8/3) + 1/2 + 3/8 = 1.406 bits, less than log2 3 = 1.585.
    _, chances = risk.posterior(RandomRounding(3).transition(), [0, 1, 1, 2]).row(0)
    bits = 3 / 8 * np.log2(8 / 3) + 1 / 2 + 3 / 8
    np.testing.assert_allclose(risk.entropy_risk(chances).values, 1 / bits)


@pytest.mark.parametrize("chances", [0.5, [], [0.5, 0.4], [1.5, -0.5], [np.nan, 1]])
def test_chances_are_chances(chances: object) -> None:
    with pytest.raises(ParameterError, match="chances must"):
        risk.entropy_risk(chances)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("base", "random", "values", "sizes"),
    [
        (3, False, [0, 3, 9], [2, 3, 3]),  # 0–1, 2–4, 8–10
        (5, False, [0, 10], [3, 5]),  # 0–2, 8–12
        (10, False, [10], [10]),  # 5–14, a half going up
        (3, True, [0, 3, 9], [3, 5, 5]),  # 0–2, 1–5, 7–11: b at a zero, else 2b − 1
    ],
)
def test_rounding_leaves_the_known_numbers_of_values(
    base: int, random: bool, values: list[int], sizes: list[int]
) -> None:
    low, high = risk.rounded_range(values, base, random)
    assert (high - low + 1).tolist() == sizes


def test_conventional_rounding_maps_its_range_back() -> None:
    for base in (2, 3, 5, 10):
        for count in range(40):
            released = base * ((2 * count + base) // (2 * base))
            low, high = risk.rounded_range([released], base, random=False)
            assert low[0] <= count <= high[0]


def test_the_insider_of_the_paper() -> None:
    # [Domingo2002, §4.4]: 995 to 1,004 with a contribution of 400 leaves 595 to 604.
    low, high = risk.insider_range(995, 1004, 400)
    assert (float(low), float(high)) == (595, 604)


def test_decimals_stay_decimals() -> None:
    # As floats 0.3 − 0.1 is 0.19999999999999998.
    assert [part.tolist() for part in risk.perturbed_range([0.3], 0.1)] == [[0.2], [0.4]]
    assert [float(part) for part in risk.insider_range(0.7, np.inf, 0.4)] == [0.3, np.inf]


def test_a_perturbed_figure_is_known_to_its_bound() -> None:
    low, high = risk.perturbed_range([2, 10], 5)
    assert low.tolist() == [0, 5]
    assert high.tolist() == [7, 15]


def test_independently_rounded_margins_unpick_the_cells() -> None:
    # Two cells released as 3 and 3 with a total released as 12 (random rounding to base 3): cells
    # are at most 5, the total at least 10, so both are 5 and the total is 10.
    system = TableSystem.of((2,))
    found = risk.audit(system, *risk.rounded_range([3, 3, 12], 3, random=True))
    assert found.proof.solved
    assert found.low.tolist() == found.high.tolist() == [5, 5, 10]
    assert found.risk.certain.all()


def test_linked_projections_bound_the_cells_within() -> None:
    # A 2 × 2 × 2 table of which only the three two-way margins are published, one cell each.
    inner = np.array([[[1, 0], [0, 2]], [[0, 3], [4, 0]]])
    system = TableSystem.of((2, 2, 2))
    values = system.values(inner)
    hidden = np.zeros(system.shape, bool)
    hidden[:2, :2, :2] = True
    found = risk.audit(system, np.where(hidden, 0, values), np.where(hidden, np.inf, values))
    # One degree of freedom t moves cells up and down in turn: 1 + t, 0 − t, 0 − t, 2 + t, 0 − t,
    # 3 + t, 4 + t, 0 − t, all ≥ 0: t from −1 to 0.
    np.testing.assert_array_equal(found.low[:2, :2, :2], np.where(inner > 0, inner - 1, 0))
    np.testing.assert_array_equal(found.high[:2, :2, :2], np.where(inner > 0, inner, 1))


def test_merged_categories_are_sums_of_unknown_cells() -> None:
    # c = a + b is published as 4, a and b are not.
    system = TableSystem.table([Hierarchy((2, 2, -1))])
    found = risk.audit(system, [0, 0, 4], [np.inf, np.inf, 4])
    assert found.low.tolist() == [0, 0, 4]
    assert found.high.tolist() == [4, 4, 4]


def test_figures_that_contradict_are_infeasible() -> None:
    system = TableSystem.of((2,))
    found = risk.audit(system, [0, 0, 9], [3, 3, 9])
    assert found.proof.status is Status.INFEASIBLE


def test_bad_values_are_refused() -> None:
    with pytest.raises(ParameterError, match="multiples"):
        risk.rounded_range([4], 3, random=True)
    with pytest.raises(ParameterError, match="base"):
        risk.rounded_range([4], 1, random=True)
    with pytest.raises(ParameterError, match=r"the precision of the figures, 0\.4"):
        risk.rounded_range([5], 5, random=False, step=0.4)
    with pytest.raises(ParameterError, match="step"):
        risk.cell_risk([0], [1], step=0)
    with pytest.raises(ParameterError, match="above high"):
        risk.cell_risk([2], [1])
    with pytest.raises(ParameterError, match="contribution"):
        risk.insider_range(0, 10, 11)
    with pytest.raises(ParameterError, match="bound"):
        risk.perturbed_range([1], -1)
