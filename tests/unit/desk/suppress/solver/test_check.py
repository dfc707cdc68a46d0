"""The audit must be able to fail: every way of being wrong is tried on it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from discreet.desk.suppress.solver import Mark, Pattern, Problem, exposed, prove, suppress
from discreet.errors import InternalError
from discreet.solve.solution import Status
from discreet.solve.system import TableSystem
from discreet.table.hierarchy import Hierarchy

TABLE = np.array([[1, 5, 6, 12], [7, 8, 9, 24], [5, 1, 5, 11], [13, 14, 20, 47]])
DIMENSIONS = [Hierarchy.flat(3), Hierarchy.flat(3)]
SYSTEM = TableSystem.table(DIMENSIONS)
PRIMARY = TABLE == 1
PROBLEM = Problem.of(TABLE, PRIMARY, width=PRIMARY.astype(float))


@pytest.fixture(scope="module")
def pattern() -> Pattern:
    return suppress(DIMENSIONS, PROBLEM)


def test_what_is_returned_passes(pattern: Pattern) -> None:
    proof = prove(SYSTEM, PROBLEM, pattern)
    assert proof.safe
    assert (proof.rise + proof.fall)[PRIMARY.ravel()].min() >= 1


def test_a_cell_wrongly_published_fails_both_audits(pattern: Pattern) -> None:
    for cell in np.flatnonzero(pattern.values == Mark.SECONDARY):
        marks = pattern.values.copy()
        marks[cell] = Mark.PUBLISHED
        wrong = replace(pattern, values=marks)
        assert not prove(SYSTEM, PROBLEM, wrong).safe
        # The optimum has no cell to spare here: two primary cells and two others, a rectangle.
        assert exposed(SYSTEM, PROBLEM, wrong.withheld)


def test_a_change_that_breaks_an_equation_proves_nothing(pattern: Pattern) -> None:
    changes = pattern.certificates.tolil()
    changes[0, int(changes[0].nonzero()[1][0])] *= 2
    assert not prove(SYSTEM, PROBLEM, replace(pattern, certificates=changes.tocsr())).safe


def test_a_change_of_a_published_cell_proves_nothing(pattern: Pattern) -> None:
    """Every equation holds, but one corner of the rectangle is published."""
    square = np.zeros((1, TABLE.size), np.int64)
    square[0, [0, 2, 8, 10]] = 1, -1, -1, 1  # cells 2 and 10 hold 6 and 5, and are shown
    assert pattern.values[2] == Mark.PUBLISHED
    other = sparse.csr_matrix(np.vstack([square] * pattern.certificates.shape[0]))
    assert not prove(SYSTEM, PROBLEM, replace(pattern, certificates=other)).safe


def test_a_change_that_leaves_its_cell_alone_proves_nothing(pattern: Pattern) -> None:
    none = sparse.csr_matrix(pattern.certificates.shape, dtype=np.int64)
    assert not prove(SYSTEM, PROBLEM, replace(pattern, certificates=none)).safe


@pytest.mark.parametrize("side", ["rise", "fall", "width"])
def test_a_small_amount_of_a_large_figure_is_not_overlooked(side: str) -> None:
    values = np.array([1e7, 2e7, 3e7])
    first = np.array([True, False, False])
    problem = Problem.of(values, first, 1.0, whole=False, **{side: 1.0 * first})
    # Alone it is the difference of the published ones; beside another it may be anything.
    assert exposed(TableSystem.of((2,)), problem, first) == [0]
    assert not exposed(TableSystem.of((2,)), problem, np.array([True, True, False]))


def rectangle(problem: Problem) -> Pattern:
    """The rectangle of the two ones and the fives between them, as the proof of both."""
    square = np.zeros((1, TABLE.size), np.int64)
    square[0, [0, 1, 8, 9]] = 1, -1, -1, 1
    both = sparse.csr_matrix(np.vstack([square, square]))
    return Pattern(Status.FEASIBLE, problem.marks(square[0] != 0), 0.0, both, np.array([0, 1]))


@pytest.mark.parametrize(("width", "failed"), [(6.0, set()), (7.0, {0, 9})])
def test_steps_below_zero_do_not_count(width: float, failed: set[int]) -> None:
    # The ones can fall by 1, until they are 0, and rise by 5, until the fives are: 6 in all.
    asked = replace(PROBLEM, width=np.where(PRIMARY.ravel(), width, 0.0))
    proof = prove(SYSTEM, asked, rectangle(asked))
    assert {cell for cell, _ in proof.failed} == failed
    assert set(exposed(SYSTEM, asked, rectangle(asked).withheld)) == failed


def test_a_lone_contributor_undoes_a_rectangle_with_his_own_cell() -> None:
    # Both ones are in every certificate of the other: who is one of them knows the other.
    owner = np.where(PRIMARY, np.cumsum(PRIMARY).reshape(TABLE.shape), -1)
    insiders = Problem.of(TABLE, PRIMARY, width=PRIMARY.astype(float), owner=owner)
    narrow = rectangle(insiders)
    failed = prove(SYSTEM, insiders, narrow).failed
    assert set(failed) == {(0, 2), (9, 1)}
    assert exposed(SYSTEM, insiders, narrow.withheld) == []
    assert exposed(SYSTEM, insiders, narrow.withheld, 1) == [9]
    wider = suppress(DIMENSIONS, insiders)
    assert prove(SYSTEM, insiders, wider).safe
    assert wider.bare == 2
    assert (wider.values == Mark.SECONDARY).sum() > 2


def test_certificates_of_another_table_are_refused(pattern: Pattern) -> None:
    other = sparse.csr_matrix((2, 3), dtype=np.int64)
    with pytest.raises(InternalError, match="column for each cell"):
        prove(SYSTEM, PROBLEM, replace(pattern, certificates=other))
