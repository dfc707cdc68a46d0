"""Small tables: the cheapest pattern at once, proved twice, and nothing compiled for it."""

from __future__ import annotations

from typing import NoReturn

import numpy as np
import pytest
from numpy.typing import NDArray

from discreet import compiling
from discreet.desk.suppress.solver import Mark, Problem, examined, optimum, prove, suppress
from discreet.desk.suppress.solver.tiny import MOST, proved_at_once
from discreet.solve.solution import Status
from discreet.solve.system import TableSystem
from discreet.table.hierarchy import Hierarchy

FLAT = [Hierarchy.flat(3)] * 2
SYSTEM = TableSystem.of((3, 3))


def with_totals(inner: NDArray[np.int64]) -> NDArray[np.int64]:
    for axis in range(inner.ndim):
        inner = np.concatenate([inner, inner.sum(axis, keepdims=True)], axis)
    return inner


def watched(table: NDArray[np.int64]) -> Problem:
    """Ones and twos are sensitive; one person stands alone in each one."""
    primary = (table > 0) & (table <= 2)
    inner = np.zeros(table.shape, bool)
    inner[tuple(slice(-1) for _ in table.shape)] = True
    owner = np.where((table == 1) & inner, np.arange(table.size).reshape(table.shape), -1)
    weights = np.where(table == 0, np.inf, np.log1p(table))
    return Problem.of(table, primary, weights, width=primary.astype(float), owner=owner)


def test_a_rectangle_of_two_lone_people_takes_more_cells_than_readers_alone_would() -> None:
    # Readers cannot tell the two ones from the fives beside them. Either person can, who knows
    # their own one and so every corner: more cells are needed, and the report says how many.
    problem = watched(with_totals(np.array([[1, 5, 6], [7, 8, 9], [5, 1, 5]])))
    found = suppress(FLAT, problem)
    assert (found.status, found.gap) == (Status.SOLVED, 0.0)
    assert found.bare == 2
    assert int((found.values == Mark.SECONDARY).sum()) > 2
    assert prove(SYSTEM, problem, found).safe
    assert examined(SYSTEM, problem, found.withheld).safe


@pytest.mark.parametrize(
    ("seed", "shape"),
    [*((seed, (3, 3)) for seed in range(6)), (0, (5, 4)), (2, (5, 4)), (0, (7, 6)), (2, (7, 6))],
)
def test_no_pattern_is_cheaper_and_each_is_proved_in_whole_numbers(
    seed: int, shape: tuple[int, int]
) -> None:
    problem = watched(with_totals(np.random.default_rng(seed).integers(1, 12, shape)))
    system = TableSystem.of(shape)
    found = proved_at_once(system, problem)
    assert found is not None
    assert prove(system, problem, found).safe
    best = optimum(system, problem, found)
    assert problem.total(best.values) == problem.total(found.values)


def test_nothing_is_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    def compiled(kernel: compiling.Kernel) -> NoReturn:
        raise AssertionError(f"{kernel.py_func.__name__} is compiled")

    monkeypatch.setattr(compiling.Kernel, "compiled", compiled)
    problem = watched(with_totals(np.array([[1, 12, 7], [9, 2, 5], [8, 4, 1]])))
    assert suppress(FLAT, problem).gap == 0.0


def test_larger_tables_are_searched() -> None:
    table = with_totals(np.ones((12, 12), np.int64))
    assert table.size > MOST
    assert proved_at_once(TableSystem.of((12, 12)), watched(table)) is None


def test_what_cannot_be_protected_is_left_to_the_search_which_names_it() -> None:
    table = with_totals(np.array([[1, 5, 6], [7, 8, 9], [5, 3, 5]]))
    problem = Problem.of(table, table == 1, np.inf, width=(table == 1).astype(float))
    assert proved_at_once(SYSTEM, problem) is None
    assert suppress(FLAT, problem).failed == (0,)


@pytest.mark.parametrize("solved", [True, False])
def test_who_waits_for_the_search_to_be_compiled_is_told(
    solved: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compiling, "_cold", lambda kernel: True)
    told: list[str] = []
    columns = 3 if solved else 40
    table = with_totals(np.arange(1, 3 * columns + 1).reshape(3, columns))
    dimensions = [Hierarchy.flat(3), Hierarchy.flat(columns)]
    suppress(dimensions, watched(table), 0.01, lambda stage, *_: told.append(stage))
    assert ("compiling" in told) is not solved
