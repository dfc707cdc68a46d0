"""Contributors as attackers: what each has where, and patterns that withstand all of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import linprog

from discreet.desk.cells import Records, read_cells, read_records
from discreet.desk.sensitivity import Dominance, PriorPosterior, Rule
from discreet.desk.suppress.insiders import Contributions, insiders
from discreet.desk.suppress.method import Suppressed, Suppression
from discreet.desk.suppress.solver import Mark, Problem, examined, exposed
from discreet.solve.system import TableSystem
from discreet.types import Flags

# Regions by industries; the two cells of 1000 and 5 are sensitive under p = 10 and must be able to
# move by 100 either way.
FIRMS = [
    [(1000, 5), (1000, 5), (900, 850, 800)],
    [(700, 690, 680), (710, 700, 690), (720, 710, 700)],
    [(910, 900, 890), (905, 900, 890), (910, 905, 900)],
]


def write(path: Path, firms: list[list[tuple[int, ...]]]) -> Path:
    lines = ["region,industry,firm,turnover"]
    for i, row in enumerate(firms):
        for j, cell in enumerate(row):
            lines += [f"R{i + 1},I{j + 1},{i}{j}{k},{v}" for k, v in enumerate(cell)]
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture
def records(tmp_path: Path) -> Records:
    return read_records(
        write(tmp_path / "firms.csv", FIRMS), ["region", "industry"], "turnover", "firm"
    )


def known(records: Records, rule: Rule) -> tuple[TableSystem, Problem]:
    """Return the problem of a table with all its contributors."""
    cells = records.table()
    system = TableSystem.table(cells.hierarchies)
    found = rule.required(cells)
    problem = Problem.of(
        cells.values, found.sensitive, rise=found.upper, fall=found.lower, whole=False
    )
    given = [Contributions.of_records(records)]
    theirs = insiders(system, [cells], given, [rule], problem, True)
    return system, Problem.of(
        cells.values, found.sensitive, rise=found.upper, fall=found.lower, whole=False,
        insiders=theirs,
    )  # fmt: skip


def square(records: Records) -> Flags:
    """Return the pattern R1, R2 × I1, I2."""
    rows, columns = ([codes.index(code) for code in two] for codes, two in zip(
        records.codes, (("R1", "R2"), ("I1", "I2")), strict=True
    ))  # fmt: skip
    withheld = np.zeros(records.shape, bool)
    withheld[np.ix_(rows, columns)] = True
    return withheld.reshape(-1)


def test_the_largest_of_a_neighbour_undoes_a_rectangle(records: Records) -> None:
    # Who has 1000 of the second cell's 1005 knows that it falls by 5 at most, so the first rises
    # by 5 at most: 1010 bounds the other's 1000 from above, 1% off. 100 are asked of the public,
    # 1.1 · 1000 − 1005 = 95 of who has nothing in the cell.
    system, problem = known(records, PriorPosterior(10.0))
    withheld = square(records)
    assert exposed(system, problem, withheld) == []
    failed = examined(system, problem, withheld).failed
    assert len(failed) == 2
    assert {cell for cell, _ in failed} == set(np.flatnonzero(problem.primary).tolist())
    for cell, who in failed:
        assert exposed(system, problem, withheld, who) == [cell]


def closest(found: Suppressed, records: Records) -> float:
    """Return how close any contributor comes to any other's part of a sensitive cell, in shares.

    By plain programmes over the inner cells, from the records alone.
    """
    members = TableSystem.table(found.cells.hierarchies).members.toarray()
    values, shown = found.cells.values.reshape(-1), ~found.withheld.reshape(-1)
    given = Contributions.of_records(records)
    own = np.zeros((int(given.who.max()) + 1, values.size))
    own[given.who, given.cell] = given.amount
    least = np.inf
    for target in np.flatnonzero(found.marks.reshape(-1) == Mark.PRIMARY):
        for who in range(len(own)):
            largest = np.delete(own[:, target], who).max()
            if largest <= 0:
                continue
            most = linprog(
                -members[target], A_ub=-members, b_ub=-own[who], A_eq=members[shown],
                b_eq=values[shown], bounds=(0, None),
            )  # fmt: skip
            assert most.status in (0, 3)
            if most.status == 0:
                least = min(least, (-most.fun - own[who, target]) / largest - 1)
    return least


@pytest.mark.parametrize("exact", [False, True])
def test_nobody_comes_within_p_percent(records: Records, exact: bool) -> None:
    given = Contributions.of_records(records)
    found = Suppression((PriorPosterior(10.0),), exact=exact).apply(records.table(), given)
    assert closest(found, records) >= 0.1 - 1e-9
    # Left out, they do: the rectangle is cheapest.
    alone = Suppression((PriorPosterior(10.0),), exact=exact, singletons=False)
    assert closest(alone.apply(records.table(), given), records) < 0.02


@pytest.mark.parametrize("rule", [PriorPosterior(5.0, 50.0), Dominance(1, 90), Dominance(2, 95)])
def test_every_rule_asks_it_of_every_contributor(records: Records, rule: Rule) -> None:
    found = Suppression((rule,)).apply(records.table(), Contributions.of_records(records))
    system, problem = known(records, rule)
    assert problem.primary.sum() == 2
    assert exposed(system, problem, square(records)) == []
    assert not examined(system, problem, square(records)).safe
    for who in (-1, *np.unique(problem.insiders.who).tolist()):
        assert exposed(system, problem, found.withheld.reshape(-1), who) == []


def test_what_is_asked_falls_with_what_an_attacker_has() -> None:
    # (100, 95, 1), p = 10: 0.1 · 100 − 1 = 9 against the second; against the largest, who is after
    # the 95, 9.5 − 1 = 8.5; against the third 10 − 95 < 0, and so against anybody else.
    cells = Records(
        ("a",), (("x", "_T"),), ((1, -1),), np.zeros((3, 1), int),
        np.array([100.0, 95, 1]), np.arange(3), False,
    ).table()  # fmt: skip
    lower, upper = PriorPosterior(10).against(
        cells, np.zeros(4, int), np.array([100.0, 95.0, 1.0, 0.0])
    )
    assert lower.tolist() == upper.tolist() == [8.5, 9.0, 0.0, 0.0]


def test_a_holding_is_one_wherever_it_is(tmp_path: Path) -> None:
    (tmp_path / "r.csv").write_text("a,b,firm,v\nx,u,1,10\ny,w,1,20\ny,u,2,5\ny,u,3,5\n")
    records = read_records(tmp_path / "r.csv", ["a", "b"], "v", "firm")
    found = Contributions.of_records(records)
    codes_a, codes_b = records.codes
    first = {
        (codes_a[cell // 3], codes_b[cell % 3]): (amount, alone)
        for who, cell, amount, alone in zip(
            found.who, found.cell, found.amount, found.alone, strict=True
        )
        if who == 0
    }
    # Firm 1 has 10 in x/u and 20 in y/w: it is alone there, in the total of x and in that of w.
    assert first == {
        ("x", "u"): (10, True), ("x", "_T"): (10, True), ("_T", "u"): (10, False),
        ("y", "w"): (20, True), ("_T", "w"): (20, True), ("y", "_T"): (20, False),
        ("_T", "_T"): (30, False),
    }  # fmt: skip


def rows(path: Path, text: str) -> dict[tuple[int, ...], dict[int, float]]:
    """Return the rooms of whoever is known from a table of 2 × 2 counts, by cell."""
    path.write_text(text)
    cells = read_cells(path)
    system = TableSystem.table(cells.hierarchies)
    problem = Problem.of(cells.values, cells.values == 1, width=(cells.values == 1) * 1.0)
    found = insiders(system, [cells], [Contributions.of_table(cells)], [], problem, False)
    by_cell: dict[tuple[int, ...], dict[int, float]] = {}
    for cell, who, room in zip(found.cell, found.who, found.room, strict=True):
        place = tuple(int(i) for i in np.unravel_index(cell, cells.shape))
        by_cell.setdefault(place, {})[int(who)] = float(room)
    return by_cell


def test_a_total_of_one_has_the_contributor_of_its_part(tmp_path: Path) -> None:
    # Row q has a 1 alone, so its total is 1 too, and the same person; so it is with column x.
    found = rows(tmp_path / "t.csv", ",x,y\np,1,5\nq,0,1\n")
    alone = {place: [w for w, room in who.items() if room < 0] for place, who in found.items()}
    assert {place for place, who in alone.items() if who} == {(0, 0), (2, 0), (1, 1), (1, 2)}
    assert alone[0, 0] == alone[2, 0] != alone[1, 1] == alone[1, 2]
    # Whoever is one of the 5 knows of a fall by 4 at most, and in the row of 6 by 5.
    five = next(iter(found[0, 1]))
    assert found[0, 1] == {five: 4.0}
    assert found[0, 2][five] == 5.0


def test_a_contributor_alone_in_a_total_is_one_in_all_its_parts(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(
        "a,b,value,contributors\nx,u,10,1\nx,w,20,1\nx,_T,30,1\n"
        "y,u,7,3\ny,w,8,3\ny,_T,15,3\n_T,u,17,4\n_T,w,28,4\n_T,_T,45,4\n"
    )
    cells = read_cells(tmp_path / "t.csv")
    system = TableSystem.table(cells.hierarchies)
    first = np.arange(9).reshape(3, 3) == 0
    problem = Problem.of(cells.values, first, rise=first * 1.0, whole=False)
    found = insiders(system, [cells], [Contributions.of_table(cells)], [], problem, False)
    assert len(np.unique(found.who)) == 1
    # 15 of the total of 45 are others'.
    assert found.room[found.cell == 8].tolist() == [15.0]


def test_magnitudes_without_contributions_have_no_insiders(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,value\nx,1\ny,2\n")
    assert len(Contributions.of_table(read_cells(tmp_path / "t.csv")).who) == 0
