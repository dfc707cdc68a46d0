"""Carriers of linked tables: against every combination tried, and what the tables must keep."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from discreet.desk.adjust import Norm, Weight, jj
from discreet.desk.adjust.carriers import adjust_carried, carriers_of, kernels
from discreet.desk.adjust.carriers.find import Search, further
from discreet.desk.adjust.carriers.members import members_of
from discreet.desk.adjust.carriers.mend import mended
from discreet.errors import InternalError
from discreet.solve.layout import Laid, laid_out
from discreet.solve.solution import Status
from discreet.solve.system import TableSystem
from discreet.table.hierarchy import Hierarchy
from discreet.table.jj import KEPT, SAFE, UNSAFE, JJTable

# Three dimensions, the last with a group of its first two codes; two tables over pairs of them.
TREES = (Hierarchy.flat(4), Hierarchy.flat(3), Hierarchy((3, 3, 4, 4, -1)))
PAIRS = ((0, 1), (1, 2))


def linked(seed: int, records: int = 40) -> JJTable:
    """The cells of both tables of random records, each once; a cell of one record is sensitive."""
    rng = np.random.default_rng(seed)
    codes = np.stack([rng.choice(tree.leaves, records) for tree in TREES], axis=1)
    values = np.rint(rng.lognormal(5, 1, records)) + 10
    systems, keys, sums, many = [], [], [], []
    for pair in PAIRS:
        trees = [TREES[d] for d in pair]
        systems.append(TableSystem.table(trees))
        for at in product(*(range(len(tree)) for tree in trees)):
            paths = zip(pair, at, trees, strict=True)
            inside = np.ones(records, bool)
            for d, code, tree in paths:
                inside &= [code in tree.path(own) for own in codes[:, d].tolist()]
            keys.append(
                tuple((d, c) for d, c in zip(pair, at, strict=True) if c < len(TREES[d]) - 1)
            )
            sums.append(values[inside].sum())
            many.append(int(inside.sum()))
    system = TableSystem.joined(systems, keys)
    total, number = np.zeros(system.variables), np.zeros(system.variables)
    total[system.variable], number[system.variable] = sums, many
    flags = number == 1
    need = np.where(flags, 0.1 * total, 0.0)
    none = np.zeros(len(total))
    return JJTable(
        total, none + 1, np.where(flags, UNSAFE, np.where(total > 0, SAFE, KEPT)), none,
        np.where(total > 0, np.inf, 0.0), need, need, none, system.equations,
        np.zeros(system.equations.shape[0]),
    )  # fmt: skip


def tables_of(table: JJTable) -> list[Laid]:
    found = laid_out(table.equations)
    assert found is not None
    return found


def need_of(table: JJTable) -> np.ndarray:
    return np.where(table.sensitive, table.upper, 0.0)


def cells_at(tables: list[Laid], codes: tuple[int, ...]) -> list[int]:
    """The inner cells of a combination of codes, one in each table."""
    return [int(one.cells[tuple(codes[d] for d in one.dimensions)]) for one in tables]


@pytest.mark.parametrize("seed", range(5))
def test_the_best_combination_is_the_best_of_all(seed: int) -> None:
    table = linked(seed)
    tables = tables_of(table)
    search = Search(tables, len(table))
    rng = np.random.default_rng(seed)
    room = np.append(table.values, 0.0)
    lack = np.append(table.values * (rng.random(len(table)) < 0.7), 0.0)
    leaves = [[code for code in row.tolist() if code >= 0] for row in search.leaves]

    def worth(codes: tuple[int, ...], amount: float) -> float:
        found = 0.0
        for cell in cells_at(tables, codes):
            if room[cell] < amount:
                return -np.inf
            if lack[cell] > 0:
                found += min(1.0, amount / lack[cell]) ** 3
            else:
                found -= 0.5 * amount / room[cell]
        return found

    for cell in search.inner[table.values[search.inner] > 0].tolist():
        given, amount = search.given[cell], float(table.values[cell]) / 2
        free = [[int(c)] if c >= 0 else leaves[d] for d, c in enumerate(given)]
        # The kernel counts the tables that a further dimension completes, not one given whole.
        whole = [one for one in tables if (given[list(one.dimensions)] >= 0).all()]
        own = sum(worth_of(one, given, amount, room, lack) for one in whole)
        best = max(worth(codes, amount) for codes in product(*free)) - own
        codes = given.copy()
        got = kernels.best_codes(
            codes, amount, search.leaves, search.order, search.held, search.dimensions,
            search.strides, search.starts, search.cells, room, lack, 1000,
        )  # fmt: skip
        assert got == pytest.approx(best)
        if best > -np.inf:
            assert worth(tuple(codes.tolist()), amount) - own == pytest.approx(best)


def worth_of(
    one: Laid, codes: np.ndarray, amount: float, room: np.ndarray, lack: np.ndarray
) -> float:
    """What one cell adds, written out."""
    cell = int(one.cells[tuple(codes[d] for d in one.dimensions)])
    if lack[cell] > 0:
        return float(min(1.0, amount / lack[cell]) ** 3)
    return float(-0.5 * amount / room[cell])


@pytest.mark.parametrize("seed", range(5))
def test_carriers_keep_to_the_room_of_every_cell(seed: int) -> None:
    table = linked(seed)
    tables = tables_of(table)
    found = carriers_of(tables, table.values, table.values / 2, need_of(table))
    reach = np.zeros(len(table))
    for codes, most in zip(found.codes.tolist(), found.most.tolist(), strict=True):
        for cell in cells_at(tables, tuple(codes)):
            reach[cell] += most
    search = Search(tables, len(table))
    inner = search.inner
    assert (reach[inner] <= table.values[inner] / 2 + 1e-6).all()
    # Somebody made each cell, so each has a combination with room: all can have what they need.
    assert (reach[inner] >= need_of(table)[inner] - 1e-6).all()


def test_a_cell_has_the_carriers_with_its_codes() -> None:
    table = linked(1)
    tables = tables_of(table)
    found = carriers_of(tables, table.values, table.values, need_of(table))
    members = members_of(tables, found, len(table)).toarray()
    assert set(np.unique(members)) <= {0.0, 1.0}
    for one in tables:
        for at in np.ndindex(one.cells.shape):
            expected = [
                all(
                    code in tree.path(own[d])
                    for d, code, tree in zip(one.dimensions, at, one.trees, strict=True)
                )
                for own in found.codes.tolist()
            ]
            assert members[one.cells[at]].tolist() == [float(flag) for flag in expected]


@pytest.mark.parametrize("seed", range(8))
def test_cells_are_protected_in_whole_figures_and_add_up(seed: int) -> None:
    table = linked(seed)
    rng = np.random.default_rng(seed)
    _, change = adjust_carried(
        tables_of(table), table.values, table.values, need_of(table), rng, decimals=0
    )
    assert (change == np.rint(change)).all()
    np.testing.assert_allclose(table.equations @ change, 0, atol=1e-9)
    assert (table.values + change >= 0).all()
    assert not change[table.values == 0].any()
    assert (np.abs(change) >= need_of(table) - 1e-9).all()


def test_long_lists_are_adjusted_by_carriers(monkeypatch: pytest.MonkeyPatch) -> None:
    table = linked(2)
    monkeypatch.setattr(jj, "MOST_LINEAR", 10)
    report = jj.adjust_jj(table, "long", weight=Weight.VALUE, seed=3)
    assert report.released
    assert (report.values == np.rint(report.values)).all()
    assert report.facts["status"] == "feasible"
    # The same seed gives the same figures.
    again = jj.adjust_jj(table, "long", weight=Weight.VALUE, seed=3)
    np.testing.assert_array_equal(report.values, again.values)


def test_what_carriers_cannot_keep_is_left_to_programmes(monkeypatch: pytest.MonkeyPatch) -> None:
    table = linked(2)
    monkeypatch.setattr(jj, "MOST_LINEAR", 10)

    def refuse(*_: object) -> None:
        raise AssertionError("carriers do not keep the bounds of sums.")

    monkeypatch.setattr(jj, "adjust_carried", refuse)
    total = int(np.argmax(table.values))
    status = table.status.copy()
    status[total] = KEPT
    kept = jj.adjust_jj(
        JJTable(
            table.values, table.costs, status, table.low, table.high, table.lower, table.upper,
            table.sliding, table.equations, table.right,
        ),
        "kept",
    )  # fmt: skip
    assert kept.released
    assert kept.change[total] == 0
    # No capacity, and no squares, either.
    jj.adjust_jj(table, "near", capacity=0.5)
    jj.adjust_jj(table, "squares", Norm.L2)
    with pytest.raises(AssertionError, match="bounds of sums"):
        jj.adjust_jj(table, "long")


@pytest.mark.parametrize("seed", range(5))
def test_whole_carriers_may_change_by_whole_numbers_within_the_room(seed: int) -> None:
    table = linked(seed)
    tables = tables_of(table)
    need = np.ceil(need_of(table))
    found = carriers_of(tables, table.values, table.values, need, whole=True)
    assert (found.most == np.rint(found.most)).all()
    # Rounded down, small ones would not move at all.
    assert (found.most >= 1).all()
    more = further(tables, found, table.values, need)
    assert (more.most == np.rint(more.most)).all()
    reach = np.zeros(len(table))
    for codes, most in zip(more.codes.tolist(), more.most.tolist(), strict=True):
        for cell in cells_at(tables, tuple(codes)):
            reach[cell] += most
    inner = Search(tables, len(table)).inner
    assert (reach[inner] <= table.values[inner] + 1e-6).all()


def test_cells_without_room_in_every_table_get_no_carrier() -> None:
    table = linked(1)
    tables = tables_of(table)
    # The second table cannot change, so nothing can be added to any combination of codes.
    room = table.values.copy()
    room[tables[1].cells] = 0.0
    found = carriers_of(tables, table.values, room, need_of(table))
    assert not len(found.values)
    more = further(tables, found, room, need_of(table))
    assert not len(more.values)


def one_needs(table: JJTable, cell: int) -> np.ndarray:
    return np.where(np.arange(len(table)) == cell, 5.0, 0.0)


def largest_inner(table: JJTable, one: Laid) -> int:
    inner = one.cells[np.ix_(*(tree.leaves for tree in one.trees))]
    return int(inner.flat[np.argmax(table.values[inner])])


@pytest.mark.parametrize("seed", range(5))
def test_a_short_cell_is_mended_by_one_carrier(seed: int) -> None:
    table = linked(seed)
    tables = tables_of(table)
    cell = largest_inner(table, tables[0])
    change = mended(tables, np.zeros(len(table)), table.values, one_needs(table, cell))
    # What one carrier adds is the same in all its cells.
    assert abs(change[cell]) == 5
    assert set(np.unique(change)) <= {0.0, change[cell]}
    assert not (table.equations @ change).any()
    assert (np.abs(change) <= table.values).all()


@pytest.mark.parametrize("seed", range(5))
def test_two_carriers_leave_tables_without_their_dimension_alone(seed: int) -> None:
    table = linked(seed)
    tables = tables_of(table)
    still = np.unique(tables[1].cells)
    room = table.values.copy()
    room[still] = 0.0
    cell = largest_inner(table, tables[0])
    change = mended(tables, np.zeros(len(table)), room, one_needs(table, cell))
    # Another cell of the same column gives what this one gets; rows of both change, columns do not.
    assert abs(change[cell]) >= 5
    assert not change[still].any()
    assert change.sum() == 0
    assert (change != 0).sum() == 4
    assert not (table.equations @ change).any()
    assert (np.abs(change) <= room).all()


def test_a_cell_that_nothing_can_mend_stays_short_and_nothing_else_moves() -> None:
    table = linked(1)
    tables = tables_of(table)
    cell = largest_inner(table, tables[0])
    room = np.where(np.arange(len(table)) == cell, table.values, 0.0)
    assert not mended(tables, np.zeros(len(table)), room, one_needs(table, cell)).any()


def test_changes_that_do_not_add_up_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    table = linked(2)
    monkeypatch.setattr(jj, "MOST_LINEAR", 10)

    def broken(tables: object, values: np.ndarray, *_: object) -> tuple[Status, np.ndarray]:
        return Status.FEASIBLE, np.where(np.arange(len(values)) == 0, 1.0, 0.0)

    monkeypatch.setattr(jj, "adjust_carried", broken)
    with pytest.raises(InternalError, match="do not add up"):
        jj.adjust_jj(table, "broken")
