"""Suppression of tables of cells: rules, marks, weights, lone contributors, linked tables."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from discreet.desk.cells import MARKS, CellTable
from discreet.desk.cells import Mark as Word
from discreet.desk.sensitivity import Given as Marked
from discreet.desk.sensitivity import PriorPosterior, Threshold
from discreet.desk.suppress import Objective
from discreet.desk.suppress.method import Suppression
from discreet.desk.suppress.solver import Mark
from discreet.errors import ParameterError

FLAT = (3, 3, 3, -1)


def table(inner: list[list[int]], **more: object) -> CellTable:
    values = np.array(inner, np.float64)
    for axis in range(2):
        values = np.concatenate([values, values.sum(axis, keepdims=True)], axis)
    codes = ("a", "b", "c", "_T")
    return CellTable(("row", "column"), (codes, codes), (FLAT, FLAT), values, True, **more)  # type: ignore[arg-type]


COUNTS = table([[1, 5, 600], [7, 8, 9], [500, 5, 5]])


def test_counts_below_three_are_primary_and_three_more_protect_one() -> None:
    found = Suppression().apply(COUNTS)
    assert found.number(Mark.PRIMARY) == 1
    assert found.number(Mark.SECONDARY) == 3
    assert found.status[0, 0] == "primary"
    assert np.isnan(found.published[found.withheld]).all()
    assert found.final
    assert found.low[0, 0] < 1 < found.high[0, 0]
    assert found.value(Mark.PRIMARY) == 1


def test_the_default_leaves_large_cells_alone() -> None:
    # Rectangles with 600 or 500, or totals, protect the 1 as well; small cells cost less.
    found = Suppression().apply(COUNTS)
    assert not found.withheld[0, 2]
    assert not found.withheld[2, 0]
    assert not found.withheld[:, 3].any()
    assert not found.withheld[3].any()


@pytest.mark.parametrize("objective", list(Objective))
def test_every_objective_gives_a_safe_pattern(objective: Objective) -> None:
    found = Suppression(objective=objective, exact=True).apply(COUNTS)
    assert found.pattern.solved
    assert found.high[0, 0] - found.low[0, 0] >= 1


def test_marks_are_kept() -> None:
    marks = np.zeros((4, 4), np.int8)
    marks[1, 1] = MARKS.index(Word.NEVER)
    marks[0, 1] = MARKS.index(Word.PUBLISHED)
    found = Suppression().apply(replace(COUNTS, marks=marks))
    assert not found.withheld[1, 1]
    assert not found.withheld[0, 1]


def test_a_sensitive_cell_that_is_known_already_is_not_withheld() -> None:
    marks = np.zeros((4, 4), np.int8)
    marks[0, 0] = MARKS.index(Word.PUBLISHED)
    assert not Suppression().apply(replace(COUNTS, marks=marks)).withheld.any()


def test_a_sensitive_cell_must_not_be_marked_never() -> None:
    marks = np.zeros((4, 4), np.int8)
    marks[0, 0] = MARKS.index(Word.NEVER)
    with pytest.raises(ParameterError, match="row a, column a is sensitive and marked never"):
        Suppression().apply(replace(COUNTS, marks=marks))


def test_preferred_cells_are_taken_first() -> None:
    marks = np.zeros((4, 4), np.int8)
    for cell in ((0, 2), (2, 0), (2, 2)):
        marks[cell] = MARKS.index(Word.PREFER)
    found = Suppression().apply(replace(COUNTS, marks=marks))
    assert found.withheld[0, 2]
    assert found.withheld[2, 0]
    assert found.withheld[2, 2]


def test_a_cell_that_cannot_be_protected_is_named() -> None:
    marks = np.full((4, 4), MARKS.index(Word.NEVER), np.int8)
    marks[0, 0] = 0
    with pytest.raises(ParameterError, match="row a, column a cannot be protected"):
        Suppression().apply(replace(COUNTS, marks=marks))


def test_magnitudes_are_protected_by_the_amounts_of_their_rule() -> None:
    ranked = np.zeros((4, 4, 5))
    ranked[0, 0, :2] = 90, 9
    cells = replace(
        table([[100, 300, 250], [200, 320, 280], [220, 260, 240]]), counts=False, ranked=ranked
    )
    # p% with p = 20: 0.2·90 − (100 − 90 − 9) = 17 below and above.
    found = Suppression((PriorPosterior(20.0),)).apply(cells)
    assert found.number(Mark.PRIMARY) == 1
    assert found.low[0, 0] <= 83
    assert found.high[0, 0] >= 117


def test_amounts_in_the_table_are_a_rule() -> None:
    amounts = np.full((4, 4), np.nan)
    amounts[1, 1] = 4
    cells = replace(COUNTS, lower=amounts, upper=amounts, counts=False)
    found = Suppression((Marked(),)).apply(cells)
    assert found.low[1, 1] <= 4
    assert found.high[1, 1] >= 12


def test_lone_contributors_cost_cells_and_can_be_left_out() -> None:
    cells = table([[1, 5, 6], [7, 8, 9], [5, 1, 5]])
    with_them, without = Suppression().apply(cells), Suppression(singletons=False).apply(cells)
    # The rectangle of the two ones and two fives is undone by either of them.
    assert without.number(Mark.SECONDARY) == 2
    assert without.singleton_cost is None  # they were not reckoned with
    assert with_them.number(Mark.SECONDARY) == 2 + (with_them.singleton_cost or 0)
    assert (with_them.singleton_cost or 0) > 0


def test_linked_tables_agree_on_the_cells_they_share() -> None:
    first = table([[1, 5, 6], [7, 8, 9], [5, 4, 5]])
    # Another table by the same rows: its row totals are those of the first.
    columns = ("x", "y", "z", "_T")
    second = replace(
        table([[4, 4, 4], [8, 8, 8], [5, 5, 4]]),
        variables=("row", "other"),
        codes=(first.codes[0], columns),
    )
    one, two = Suppression().apply_linked([first, second])
    assert np.array_equal(one.withheld[:, 3], two.withheld[:, 3])
    assert one.number(Mark.PRIMARY) == 1
    assert one.low[0, 0] < one.high[0, 0]


def linked_margin(value: str) -> list[CellTable]:
    """Return a table and one of its rows alone, where row b, of 2, is marked."""
    whole = table([[30, 40, 50], [1, 0, 1], [20, 30, 40]])
    marks = np.array([0, MARKS.index(Word(value)), 0, 0], np.int8)
    codes = (("a", "b", "c", "_T"),)
    return [whole, CellTable(("row",), codes, (FLAT,), whole.values[:, 3], True, marks=marks)]


@pytest.mark.parametrize("order", [1, -1])
def test_what_one_linked_table_says_is_published_is_so_in_all(order: int) -> None:
    found = Suppression(singletons=False).apply_linked(linked_margin("published")[::order])
    whole, rows = found[::order]
    assert whole.status[1, 3] == "published"
    assert rows.status[1] == "published"
    assert whole.status[1, 0] == "primary"


def test_a_sensitive_cell_marked_never_in_a_linked_table_is_refused() -> None:
    with pytest.raises(ParameterError, match=r"row b.* is sensitive and marked never"):
        Suppression().apply_linked(linked_margin("never"))


def test_a_sum_of_one_code_that_is_published_tells_the_code() -> None:
    # "sole" is the sum of c alone: the same cell, once more.
    values = np.array([[30.0], [40.0], [2.0], [2.0], [72.0]])
    marks = np.zeros((5, 2), np.int8)
    marks[3] = MARKS.index(Word.PUBLISHED)
    cells = CellTable(
        ("row", "column"),
        (("a", "b", "c", "sole", "_T"), ("x", "_T")),
        ((4, 4, 3, 4, -1), (1, -1)),
        np.concatenate([values, values], axis=1),
        True,
        marks=marks,
    )
    assert not Suppression().apply(cells).withheld.any()


def test_linked_tables_that_differ_are_refused() -> None:
    second = replace(table([[4, 4, 5], [8, 8, 8], [5, 5, 5]]), variables=("row", "other"))
    with pytest.raises(ParameterError, match="linked tables must agree"):
        Suppression().apply_linked([table([[1, 5, 6], [7, 8, 9], [5, 4, 5]]), second])


def test_an_optimum_of_many_cells_without_certificates_has_intervals(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # All 441 inner cells are 1 or 2, more than the intervals of all are computed for; a proof that
    # starts from nothing finds a pattern that has no certificates.
    from discreet.desk.suppress import method, solver

    monkeypatch.setattr(
        method, "optimum", lambda system, problem, known, *rest: solver.optimum(system, problem)
    )
    inner = np.random.default_rng(0).integers(1, 3, (21, 21)).astype(float)
    values = inner
    for axis in range(2):
        values = np.concatenate([values, values.sum(axis, keepdims=True)], axis)
    codes, parents = (*(str(i) for i in range(21)), "_T"), (*([21] * 21), -1)
    cells = CellTable(("row", "column"), (codes, codes), (parents, parents), values, True)
    found = Suppression(exact=True, singletons=False, effort=0.02).apply(cells)
    assert found.pattern.solved
    assert found.number(Mark.PRIMARY) == 441
    assert (found.high - found.low)[:21, :21].min() >= 1


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"rules": ()}, "at least one rule"),
        ({"width": 0.0}, "width must be above 0"),
        ({"objective": "beauty"}, "objective must be number, value or information. Got beauty"),
        ({"effort": 0.0}, "effort must be above 0"),
        ({"exact": True, "seconds": -5.0}, "seconds must be 0 or more. Got -5"),
        ({"seconds": 5.0}, "seconds must come with exact"),
    ],
)
def test_parameters_are_checked(wrong: dict[str, object], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        Suppression(**{"rules": (Threshold(),), **wrong})  # type: ignore[arg-type]
