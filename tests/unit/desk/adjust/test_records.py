"""Adjusted records: every cell once, sensitive ones protected or marked, near the optimum."""

from __future__ import annotations

from itertools import combinations, product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize, sparse

from discreet.desk.adjust.records import CellRows, adjust_records, cell_rows, needs_of
from discreet.desk.sensitivity import Dominance, PriorPosterior, Threshold
from discreet.errors import ParameterError
from discreet.solve.solution import Status
from discreet.synth.business import DIMENSIONS, draw
from discreet.table.hierarchy import Hierarchy

# A tree of uneven depth (code 3 is right below the total), a flat dimension, one without a total.
TREE = Hierarchy((4, 4, 4, 5, 5, -1))
FLAT = Hierarchy.flat(3)
OPEN = Hierarchy.flat(2, total=False)
Cells = dict[tuple[int, ...], tuple[int, ...]]
TEN_PERCENT = PriorPosterior(10).amount


def rng(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


def records(seed: int, number: int, trees: list[Hierarchy]) -> tuple[np.ndarray, np.ndarray]:
    draws = rng(seed)
    codes = np.stack([draws.choice(tree.leaves, number) for tree in trees], axis=1)
    return codes, np.rint(draws.lognormal(5, 1.5, number)) + 1


def path(tree: Hierarchy, code: int) -> list[int]:
    """The code and those it is part of, written as they are defined."""
    return [code, *([] if tree.parents[code] < 0 else path(tree, tree.parents[code]))]


def kept(trees: list[Hierarchy], cell: tuple[int, ...]) -> int:
    """How many dimensions of a cell are no total."""
    return sum(
        tree.parents.count(-1) != 1 or tree.parents[code] >= 0
        for tree, code in zip(trees, cell, strict=True)
    )


def naive(codes: np.ndarray, trees: list[Hierarchy], most: int) -> tuple[Cells, int]:
    """Every published cell with its contributors, and the number of equations."""
    cells: dict[tuple[int, ...], list[int]] = {}
    for record, row in enumerate(codes.tolist()):
        for cell in product(*(path(tree, code) for tree, code in zip(trees, row, strict=True))):
            if kept(trees, cell) <= most:
                cells.setdefault(cell, []).append(record)
    equations = 0
    for cell in cells:
        for d, tree in enumerate(trees):
            if cell[d] in tree.parents:
                # The parts of a total keep one dimension more: are they published?
                child = (*cell[:d], tree.parents.index(cell[d]), *cell[d + 1 :])
                equations += kept(trees, child) <= most
    return {cell: tuple(found) for cell, found in cells.items()}, equations


def as_sets(rows: CellRows) -> dict[tuple[int, ...], list[int]]:
    """Contributors → number of cells by order, those of one record included."""
    found = {
        tuple(sorted(rows.members[a:b].tolist())): rows.cells[row].tolist()
        for row, (a, b) in enumerate(zip(rows.starts[:-1], rows.starts[1:], strict=True))
    }
    found |= {(i,): cells.tolist() for i, cells in enumerate(rows.alone) if cells.any()}
    return found


@pytest.mark.parametrize("trees", [[TREE, FLAT], [FLAT, TREE, FLAT], [TREE] * 4])
@pytest.mark.parametrize("order", [1, 2])
def test_all_tables_chosen_are_the_tables_of_an_order(trees: list[Hierarchy], order: int) -> None:
    codes, values = records(order, 40, trees)
    tables = list(combinations(range(len(trees)), order))
    every, chosen = (
        cell_rows(codes, trees, values, order),
        cell_rows(codes, trees, values, tables=tables),
    )
    assert as_sets(chosen) == as_sets(every)
    assert (chosen.cell_count, chosen.equations) == (every.cell_count, every.equations)
    np.testing.assert_array_equal(
        np.sort(chosen.largest - chosen.second), np.sort(every.largest - every.second)
    )


def test_chosen_tables_have_their_own_cells_and_no_others() -> None:
    # Two records, apart in the first dimension alone; tables by it and by the other two. The total,
    # and of the second table one cell by each and one by both, hold both records: a row of 4 cells.
    trees = [FLAT, FLAT, FLAT]
    rows = cell_rows(np.array([[0, 1, 1], [1, 1, 1]]), trees, [5.0, 7.0], tables=[[0], [2, 1]])
    assert as_sets(rows) == {(0, 1): [1, 2, 1], (0,): [0, 1, 0], (1,): [0, 1, 0]}
    # Total by each of three dimensions; the two cells by one of the last two, by the other.
    assert rows.equations == 5


@given(
    st.integers(0, 10_000),
    st.integers(1, 40),
    st.sampled_from([[TREE], [TREE, FLAT], [FLAT, TREE, FLAT], [OPEN, TREE, FLAT], [TREE] * 4]),
    st.integers(1, 4),
)
@settings(max_examples=60, deadline=None)
def test_rows_are_the_contributors_of_a_naive_enumeration(
    seed: int, number: int, trees: list[Hierarchy], most: int
) -> None:
    codes, values = records(seed, number, trees)
    order = min(most, len(trees))
    rows = cell_rows(codes, trees, values, order=order)
    cells, equations = naive(codes, trees, order)
    wanted: dict[tuple[int, ...], list[int]] = {}
    for cell, members in cells.items():
        counts = wanted.setdefault(members, [0] * (order + 1))
        counts[kept(trees, cell)] += 1
    assert as_sets(rows) == wanted
    assert rows.cell_count == len(cells)
    assert rows.equations == equations


# The inner cells of the 8 × 7 × 3 table in [Dandekar, Figure 4]: level, row, column, value.
DANDEKAR = (
    (1, 1, 2, 3707), (1, 1, 4, 360), (1, 3, 3, 998), (1, 3, 5, 2930), (1, 4, 6, 1130),
    (1, 5, 4, 3188), (1, 6, 2, 1180), (1, 6, 3, 2808), (1, 6, 5, 136), (1, 6, 6, 660),
    (1, 7, 1, 1048), (2, 1, 4, 2645), (2, 2, 5, 3388), (2, 4, 1, 664), (2, 6, 1, 390),
    (2, 7, 2, 1364), (2, 7, 4, 2948), (2, 7, 6, 3090),
)  # fmt: skip


def test_cells_and_equations_are_counted_as_in_print() -> None:
    # "73 Non-zero Table Cells", "72 Equality Constraints" [Dandekar, Figure 3].
    inner = np.array(DANDEKAR)
    trees = [Hierarchy.flat(size) for size in (2, 7, 6)]
    rows = cell_rows(inner[:, :3] - 1, trees, inner[:, 3])
    assert (rows.cell_count, rows.equations) == (73, 72)


def test_businesses_in_nine_dimensions_have_the_cells_of_a_naive_enumeration() -> None:
    trees = [Hierarchy(dimension.tree) for dimension in DIMENSIONS]
    businesses = draw(20)
    rows = cell_rows(businesses.codes, trees, businesses.turnover)
    cells, equations = naive(businesses.codes, trees, 9)
    assert (rows.cell_count, rows.equations) == (len(cells), equations)
    assert rows.size == len({members for members in cells.values() if len(members) > 1})


@given(st.integers(0, 10_000), st.integers(2, 30), st.integers(1, 30))
@settings(max_examples=40, deadline=None)
def test_the_two_largest_contributions_of_a_row_are_by_holding(
    seed: int, number: int, holdings: int
) -> None:
    trees = [TREE, FLAT]
    codes, values = records(seed, number, trees)
    owner = rng(seed + 1).integers(0, holdings, number)
    rows = cell_rows(codes, trees, values, holdings=owner)
    for row in range(rows.size):
        members = rows.members[rows.starts[row] : rows.starts[row + 1]]
        sums = np.bincount(owner[members], values[members])
        first, second = sorted([*sums, 0.0], reverse=True)[:2]
        assert rows.total[row] == pytest.approx(values[members].sum())
        assert (rows.largest[row], rows.second[row]) == pytest.approx((first, second))


def test_the_protection_of_the_p_percent_rule() -> None:
    need = TEN_PERCENT
    # Alone; two; 100, 50 and 5: the rest of 5 hides 5 of the 10 needed; a rest of 10 hides all.
    total, largest, second = np.array(
        [[100.0, 100.0, 0.0], [150.0, 100.0, 50.0], [155.0, 100.0, 50.0], [160.0, 100.0, 50.0]]
    ).T
    assert need(total, largest, second).tolist() == pytest.approx([10.0, 10.0, 5.0, 0.0])


@given(st.integers(0, 10_000), st.integers(2, 25), st.integers(1, 3), st.booleans())
@settings(max_examples=30, deadline=None)
def test_sensitive_cells_reach_their_protection_or_are_marked(
    seed: int, number: int, order: int, owned: bool
) -> None:
    trees = [TREE, FLAT, FLAT]
    codes, values = records(seed, number, trees)
    owner = rng(seed).integers(0, max(1, number // 2), number) if owned else np.arange(number)
    rows = cell_rows(codes, trees, values, order=order, holdings=owner)
    found = adjust_records(rows, TEN_PERCENT, rng(seed), effort=0.05)
    assert (found.records >= 0).all()
    assert (np.abs(found.records - values) <= 0.3 * values * (1 + 1e-9)).all()
    entries = {
        tuple(sorted(rows.members[a:b].tolist())): row
        for row, (a, b) in enumerate(zip(rows.starts[:-1], rows.starts[1:], strict=True))
    } | {(i,): rows.size + i for i in range(number)}
    short = 0
    for members in naive(codes, trees, order)[0].values():
        at = list(members)
        entry = entries[members]
        # Additive: what is released is the sum of the adjusted records, of every cell.
        assert found.released[entry] == pytest.approx(found.records[at].sum())
        sums = sorted([*np.bincount(owner[at], values[at]), 0.0], reverse=True)
        needed = 0.1 * sums[0] - sum(sums[2:])
        assert found.sensitive[entry] == (needed > 1e-9)
        reached = abs(found.records[at].sum() - values[at].sum())
        if needed > 1e-9 and reached < needed * (1 - 1e-6):
            assert found.short[entry]
            short += 1
    assert found.short_cells == short
    assert found.status is (Status.RELAXED if short else Status.FEASIBLE)


def _optimum(rows: CellRows, need: np.ndarray, own: np.ndarray, unit: np.ndarray) -> float:
    """The least cost with every protection reached, by an integer programme written anew."""
    n, m = rows.records, rows.size
    most = 0.3 * rows.values
    matrix = sparse.csr_matrix((np.ones(len(rows.members)), rows.members, rows.starts), (m, n))
    sensitive, held = np.flatnonzero(need > 0), np.flatnonzero(own > 0)
    big = float(most.sum() + need.sum() + own.sum())
    # Unknowns: adjustments, costs, sides of sensitive rows, signs of records that are alone.
    size = n + m + len(sensitive) + len(held)
    lines, low = [], []

    def at_least(entries: dict[int, float], bound: float) -> None:
        row = np.zeros(size)
        row[list(entries)] = list(entries.values())
        lines.append(row)
        low.append(bound)

    for r in range(m):
        members = {int(i): 1.0 for i in matrix[r].indices}
        for sign in (1.0, -1.0):
            at_least({n + r: 1.0} | dict.fromkeys(members, -sign), -need[r])
    for k, r in enumerate(sensitive):
        members = {int(i): 1.0 for i in matrix[r].indices}
        at_least(members | {n + m + k: -big}, need[r] - big)
        at_least(dict.fromkeys(members, -1.0) | {n + m + k: big}, need[r])
    for k, i in enumerate(held):
        at_least({int(i): 1.0, n + m + len(sensitive) + k: -big}, own[i] - big)
        at_least({int(i): -1.0, n + m + len(sensitive) + k: big}, own[i])
    binaries = len(sensitive) + len(held)
    found = optimize.milp(
        np.concatenate([np.zeros(n), unit, np.zeros(binaries)]),
        constraints=optimize.LinearConstraint(np.array(lines), low),
        bounds=optimize.Bounds(
            np.concatenate([-most, np.zeros(m + binaries)]),
            np.concatenate([most, np.full(m, np.inf), np.ones(binaries)]),
        ),
        integrality=np.concatenate([np.zeros(n + m), np.ones(binaries)]),
    )
    return float(found.fun) if found.success else np.inf


@pytest.mark.parametrize("seed", range(5))
def test_the_cost_is_within_a_quarter_of_an_integer_programme(seed: int) -> None:
    trees = [FLAT, FLAT]
    codes, values = records(seed, 12, trees)
    rows = cell_rows(codes, trees, values)
    found = adjust_records(rows, TEN_PERCENT, rng(seed), order_weights=np.ones(3))
    need, own = found.needed[: rows.size], found.needed[rows.size :]
    # Cells weigh one each, in units of their mean; a sensitive row at least that mean.
    weight = rows.cells.sum(axis=1) / rows.cells.sum(axis=1).mean()
    unit = np.where(need > 0, np.maximum(weight, 1), weight) / rows.total
    change = np.abs(rows.sums(found.records - values))
    cost = float((unit * np.maximum(change - need, 0)).sum())
    best = _optimum(rows, need, own, unit)
    assert np.isfinite(best)
    assert found.status is Status.FEASIBLE
    assert best - 1e-9 <= cost <= 1.25 * best + 1e-9


def test_fixed_totals_are_kept_and_protection_with_them() -> None:
    trees = [Hierarchy(dimension.tree) for dimension in DIMENSIONS]
    businesses = draw(2_000)
    rows = cell_rows(businesses.codes, trees, businesses.turnover, order=2)
    need = TEN_PERCENT(rows.total, rows.largest, rows.second)
    # The total, and one-way totals with room to move: those of a hundred records and more.
    fixed = (rows.cells[:, :2].sum(axis=1) > 0) & (np.diff(rows.starts) >= 100)
    assert fixed.sum() > 40
    assert (need[fixed] == 0).all()
    found = adjust_records(rows, TEN_PERCENT, rng(), capacity=1.0, fixed=fixed, effort=0.1)
    change = (found.released - found.true)[: rows.size]
    assert np.abs(change[fixed]).max() <= 1e-6 * rows.total[fixed].min()
    assert found.short_cells < 0.01 * found.cells[found.sensitive].sum()


def test_order_weights_move_the_changes_to_where_they_weigh_less() -> None:
    trees = [Hierarchy(dimension.tree) for dimension in DIMENSIONS]
    businesses = draw(500)
    rows = cell_rows(businesses.codes, trees, businesses.turnover, order=3)

    def of_order(found: np.ndarray, order: int) -> float:
        relative = np.abs(rows.sums(found - rows.values)) / rows.total
        return float(np.average(relative, weights=rows.cells[:, order]))

    coarse = adjust_records(
        rows, TEN_PERCENT, rng(), order_weights=[1, 1, 0, 0], effort=0.3
    ).records
    fine = adjust_records(rows, TEN_PERCENT, rng(), order_weights=[0, 0, 0, 1], effort=0.3).records
    assert of_order(coarse, 1) < of_order(fine, 1)


def test_the_same_seed_gives_the_same_records() -> None:
    codes, values = records(3, 60, [TREE, FLAT, FLAT])
    rows = cell_rows(codes, [TREE, FLAT, FLAT], values)
    one, two, other = (
        adjust_records(rows, TEN_PERCENT, rng(seed), effort=0.1).records for seed in (1, 1, 2)
    )
    assert np.array_equal(one, two)
    assert not np.array_equal(one, other)


def test_stopping_keeps_what_is_found_and_marks_what_is_short() -> None:
    codes, values = records(3, 60, [TREE, FLAT, FLAT])
    rows = cell_rows(codes, [TREE, FLAT, FLAT], values)

    def stop(_stage: str, done: int, _total: int | None) -> None:
        if done == 3:
            raise KeyboardInterrupt

    found = adjust_records(rows, TEN_PERCENT, rng(), tell=stop)
    assert found.status is Status.STOPPED
    reached = np.abs(found.released - found.true)
    assert (found.short | (reached >= found.needed * (1 - 1e-9))).all()


def test_a_single_record_changes_by_its_protection_alone() -> None:
    rows = cell_rows([[0]], [FLAT], [100.0])
    assert (rows.size, rows.cell_count, rows.equations) == (0, 2, 1)
    found = adjust_records(rows, TEN_PERCENT, rng())
    assert abs(found.records[0] - 100) == pytest.approx(10)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"codes": [[0.5]]}, "codes must be integers"),
        ({"codes": [[0, 1]]}, "a column for each of 1 dimensions"),
        ({"codes": [[3]]}, "codes of dimension 0 must be inner codes"),
        ({"values": [1.0, 2.0]}, "values must be one for each record. Got 2 for 1."),
        ({"values": [-1.0]}, "values must be finite numbers of 0 or more"),
        ({"order": 2}, "order must be from 0 to 1. Got 2."),
        ({"holdings": [1, 2]}, "holdings must be one for each record. Got 2."),
        ({"dimensions": [OPEN], "order": 0}, "order must be at least 1"),
    ],
)
def test_records_that_make_no_table_are_refused(arguments: dict[str, object], message: str) -> None:
    given = {"codes": [[0]], "dimensions": [FLAT], "values": [1.0], **arguments}
    with pytest.raises(ParameterError, match=message):
        cell_rows(**given)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"capacity": 1.5}, "capacity must be shares of the value from 0 to 1"),
        ({"fixed": [True]}, "fixed must have one entry for each of 1 rows"),
        ({"order_weights": [1.0]}, "order_weights must be 2 numbers of 0 or more"),
        ({"price": 0.0}, "price must be above 0. Got 0.0."),
    ],
)
def test_bad_values_are_refused(arguments: dict[str, object], message: str) -> None:
    rows = cell_rows([[0], [1], [2], [2]], [FLAT], [5.0, 6.0, 7.0, 1.0])
    if "fixed" in arguments:
        arguments = {"fixed": [True] * (rows.size + 1)}
        message = f"fixed must have one entry for each of {rows.size} rows"
    with pytest.raises(ParameterError, match=message):
        adjust_records(rows, TEN_PERCENT, rng(), **arguments)


