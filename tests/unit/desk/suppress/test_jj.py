"""Suppression of JJ files, against hand calculations and the same table read as a table."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import linprog

from discreet.desk import suppress
from discreet.desk.suppress.jj import suppress_jj
from discreet.errors import ParameterError
from discreet.table.jj import read_jj

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
    with pytest.raises(ParameterError, match=r"written as \.csv or \.jj"):
        report.write_pattern(tmp_path / "pattern.json")


def test_kept_cells_are_never_withheld(tmp_path: Path) -> None:
    # Without the 8 the next cheapest rectangle: 10, 22 and 19.
    report = suppress(written(tmp_path, square({4: "z"})), exact=True)
    assert np.flatnonzero(report.withheld).tolist() == [1, 2, 5, 6]
    assert report.facts["cost"] == 51
    # With nothing left in the other columns of the first row, nothing can move.
    with pytest.raises(ParameterError, match="cell 1 cannot be protected by the cells that may"):
        suppress(written(tmp_path, square({0: "z", 2: "z", 3: "z"})))


def test_withheld_cells_cost_nothing_more_and_prove_nothing(tmp_path: Path) -> None:
    # The 32, 12 and 10 are withheld already: with them the 50 is safe as it is.
    report = suppress(written(tmp_path, square({2: "m", 9: "x", 10: "x"})))
    assert np.flatnonzero(report.withheld).tolist() == [1, 2, 9, 10]
    assert report.facts["cost"] == 0
    # One that is withheld alone protects nothing, and there is no bound for what others cost.
    report = suppress(written(tmp_path, square({10: "x"})))
    assert np.flatnonzero(report.withheld).tolist() == [1, 2, 9, 10]
    assert report.facts["cost"] == 42
    assert report.facts["gap"] is None


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
