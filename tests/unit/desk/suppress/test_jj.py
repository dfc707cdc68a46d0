"""Suppression of JJ files, against hand calculations and the same table read as a table."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import linprog

from discreet.desk import suppress
from discreet.desk.suppress.jj import jj_problem, suppress_jj
from discreet.desk.suppress.solver.lines import line_bound
from discreet.desk.suppress.solver.margins import search
from discreet.errors import ParameterError
from discreet.solve.layout import laid_out
from discreet.table.jj import JJTable, read_jj, write_jj

# Three rows and three columns with their totals; the 50 must be able to move by 5 either way.
FIGURES = [[20, 50, 10], [8, 19, 22], [17, 32, 12]]
LINES = [[4 * i + j for j in range(4)] for i in range(4)]
LINES += [[4 * i + j for i in range(4)] for j in range(4)]


def square(status: dict[int, str] | None = None, need: str = "5 5 0") -> str:
    """The table as a JJ file: a cell costs what it is worth, and others may have a status."""
    inner = np.array(FIGURES)
    rows = np.column_stack([inner, inner.sum(axis=1)])
    values = np.vstack([rows, rows.sum(axis=0)]).ravel().tolist()
    letters = {1: "u"} | (status or {})
    lines = ["0", "16"]
    for cell, value in enumerate(values):
        letter = letters.get(cell, "s")
        asked = need if letter == "u" else "0 0 0"
        lines.append(f"{cell} {value} {value} {letter} 0 1e+20 {asked}")
    lines.append("8")
    for a, b, c, total in LINES:
        lines.append(f"0 4 : {a} (1) {b} (1) {c} (1) {total} (-1)")
    return "\n".join(lines) + "\n"


def written(folder: Path, text: str) -> Path:
    path = folder / "problem.jj"
    path.write_text(text)
    return path


def ends(path: Path, withheld: np.ndarray, cell: int) -> tuple[float, float]:
    """What an attacker's two linear programmes find, by another solver interface."""
    table = read_jj(path)
    bounds = [
        (table.low[i], table.high[i]) if hidden else (value, value)
        for i, (value, hidden) in enumerate(zip(table.values, withheld, strict=True))
    ]
    aim = np.eye(len(table))[cell]
    found = [
        linprog(sign * aim, A_eq=table.equations, b_eq=table.right, bounds=bounds)
        for sign in (1, -1)
    ]
    assert all(one.status == 0 for one in found)
    return float(found[0].fun), float(-found[1].fun)


def test_the_cheapest_rectangle_is_withheld(tmp_path: Path) -> None:
    path = written(tmp_path, square())
    report = suppress(path, exact=True)
    # Beside the 50: 20 and 8 with 19 cost 47; 10 and 22 with 19 cost 51; 10 and 12 with 32 54; 20
    # and 17 with 32 69; those with totals more.
    assert np.flatnonzero(report.withheld).tolist() == [0, 1, 4, 5]
    assert report.facts["cost"] == 47
    assert report.facts["status"] == "solved"
    low, high = ends(path, report.withheld, 1)
    # The 8 falls with the 50, the 20 and the 19 as it rises: down by 8, up by 19.
    assert (low, high) == (42, 69)
    assert (report.low[1], report.high[1]) == (42, 69)


def test_no_withheld_figure_is_published(tmp_path: Path) -> None:
    report = suppress(written(tmp_path, square()))
    report.write(tmp_path / "safe.csv")
    rows = [line.split(",") for line in (tmp_path / "safe.csv").read_text().splitlines()]
    assert rows[0] == ["cell", "value", "status"]
    assert len(rows) == 17
    hidden = {row[0]: row[2] for row in rows[1:] if row[1] == ""}
    assert hidden == {"0": "secondary", "1": "primary", "4": "secondary", "5": "secondary"}
    with pytest.raises(ParameterError, match="a JJ file has a figure for every cell"):
        report.write(tmp_path / "safe.jj")
    assert not (tmp_path / "safe.jj").exists()


def test_a_pattern_read_back_needs_nothing_more(tmp_path: Path) -> None:
    path, back = written(tmp_path, square()), tmp_path / "back.jj"
    report = suppress(path)
    report.write_pattern(back)
    assert "".join(read_jj(back).status) == "xussxxssssssssss"
    again = suppress(back)
    assert (again.facts["secondary"], again.facts["withheld_before"]) == (0, 3)
    assert again.withheld.tolist() == report.withheld.tolist()
    report.write_pattern(tmp_path / "pattern.csv")
    assert (tmp_path / "pattern.csv").read_text().splitlines()[:3] == [
        "cell,sdcStatus",
        "0,x",
        "1,u",
    ]
    with pytest.raises(ParameterError, match=r"must end in \.csv or \.jj"):
        report.write_pattern(tmp_path / "pattern.json")


