"""Adjustment of JJ files, against a hand calculation and the same table read as a table."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from discreet.desk.adjust import Weight
from discreet.desk.adjust.jj import JJReport, adjust_jj, jj_of
from discreet.desk.adjust.magnitudes import adjust_exactly, problem
from discreet.desk.cells import CellTable
from discreet.desk.sensitivity import Given, required
from discreet.solve.solution import Status
from discreet.solve.system import TableSystem
from discreet.table.jj import read_jj, write_jj

# Two linked tables that share the total by area: area x is 30 = 10 + 20 by branch = 5 + 25 by size.
LINKED = """0
5
0 10 1 u 0 100 5 5 0
1 20 1 s 0 100 0 0 0
2 5 1 u 0 100 2 2 0
3 25 1 s 0 100 0 0 0
4 30 1 z 30 30 0 0 0
2
0 3 : 0 (1) 1 (1) 4 (-1)
0 3 : 2 (1) 3 (1) 4 (-1)
"""


def test_linked_cells_move_and_the_kept_total_stays(tmp_path: Path) -> None:
    path, out = tmp_path / "linked.jj", tmp_path / "out.jj"
    path.write_text(LINKED)
    report = adjust_jj(read_jj(path), "out.jj", weight=Weight.ONE)
    # The total is kept, so each sensitive cell takes its amount from its neighbour: 5·2 + 2·2.
    assert report.facts["status"] == "solved"
    assert report.facts["cost"] == pytest.approx(14)
    assert np.abs(report.change).tolist() == [5, 5, 2, 2, 0]
    report.write(out)
    released = read_jj(out)
    assert set(released.status.tolist()) == {"s"}
    assert not released.lower.any()
    np.testing.assert_array_equal(released.values, report.values)


def test_what_cannot_be_protected_is_not_written(tmp_path: Path) -> None:
    path, out = tmp_path / "linked.jj", tmp_path / "out.jj"
    # Branch 20 may move by 1 only: the 5 of its neighbour have nowhere to go.
    path.write_text(LINKED.replace("1 20 1 s 0 100", "1 20 1 s 19 21"))
    report = adjust_jj(read_jj(path), "out.jj")
    assert report.facts["short"] == [0]
    # Not proved: 2.5 up and 2.5 down at once would do for the linear programme.
    assert report.facts["status"] == "relaxed"
    assert not report.released
    with pytest.raises(Exception, match="NOT PROTECTED"):
        report.write(out)
    assert not out.exists()


def test_a_table_as_a_jj_file_costs_the_same(tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    system = TableSystem.of((4, 5))
    values = system.values(np.round(rng.lognormal(5, 1, 20)) + 20)
    flags = np.zeros((5, 6), bool)
    flags[:4, :5] = rng.random((4, 5)) < 0.4
    need = np.where(flags, np.ceil(0.1 * values), np.nan)
    parents = ((4, 4, 4, 4, -1), (5, 5, 5, 5, 5, -1))
    codes = (("a", "b", "c", "d", "_T"), ("p", "q", "r", "s", "t", "_T"))
    table = CellTable(
        ("x", "y"), codes, parents, values, False, sensitive=flags, lower=need, upper=need
    )
    path = tmp_path / "table.jj"
    write_jj(jj_of(table, required(table, [Given()])), path)
    report = adjust_jj(read_jj(path), "out.jj")
    whole = np.nan_to_num(need)
    best = adjust_exactly(problem(system, values, flags, whole, whole, 1 / values))
    assert report.facts["status"] == best.status == "solved"
    assert report.facts["cost"] == pytest.approx(best.cost)
    assert (report.values == np.rint(report.values)).all()


def test_digits_that_give_moved_figures_away_are_told(tmp_path: Path) -> None:
    path = tmp_path / "linked.jj"
    path.write_text(LINKED)
    table = read_jj(path)
    moved = np.array([5.5, -5.5, 2.0, -2.0, 0.0])
    report = JJReport("linked.jj", table, moved, Status.FEASIBLE, np.nan, Weight.ONE)
    # All five figures are whole; of the four that moved two are not any more.
    assert report.facts["digits"]["off"] == 2
    assert report.facts["digits"]["moved"] == 4
    assert any("DIGITS" in line for line in report.lines)
    assert adjust_jj(table, "linked.jj").facts["digits"] is None
