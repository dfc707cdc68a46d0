"""Many linked tables: changes that look at a few tables are safe in the view of all equations."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from discreet.desk.cells import MARKS, Mark, Records
from discreet.desk.sensitivity import PriorPosterior, Threshold
from discreet.desk.suppress.insiders import Contributions
from discreet.desk.suppress.method import Suppressed, Suppression
from discreet.desk.suppress.solver import margins
from discreet.desk.suppress.solver.margins import search
from discreet.errors import ParameterError
from discreet.table.hierarchy import Hierarchy

SIZES = (5, 4, 4, 3)


def _records(seed: int, tables: list[tuple[int, ...]], counts: bool) -> list[Records]:
    rng = np.random.default_rng(seed)
    number = 500
    at = np.stack([rng.choice(n, number, p=rng.dirichlet(np.full(n, 3.0))) for n in SIZES], axis=1)
    amounts = np.ones(number) if counts else np.ceil(rng.lognormal(3, 1.2, number))
    return [
        Records(
            tuple(f"d{d}" for d in table),
            tuple((*map(str, range(SIZES[d])), "_T") for d in table),
            tuple((*[SIZES[d]] * SIZES[d], -1) for d in table),
            at[:, list(table)], amounts, np.arange(number), counts,
        )
        for table in tables
    ]  # fmt: skip


def _attacked(found: list[Suppressed]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The true value and the ends that plain programmes prove, of each primary cell.

    Unknowns are the cells of all tables by their codes; equations are written anew.
    """
    from scipy.optimize import linprog

    place: dict[frozenset[tuple[str, str]], int] = {}
    value, hidden, primary = [], [], []
    tables = []
    for one in found:
        names = one.cells.variables
        keys = []
        for at in np.ndindex(one.cells.shape):
            codes = (one.cells.codes[d][i] for d, i in enumerate(at))
            key = frozenset((n, c) for n, c in zip(names, codes, strict=True) if c != "_T")
            if key not in place:
                place[key] = len(place)
                value.append(one.cells.values[at])
                hidden.append(bool(one.withheld[at]))
                primary.append(one.marks[at] == 1)
            assert bool(one.withheld[at]) == hidden[place[key]]
            keys.append(place[key])
        tables.append(np.array(keys).reshape(one.cells.shape))
    rows = []
    for index in tables:
        for axis in range(index.ndim):
            lines = np.moveaxis(index, axis, -1).reshape(-1, index.shape[axis])
            for line in lines:
                row = np.zeros(len(value))
                row[line[:-1]], row[line[-1]] = 1, -1
                rows.append(row)
    matrix, true, out = np.array(rows), np.array(value), np.array(hidden)
    right = -matrix[:, ~out] @ true[~out]
    block = matrix[:, out]
    wanted = np.flatnonzero(np.array(primary))
    ends = np.zeros((2, len(wanted)))
    spot = np.cumsum(out) - 1
    for k, cell in enumerate(wanted):
        cost = np.zeros(block.shape[1])
        cost[spot[cell]] = 1
        for side, sign in ((0, 1), (1, -1)):
            solved = linprog(sign * cost, A_eq=block, b_eq=right, bounds=(0, None))
            ends[side, k] = sign * solved.fun if solved.status == 0 else np.inf
    return true[wanted], ends[0], ends[1]


TABLES = [
    [(0, 1, 2), (0, 1, 3), (0, 2, 3)],
    list(combinations(range(4), 3)),
    [(0, 1, 2), (2, 3), (1, 3)],
]


@pytest.mark.parametrize("tables", TABLES)
@pytest.mark.parametrize("seed", [1, 2])
def test_plain_programmes_find_every_primary_cell_as_uncertain_as_asked(
    tables: list[tuple[int, ...]], seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "LEAST", 0)
    cells = [one.table() for one in _records(seed, tables, False)]
    found = Suppression((PriorPosterior(10),), singletons=False).apply_linked(cells)
    primary = sum(int((one.marks == 1).sum()) for one in found)
    everything = sum(int((one.cells.values > 0).sum()) for one in found)
    assert 0 < primary < sum(int(one.withheld.sum()) for one in found) < everything
    true, low, high = _attacked(found)
    ranked = {}
    for table in cells:
        assert table.ranked is not None
        for at in np.ndindex(table.shape):
            top = table.ranked[at]
            ranked[float(table.values[at])] = 0.1 * top[0] - (table.values[at] - top[:2].sum())
    need = np.array([ranked[float(value)] for value in true])
    # By p% the largest must not be known to within 10%: 0.1·x1 − (X − x1 − x2) either way.
    assert (high - true >= need - 1e-6).all()
    assert (true - low >= np.minimum(need, true) - 1e-6).all()


@pytest.mark.parametrize("counts", [False, True])
def test_contributors_are_answered_too(counts: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "LEAST", 0)
    records = _records(3, [(0, 1, 2), (0, 1, 3)], counts)
    rule = Threshold(3) if counts else PriorPosterior(10)
    given = None if counts else [Contributions.of_records(one) for one in records]
    # What is returned was proved in the view of every contributor, by code of its own.
    found = Suppression((rule,)).apply_linked([one.table() for one in records], given)
    assert found[0].pattern.bare is not None
    assert found[0].singleton_cost is not None
    assert len(found[0].pattern.proves) > 0


def test_a_cell_that_no_change_protects_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    # x is 5 of one, y is 2,400 of three and must be published, and so must the total: x is known.
    monkeypatch.setattr(search, "LEAST", 0)
    at = np.array([[0, 0, 0], [1, 0, 0], [1, 0, 0], [1, 0, 0]])
    amounts = np.array([5.0, 900, 800, 700])
    tables = [
        Records(
            ("a", name), (("x", "y", "_T"), ("z", "_T")), ((2, 2, -1), (1, -1)),
            at[:, [0, d]], amounts, np.arange(4), False,
        ).table()
        for d, name in ((1, "b"), (2, "c"))
    ]  # fmt: skip
    never = np.full(tables[0].shape, MARKS.index(Mark.NEVER), np.int8)
    never[0] = MARKS.index(Mark.NONE)
    method = Suppression((PriorPosterior(10),), singletons=False)
    with pytest.raises(ParameterError, match=r"a x.* cannot be protected"):
        method.apply_linked([replace(table, marks=never) for table in tables])


def test_few_cells_and_hierarchies_are_left_to_programmes() -> None:
    flat = [[Hierarchy.flat(3), Hierarchy.flat(3)]] * 2
    tree = [[Hierarchy((2, 2, 3, -1)), Hierarchy.flat(3)]] * 2
    assert margins.fits(flat, 100_000, 10_000)
    assert not margins.fits(flat, 100, 10)
    assert not margins.fits(tree, 100_000, 10_000)
    assert not margins.fits(flat[:1], 100_000, 10_000)