def test_kept_cells_are_never_withheld(tmp_path: Path) -> None:
    # Without the 8 the next cheapest rectangle: 10, 22 and 19.
    report = suppress(written(tmp_path, square({4: "z"})), exact=True)
    assert np.flatnonzero(report.withheld).tolist() == [1, 2, 5, 6]
    assert report.facts["cost"] == 51
    # With nothing left in the other columns of the first row, nothing can move.
    with pytest.raises(ParameterError, match="cell 1 cannot be protected by the cells that may"):
        suppress(written(tmp_path, square({0: "z", 2: "z", 3: "z"})))


def test_withheld_cells_cost_nothing_more(tmp_path: Path) -> None:
    # The 32, 12 and 10 are withheld already: with them the 50 is safe as it is.
    report = suppress(written(tmp_path, square({2: "m", 9: "x", 10: "x"})))
    assert np.flatnonzero(report.withheld).tolist() == [1, 2, 9, 10]
    assert report.facts["cost"] == 0
    # One that is withheld alone protects nothing, but its rectangle costs less than the 47.
    report = suppress(written(tmp_path, square({10: "x"})))
    assert np.flatnonzero(report.withheld).tolist() == [1, 2, 9, 10]
    assert report.facts["cost"] == 42
    assert report.facts["status"] == "solved"


def test_cells_withheld_before_raise_no_bound(tmp_path: Path) -> None:
    # The 12 is withheld and known: its row and column are published, and nothing is asked of it.
    kept = dict.fromkeys([2, 3, 6, 7, 8, 9, 11, 12, 13, 14, 15], "z")
    system, problem = jj_problem(read_jj(written(tmp_path, square(kept | {10: "x"}))))
    # 20, 8 and 19 are all that may be withheld beside the 50, at 47. Two cells more for the 12,
    # which would have to be hidden, cannot be: the bound must still be the 47.
    assert line_bound(system, problem) == pytest.approx(47, rel=1e-6)
    # In a table where they could be, they would cost 22 and 10 or 17 and 32 more.
    system, problem = jj_problem(read_jj(written(tmp_path, square({10: "x", 9: "z", 2: "z"}))))
    assert line_bound(system, problem) <= 47


def test_protection_to_one_side_and_sliding(tmp_path: Path) -> None:
    # To rise by 15 the 20 and the 19 must fall, and the 8 rise: 47 will do. To fall by 15 the 8
    # would have to fall below 0, and in the next, 10 and 22 with 19, the 22 falls to 7.
    assert suppress(written(tmp_path, square(need="0 15 0")), exact=True).facts["cost"] == 47
    assert suppress(written(tmp_path, square(need="15 0 0")), exact=True).facts["cost"] == 51
    # 27 wide is what 8 down and 19 up make; 28 is not to be had of that rectangle.
    assert suppress(written(tmp_path, square(need="0 0 27")), exact=True).facts["cost"] == 47
    assert suppress(written(tmp_path, square(need="0 0 28")), exact=True).facts["cost"] == 51


def test_the_objective_stands_in_for_the_costs_of_the_file(tmp_path: Path) -> None:
    text = square().replace("4 8 8 s", "4 8 900 s")
    assert suppress(written(tmp_path, text)).facts["cost"] == 51
    report = suppress(written(tmp_path, text), objective="value")
    assert np.flatnonzero(report.withheld).tolist() == [0, 1, 4, 5]


def test_right_hand_sides_are_known_to_attackers(tmp_path: Path) -> None:
    # 10 + 20 = 30 and 5 + 25 = 30 with the 30 in the equations instead of a cell.
    text = "0\n4\n0 10 1 u 0 100 5 5 0\n1 20 1 s 0 100 0 0 0\n2 5 1 s 0 100 0 0 0\n"
    text += "3 25 1 s 0 100 0 0 0\n2\n30 2 : 0 (1) 1 (1)\n30 2 : 2 (1) 3 (1)\n"
    report = suppress(written(tmp_path, text))
    assert report.withheld.tolist() == [True, True, False, False]
    assert (report.low[0], report.high[0]) == (0, 30)