def test_a_sensitive_cell_is_not_fixed() -> None:
    rows = cell_rows([[0], [0]], [FLAT], [5.0, 6.0])
    with pytest.raises(ParameterError, match="a sensitive cell must not be fixed"):
        adjust_records(rows, TEN_PERCENT, rng(), fixed=[True])


def test_every_rule_says_what_a_row_of_records_needs() -> None:
    # One dimension, one code: 100, 50, 30 and 20; the last two are of one holding.
    trees = [Hierarchy.flat(2)]
    codes = np.array([[0], [0], [0], [0], [1]])
    rows = cell_rows(codes, trees, [100.0, 50, 30, 20, 800], holdings=[1, 2, 3, 3, 4])
    row = int(np.flatnonzero(rows.total == 200)[0])
    assert rows.ranked[row].tolist() == [100, 50, 50, 0, 0]
    assert rows.contributors[row] == 3
    # Two largest 150 of 200, 75%: sensitive at 70, by 150/0.7 − 200. One largest 100: 50%, safe.
    assert needs_of(rows, [Dominance(2, 70)])[0][row] == pytest.approx(150 / 0.7 - 200)
    assert needs_of(rows, [Dominance(1, 50)])[0][row] == 0
    # Three contributors are fewer than 4: 10% of 200. The strictest rule counts.
    assert needs_of(rows, [Threshold(4)])[0][row] == pytest.approx(20)
    both = needs_of(rows, [Threshold(4), Dominance(2, 70)])[0][row]
    assert both == pytest.approx(20)
    # pq with p = 40, q = 80: 40·100/80 − 50 = 0, safe; p = 60: 75 − 50.
    assert needs_of(rows, [PriorPosterior(40, 80)])[0][row] == 0
    assert needs_of(rows, [PriorPosterior(60, 80)])[0][row] == pytest.approx(25)
    # 800 alone in its cell: its own need by the threshold is 80.
    assert needs_of(rows, [Threshold(2)])[1].tolist() == pytest.approx([10, 5, 3, 2, 80])


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_what_the_search_leaves_short_is_repaired_and_figures_stay_whole(seed: int) -> None:
    # All tables of three dimensions with 300 records; hardly any search, so that much is short.
    trees = [TREE, FLAT, Hierarchy.flat(4)]
    codes, values = records(seed, 300, trees)
    rows = cell_rows(codes, trees, values)
    needs = needs_of(rows, [PriorPosterior(15), Threshold(3)])
    found = adjust_records(rows, needs, rng(seed), effort=0.01, decimals=0)
    assert found.status is Status.FEASIBLE
    assert found.decimals == 0
    np.testing.assert_array_equal(found.records, np.rint(found.records))
    cells, _ = naive(codes, trees, 3)
    change = found.records - values
    for contributors in cells.values():
        members = np.array(contributors)
        x = np.sort(values[members])[::-1]
        need = 0.15 * x[0] - (x.sum() - x[0] - (x[1] if len(x) > 1 else 0))
        if len(x) < 3:
            need = max(need, 0.1 * x.sum())
        assert abs(change[members].sum()) >= need - 1e-9
    assert (found.records >= 0).all()


def test_who_waits_for_the_adjustment_of_records_to_be_compiled_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from discreet import compiling, desk

    monkeypatch.setattr(compiling, "_cold", lambda kernel: True)
    path = tmp_path / "firms.csv"
    firms = [f"{'ab'[i % 2]},{'xyz'[i % 3]},{(i * 37) % 101 + 1}" for i in range(24)]
    path.write_text("area,kind,value\n" + "\n".join(firms) + "\n")
    told: list[str] = []
    desk.adjust_records(
        path, "p=10", by=["area", "kind"], value="value", seed=1,
        tell=lambda stage, *_: told.append(stage),
    )  # fmt: skip
    assert told[0] == "compiling"
    assert told.count("compiling") == 2
