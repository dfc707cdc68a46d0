"""Adjusted tables, judged by an integer programme that shares no code with the product."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product
from math import isclose
from typing import Any

import numpy as np
import suppress
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint, milp
from shared import extreme, incidence

from discreet.desk.adjust.complements import withheld
from discreet.desk.adjust.method import AdjustedTable, ControlledAdjustment
from discreet.desk.cells import CellTable
from discreet.desk.sensitivity import Given, PriorPosterior
from discreet.desk.suppress.insiders import Contributions

NEAR = 1e-5
# Where nothing says how far a cell can go at most: so many times what it needs.
FAR = 1e3


@dataclass(frozen=True)
class Case:
    """A table: parents of the codes of each dimension, its figures, and what is asked of them."""

    parents: tuple[tuple[int, ...], ...]
    values: np.ndarray
    sensitive: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    published: np.ndarray
    fixed: np.ndarray
    options: dict[str, Any]
    seed: int


SHAPES: list[tuple[tuple[int, ...], ...]] = [
    ((3, 3, 3, -1),),
    ((2, 2, -1), (3, 3, 3, -1)),
    ((4, 4, 4, 4, -1), (3, 3, 3, -1)),
    ((4, 4, 5, 5, 6, 6, -1), (2, 2, -1)),
    ((2, 2, -1), (2, 2, -1), (3, 3, 3, -1)),
    ((5, 5, 5, 5, 5, -1), (5, 5, 5, 5, 5, -1)),
    ((6, 6, 6, 6, 6, 6, -1), (6, 6, 6, 6, 6, 6, -1)),
]


@dataclass(frozen=True)
class Holes:
    """Records whose table is adjusted with some cells left empty, the totals in `fixed` kept."""

    records: suppress.Case
    fixed: np.ndarray
    beyond: float | None
    seed: int


def cases(rng: np.random.Generator) -> Iterator[Case | Holes]:
    """Return tables without end: flat, with a hierarchy, of one to three dimensions, linked.

    One in four is of records, and has cells that are left empty.
    """
    firms = suppress.cases(rng)
    while True:
        if rng.random() < 0.25:
            yield _holes(next(firms), rng)
            continue
        parents = SHAPES[int(rng.integers(len(SHAPES)))]
        inner = [[i for i in range(len(tree)) if i not in tree] for tree in parents]
        values = np.zeros([len(tree) for tree in parents])
        drawn = np.round(rng.lognormal(4, 1.3, [len(codes) for codes in inner]))
        values[np.ix_(*inner)] = drawn * (rng.random(drawn.shape) > 0.15)
        for axis, tree in enumerate(parents):
            lines = np.moveaxis(values, axis, 0)
            for code, parent in enumerate(tree):
                if parent >= 0:
                    lines[parent] += lines[code]
        values /= [1, 1, 10][int(rng.integers(3))]
        sums = np.ones(values.shape, bool)
        sums[np.ix_(*inner)] = False
        published = np.ones(values.shape, bool)
        if len(parents) > 1 and rng.random() < 0.2:
            # Margins alone: linked tables.
            published = np.zeros(values.shape, bool)
            for axis in range(len(parents)):
                at: list[Any] = [other.index(-1) for other in parents]
                at[axis] = slice(None)
                published[tuple(at)] = True
        share = rng.choice([0.15, 0.35, 0.7])
        sensitive = (values > 0) & (rng.random(values.shape) < np.where(sums, share / 4, share))
        need = np.maximum(np.ceil(rng.uniform(0.02, 0.5, values.shape) * values * 10) / 10, 0.1)
        fixed = np.zeros(values.shape, bool)
        if rng.random() < 0.2:
            fixed[(-1,) * values.ndim] = True
            sensitive[fixed] = False
        options = {
            "weight": str(rng.choice(["value", "one"])),
            "margins": float(rng.choice([0.3, 1.0, 4.0])),
            "capacity": float(rng.choice([0.3, 1.0])),
        }
        wide = np.round(need * rng.choice([1.0, 2.5]), 1)
        yield Case(
            parents, values, sensitive, need, wide, published, fixed, options,
            int(rng.integers(2**30)),
        )  # fmt: skip


def _holes(drawn: suppress.Case, rng: np.random.Generator) -> Holes:
    """Return records as they are drawn for suppression, magnitudes by the p% rule."""
    records = drawn.records
    amounts = np.ceil(rng.lognormal(3, 1.5, len(records.at))) if records.counts else records.amounts
    rule = PriorPosterior(float(rng.choice([5, 10, 20])))
    case = suppress.Case(
        replace(records, amounts=amounts, counts=False), suppress.Suppression((rule,))
    )
    shape = records.shape
    fixed = np.ones(shape, bool) if rng.random() < 0.5 else rng.random(shape) < 0.3
    beyond = float(rng.choice([0.02, 0.05, 0.2])) if rng.random() < 0.5 else None
    return Holes(case, fixed, beyond, int(rng.integers(2**30)))


def kinds(case: Case | Holes) -> Iterator[str]:
    """Yield what a case is an example of."""
    if isinstance(case, Holes):
        yield "with empty cells, of records"


def check(case: Case | Holes) -> str | None:
    """Return what is wrong, or raise AssertionError: a rule broken, a proof that is none."""
    if isinstance(case, Holes):
        return _check_holes(case)
    found = adjusted(case)
    _check_rules(case, found)
    if found.short.any():
        assert least_cost(case, np.inf, found.decimals or 0) == np.inf, "all could be protected"
    elif found.decimals is not None:
        _check_proof(case, found)
    return None


def _check_holes(case: Holes) -> str | None:
    """Return who comes too close to an empty cell: the public or a holding, if anybody does.

    Among the true figures, as of a suppressed table, and among the adjusted ones.
    """
    given = case.records
    cells, rules = given.records.table(), given.method.rules
    rng = np.random.default_rng(case.seed)
    found = ControlledAdjustment().adjust(cells, rules, rng, case.fixed)
    held = withheld(found, rules, case.beyond, Contributions.of_records(given.records))
    if held.secondary is None:
        everything = cells.values.reshape(-1) > 0
        could = not suppress.exposed(given, everything, held.primary.reshape(-1))
        same = (found.values == cells.values).all()
        return "refused, but withholding everything is safe" if could and same else None
    empty = held.cells.reshape(-1)
    if not held.primary.any():
        return "cells are empty without need" if empty.any() else None
    primary, shown = held.primary.reshape(-1), found.values.reshape(-1)
    return (
        suppress.exposed(given, empty, primary)
        or suppress.exposed(given, empty, primary & (shown > 0), shown)
        or _computed(found, empty, held)
    )


def _computed(found: AdjustedTable, empty: np.ndarray, held: Any) -> str | None:
    """Return a cell that the adjusted figures tell more of than its rule allows."""
    matrix, _ = incidence(found.cells.parents)
    shown, true = found.values.reshape(-1), found.cells.values.reshape(-1)
    low, high = np.where(empty, 0.0, shown), np.where(empty, np.inf, shown)
    lower, upper = found.required.lower.reshape(-1), found.required.upper.reshape(-1)
    for cell in np.flatnonzero(held.primary.reshape(-1) & (shown > 0)):
        near = NEAR * (1 + true[cell])
        top = extreme(matrix, low, high, cell, -1, False)
        bottom = extreme(matrix, low, high, cell, 1, False)
        least = max(min(true[cell], shown[cell]) - lower[cell], 0.0)
        if top < max(true[cell], shown[cell]) + upper[cell] - near or bottom > least + near:
            return f"cell {cell} is adjusted to {bottom}…{top}, of {true[cell]}"
    return None


def adjusted(case: Case) -> AdjustedTable:
    """Return what the product makes of a case."""
    names = tuple(f"d{axis}" for axis in range(len(case.parents)))
    codes = tuple(
        tuple("_T" if parent < 0 else f"c{i}" for i, parent in enumerate(tree))
        for tree in case.parents
    )
    table = CellTable(
        names, codes, case.parents, case.values, False, sensitive=case.sensitive,
        lower=np.where(case.sensitive, case.lower, np.nan),
        upper=np.where(case.sensitive, case.upper, np.nan),
    )  # fmt: skip
    method = ControlledAdjustment(**case.options)
    return method.adjust(
        table, [Given()], np.random.default_rng(case.seed), case.fixed, case.published
    )


def _check_rules(case: Case, found: AdjustedTable) -> None:
    """Raise where figures do not add up, or something moved that must not."""
    change = found.values - case.values
    for coefficients in _equations(case.parents):
        off = sum(sign * found.values[cell] for cell, sign in coefficients.items())
        assert abs(off) <= NEAR, f"a sum is off by {off}"
    assert (found.values >= 0).all(), "a figure is below 0"
    assert (found.values[case.values == 0] == 0).all(), "a zero changed"
    assert np.allclose(change[case.fixed], 0, atol=1e-7), "a fixed total moved"
    sensitive = case.sensitive & case.published
    below, above = _allowed(case, 6 if found.decimals is None else found.decimals)
    assert (change >= -below - NEAR).all(), "too far down"
    assert (change <= above + NEAR).all(), "too far up"
    down = np.minimum(case.lower, case.values)
    safe = (change >= case.upper - 1e-9) | (change <= -down + 1e-9)
    assert (safe | found.short)[sensitive].all(), "a cell is short in silence"
    assert not (found.short & ~sensitive).any(), "a cell that is not sensitive is called short"


def _check_proof(case: Case, found: AdjustedTable) -> None:
    """Raise where a table exists that costs less than the proof allows."""
    weights = _weights(case)
    cost = float((weights * np.abs(found.values - case.values)).sum())
    assert isclose(cost, found.cost, rel_tol=1e-6, abs_tol=1e-9), "the cost is another"
    if found.status != "solved" and not found.gap >= 0:
        return
    best = least_cost(case, cost, found.decimals or 0)
    proved = cost if found.status == "solved" else cost / (1 + found.gap)
    assert proved <= best * (1 + NEAR) + 1e-9, (
        f"{found.status}: {cost}, proved {proved}, but {best}"
    )


def _weights(case: Case) -> np.ndarray:
    base = 1 / np.maximum(case.values, 1e-6) if case.options["weight"] == "value" else 1.0
    depth = np.zeros(case.values.shape)
    for axis, tree in enumerate(case.parents):
        root = np.array([parent < 0 for parent in tree], float)
        depth += root.reshape([-1 if d == axis else 1 for d in range(depth.ndim)])
    weights = base * case.options["margins"] ** depth
    return np.where(case.published & (case.values > 0), weights, 0.0)


def _equations(parents: tuple[tuple[int, ...], ...]) -> list[dict[tuple[int, ...], int]]:
    """Return every sum: signs by cell."""
    found = []
    for axis, tree in enumerate(parents):
        others = [range(len(other)) for d, other in enumerate(parents) if d != axis]
        for total in sorted(set(tree) - {-1}):
            for rest in product(*others):
                at = [*rest[:axis], 0, *rest[axis:]]
                parts = [i for i, parent in enumerate(tree) if parent == total]
                signs = {(*at[:axis], i, *at[axis + 1 :]): 1 for i in parts}
                found.append(signs | {(*at[:axis], total, *at[axis + 1 :]): -1})
    return found


def _allowed(case: Case, decimals: int) -> tuple[np.ndarray, np.ndarray]:
    """Return how far down and up each cell may go.

    A cell that is a sensitive one by another name, all others of their sums being 0, may go as far
    as that one needs.
    """
    unit = 10.0**decimals
    sensitive = case.sensitive & case.published
    capped = case.published & ~sensitive
    reach = np.floor(case.options["capacity"] * case.values * unit + 1e-6) / unit
    most = np.where(capped, reach, np.inf)
    sides = []
    for side in (case.lower, case.upper):
        need = np.where(sensitive, np.ceil(side * unit * (1 - 1e-12)) / unit, 0.0)
        for _ in range(case.values.size):
            before = need.copy()
            for coefficients in _equations(case.parents):
                there = [cell for cell in coefficients if case.values[cell] > 0]
                if len(there) == 2:
                    need[there[0]] = need[there[1]] = max(need[there[0]], need[there[1]])
            if (before == need).all():
                break
        sides.append(np.maximum(most, need))
    still = (case.values == 0) | case.fixed
    down = np.where(still, 0.0, np.minimum(sides[0], case.values))
    return down, np.where(still, 0.0, sides[1])


def least_cost(case: Case, cost: float, decimals: int) -> float:
    """Return the least cost of a table in reals that keeps all rules. Infinite: there is none."""
    found = twin(case, cost, decimals)
    # Stopped: nothing can be said.
    return float(found.fun) if found.status == 0 else np.inf


def twin(case: Case, cost: float, decimals: int, nodes: int | None = None) -> Any:
    """Return what a plain integer programme finds: the least cost of a table in reals.

    `cost` is that of a table that keeps all rules. One that costs less moves no cell by more than
    cost/weight: so much and no more is a sensitive cell held to. Without `nodes` it has a minute.
    """
    unit = 10.0**decimals
    sensitive = case.sensitive & case.published
    weights, size = _weights(case).ravel(), case.values.size
    value = case.values.ravel()
    below, above = _allowed(case, decimals)
    least, most = -below.ravel(), above.ravel()
    movers = np.flatnonzero(sensitive)
    need = [np.ceil(side.ravel() * unit * (1 - 1e-12)) / unit for side in (case.upper, case.lower)]
    # Columns: the change, its size, and a choice of 1 for each sensitive cell that goes up.
    columns = 2 * size + len(movers)
    rows: list[dict[int, float]] = []
    low: list[float] = []
    high: list[float] = []

    def hold(row: dict[int, float], least: float, most: float) -> None:
        rows.append(row)
        low.append(least)
        high.append(most)

    for coefficients in _equations(case.parents):
        at = {int(np.ravel_multi_index(c, case.values.shape)): s for c, s in coefficients.items()}
        hold({cell: float(sign) for cell, sign in at.items()}, 0.0, 0.0)
    for cell in range(size):
        hold({size + cell: 1.0, cell: -1.0}, 0.0, np.inf)
        hold({size + cell: 1.0, cell: 1.0}, 0.0, np.inf)
    for k, cell in enumerate(movers.tolist()):
        far = min(cost / weights[cell] * (1 + 1e-6) + 1e-6, FAR * need[0][cell])
        down = min(need[1][cell], value[cell])
        choice = 2 * size + k
        # up: change ≥ need; else change ≤ −need. What is not chosen asks for nothing.
        hold({cell: 1.0, choice: -(need[0][cell] + far)}, -far, np.inf)
        hold({cell: 1.0, choice: -(down + far)}, -np.inf, -down)
    matrix = sparse.lil_matrix((len(rows), columns))
    for r, row in enumerate(rows):
        for column, sign in row.items():
            matrix[r, column] = sign
    return milp(
        np.concatenate([np.zeros(size), weights, np.zeros(len(movers))]),
        constraints=LinearConstraint(matrix.tocsr(), low, high),
        integrality=np.arange(columns) >= 2 * size,
        bounds=Bounds(
            np.concatenate([least, np.zeros(size + len(movers))]),
            np.concatenate([most, np.full(size, np.inf), np.ones(len(movers))]),
        ),
        options={"mip_rel_gap": 1e-9}
        | ({"time_limit": 60.0} if nodes is None else {"node_limit": nodes}),
    )