def test_what_cannot_be_is_explained(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="That of cell 1 is not"):
        suppress(written(tmp_path, square(need="0 0 0")))
    with pytest.raises(ParameterError, match="cell 1 cannot be protected: its protection reaches"):
        suppress(written(tmp_path, square(need="51 0 0")))
    path = written(tmp_path, square().replace("0 4 : 0 (1)", "10 4 : 0 (1.5)", 1))
    with pytest.raises(ParameterError, match="factors of the equations must be whole"):
        suppress(path)
    path = written(tmp_path, square())
    for given in ({"rule": "p=10"}, {"zeros": "withheld"}, {"width": 3}, {"problem": "a.jj"}):
        with pytest.raises(ParameterError, match=f"{next(iter(given))} cannot be given with a JJ"):
            suppress(path, **given)
    with pytest.raises(ParameterError, match="give it alone"):
        suppress([path, path])


@pytest.mark.parametrize("counts", [True, False])
def test_a_table_as_a_jj_file_costs_the_same(tmp_path: Path, counts: bool) -> None:
    rng = np.random.default_rng(5)
    name, draw = ("count", rng.poisson(4, 20)) if counts else ("value", rng.lognormal(5, 1, 20))
    rows = [f"r{i // 5},c{i % 5},{round(float(v), 1):g}" for i, v in enumerate(draw)]
    if counts:
        text, rule = "row,column,count\n" + "\n".join(rows) + "\n", "minimum=3"
    else:
        flags = [",1,12.5,12.5" if i in (3, 11) else ",0,," for i in range(20)]
        rows = [row + flag for row, flag in zip(rows, flags, strict=True)]
        text, rule = f"row,column,{name},sensitive,lower,upper\n" + "\n".join(rows) + "\n", None
    (tmp_path / "t.csv").write_text(text)
    path = tmp_path / "t.jj"
    table = suppress(
        tmp_path / "t.csv", rule, objective="value", singletons=False, exact=True, problem=path
    )
    report = suppress(path, exact=True)
    (one,) = table.facts["tables"]
    assert table.facts["status"] == report.facts["status"] == "solved"
    assert report.facts["counts"] is counts
    assert report.facts["primary"] == one["primary"] > 0
    assert report.facts["cost"] == pytest.approx(one["secondary_value"])
    for cell in np.flatnonzero(report.marks == 1):
        low, high = ends(path, report.withheld, int(cell))
        assert high - low >= (1 if counts else 25) - 1e-6


def test_random_files_withstand_linear_programmes(tmp_path: Path) -> None:
    rng = np.random.default_rng(8)
    for _ in range(6):
        inner = np.round(rng.lognormal(3, 1, (4, 4)), 1)
        grid = np.column_stack([inner, inner.sum(axis=1)])
        values = np.round(np.vstack([grid, grid.sum(axis=0)]).ravel(), 1).tolist()
        secret = set(rng.choice(16, 3, replace=False).tolist())
        lines = ["0", "25"]
        for cell, value in enumerate(values):
            inside = cell // 5 * 4 + cell % 5 if cell % 5 < 4 and cell < 20 else -1
            asked = f"u 0 1000 {value / 10} {value / 5} 0" if inside in secret else "s 0 1000 0 0 0"
            lines.append(f"{cell} {value} {value} {asked}")
        lines.append("10")
        sums = [[5 * i + j for j in range(5)] for i in range(5)]
        sums += [[5 * i + j for i in range(5)] for j in range(5)]
        for *parts, total in sums:
            terms = " ".join(f"{cell} (1)" for cell in parts)
            lines.append(f"0 5 : {terms} {total} (-1)")
        path = written(tmp_path, "\n".join(lines) + "\n")
        report = suppress_jj(read_jj(path), "problem.jj")
        for cell in np.flatnonzero(report.marks == 1).tolist():
            low, high = ends(path, report.withheld, cell)
            assert low <= values[cell] * 0.9 + 1e-6
            assert high >= values[cell] * 1.2 - 1e-6


