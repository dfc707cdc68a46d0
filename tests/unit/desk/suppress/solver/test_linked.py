"""Any equations: linked tables as one system, safe by the attacker's programmes over all of it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.desk.suppress.solver import Mark, Problem, exposed, suppress_linked, views
from discreet.errors import ParameterError
from discreet.solve.solution import Status
from discreet.solve.system import TableSystem


def linked() -> TableSystem:
    """Two tables of 3 × 3 by the same rows: the row totals and the grand total are shared."""
    one = TableSystem.of((3, 3))
    keys: list[object] = []
    for table in "ab":
        for row in range(4):
            keys += [(row,) if column == 3 else (row, table, column) for column in range(4)]
    return TableSystem.joined([one, one], keys)  # type: ignore[arg-type]


def test_shared_cells_are_one_variable_and_equations_of_both_hold() -> None:
    system = linked()
    # 2 · 16 cells, of which the 4 totals of the rows are shared.
    assert system.variables == 28
    assert np.array_equal(system.variable[3::4][:4], system.variable[3::4][4:])
    # 7 equations of rows and columns and of each table's totals, twice, one of them (the grand
    # total as the sum of the row totals) shared: 8 + 8 − 1.
    assert system.equations.shape[0] == 15


def test_keys_must_be_one_a_cell() -> None:
    with pytest.raises(ParameterError, match="one for each cell"):
        TableSystem.joined([TableSystem.of((2, 2))], [1, 2])


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 2**32 - 1), st.booleans())
def test_linked_tables_are_safe_together(seed: int, insiders: bool) -> None:
    rng = np.random.default_rng(seed)
    system = linked()
    cube = rng.poisson(rng.gamma(0.7, 4, (3, 3, 3)))
    tables = [cube.sum(2), cube.sum(1)]
    single = TableSystem.of((3, 3))
    values = np.concatenate([single.values(table).ravel() for table in tables])
    primary = (values > 0) & (values <= 2)
    # A total of one has the owner of its part; such tables are left to other tests.
    total = (np.arange(32) % 4 == 3) | (np.arange(32) % 16 >= 12)
    known = (values == 1) & insiders & (values[total] > 1).all()
    owner = np.where(known, system.variable, -1)
    problem = Problem.of(
        values, primary, np.where(values == 0, np.inf, 1.0), np.where(primary, 1.0, 0.0),
        owner=owner,
    )  # fmt: skip
    pattern = suppress_linked(system, problem, effort=0.05)
    if not primary.any():
        assert not pattern.withheld.any()
        return
    assert pattern.status in (Status.FEASIBLE, Status.INFEASIBLE)
    if pattern.status is Status.INFEASIBLE:
        # Nothing more could have been withheld: the cell is exposed whatever is.
        everything = ~problem.forbidden
        assert any(exposed(system, problem, everything, who) for who in views(problem, everything))
        return
    for who in views(problem, pattern.withheld):
        assert exposed(system, problem, pattern.withheld, who) == []


def test_cells_that_were_never_to_be_published_cost_nothing() -> None:
    # Without the totals of the second table's columns, its cells are free to move.
    values = TableSystem.of((2, 2)).values([[1, 5], [6, 7]]).ravel()
    absent = np.zeros(9, bool)
    absent[[1, 3, 4]] = True
    problem = Problem.of(values, values == 1, width=(values == 1) * 1.0, absent=absent)
    pattern = suppress_linked(TableSystem.of((2, 2)), problem)
    assert (pattern.values == Mark.SECONDARY).sum() == 0
    assert (pattern.values == Mark.ABSENT).sum() == 3