def grid(sizes: tuple[int, ...], tables: list[tuple[int, ...]], seed: int, whole: bool) -> str:
    """Tables of records as one JJ file: counts of 1 and 2, or figures below 30, are sensitive."""
    rng = np.random.default_rng(seed)
    at = np.stack([rng.choice(n, 120, p=rng.dirichlet(np.full(n, 3.0))) for n in sizes], axis=1)
    amounts = np.ones(120) if whole else np.ceil(rng.lognormal(3, 1, 120))
    cells: dict[tuple[tuple[int, int], ...], int] = {}
    values, sums = [], []

    def number(codes: tuple[tuple[int, int], ...]) -> int:
        if codes not in cells:
            cells[codes] = len(cells)
            inside = np.all([at[:, d] == c for d, c in codes], axis=0) if codes else np.ones(120)
            values.append(float(amounts[inside.astype(bool)].sum()))
        return cells[codes]

    for table in tables:
        for place in np.ndindex(*(sizes[d] + 1 for d in table)):
            pairs = list(zip(table, place, strict=True))
            own = number(tuple((d, c) for d, c in pairs if c < sizes[d]))
            for d, c in pairs:
                if c == sizes[d]:
                    parts = [
                        number(tuple((e, k if e == d else x) for e, x in pairs
                                     if (k if e == d else x) < sizes[e]))
                        for k in range(sizes[d])
                    ]  # fmt: skip
                    sums.append(f"0 {1 + len(parts)} : {own} (-1) "
                                + " ".join(f"{one} (1)" for one in parts))  # fmt: skip
    lines = ["0", str(len(values))]
    for cell, value in enumerate(values):
        secret = 0 < value < (3 if whole else 30)
        need = "0 0 1" if whole else f"{value / 10} {value / 10} 0"
        letter = "u" if secret else "s" if value else "z"
        lines.append(f"{cell} {value:g} 1 {letter} 0 1e+6 {need if secret else '0 0 0'}")
    sums = list(dict.fromkeys(sums))
    return "\n".join([*lines, str(len(sums)), *sums]) + "\n"


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize(
    "tables", [[(0, 1)], [(0, 1, 2)], [(0, 1, 2), (0, 1, 3)], [(0, 1, 2), (1, 2, 3), (0, 3)]]
)
def test_tables_that_are_found_in_a_file_withstand_linear_programmes(
    tmp_path: Path, tables: list[tuple[int, ...]], whole: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "LEAST", 0)
    path = written(tmp_path, grid((5, 4, 3, 3), tables, 4, whole))
    report = suppress(path)
    table = read_jj(path)
    assert report.facts["primary"] > 3
    for cell in np.flatnonzero(table.sensitive).tolist():
        low, high = ends(path, report.withheld, cell)
        value = table.values[cell]
        if whole:
            assert high - low >= 1 - 1e-6
        else:
            assert low <= 0.9 * value + 1e-6
            assert high >= 1.1 * value - 1e-6


def test_empty_cells_need_not_be_in_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "LEAST", 0)
    for tables in ([(0, 1, 2)], [(0, 1, 2), (0, 1, 3)]):
        text = grid((6, 5, 4, 4), tables, 6, True)
        full = read_jj(written(tmp_path, text))
        # Lines of empty cells alone say nothing, and are not written either.
        there = np.flatnonzero(full.values)
        assert len(there) < len(full)
        kept = full.equations[:, there]
        kept = kept[np.flatnonzero(np.diff(kept.indptr))]
        fields = {
            name: getattr(full, name)[there]
            for name in ("values", "costs", "status", "low", "high", "lower", "upper", "sliding")
        }
        short = JJTable(**fields, equations=kept, right=np.zeros(kept.shape[0]))
        write_jj(short, tmp_path / "short.jj")
        found = suppress(tmp_path / "short.jj")
        assert laid_out(short.equations) is not None
        for cell in np.flatnonzero(short.sensitive).tolist():
            low, high = ends(tmp_path / "short.jj", found.withheld, cell)
            assert high - low >= 1 - 1e-6


def test_bounds_above_are_kept_by_the_search_for_linked_tables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Everybody knows that no cell is more than a fifth above its figure.
    monkeypatch.setattr(search, "LEAST", 0)
    text = grid((5, 4, 3, 3), [(0, 1, 2), (0, 1, 3)], 4, False)
    table = read_jj(written(tmp_path, text))
    write_jj(replace(table, high=np.ceil(table.values * 1.2)), tmp_path / "near.jj")
    report = suppress(tmp_path / "near.jj")
    for cell in np.flatnonzero(table.sensitive).tolist():
        low, high = ends(tmp_path / "near.jj", report.withheld, cell)
        assert low <= 0.9 * table.values[cell] + 1e-6
        assert high >= 1.1 * table.values[cell] - 1e-6
