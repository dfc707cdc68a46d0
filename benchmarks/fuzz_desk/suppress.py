"""Suppression: every pattern withstands everybody, and a refusal has no pattern."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from shared import Array, extreme, incidence

from discreet.desk.cells import Records
from discreet.desk.sensitivity import Dominance, PriorPosterior, Rule, Threshold
from discreet.desk.suppress import Objective
from discreet.desk.suppress.insiders import Contributions
from discreet.desk.suppress.method import Suppressed, Suppression
from discreet.errors import ParameterError

FLAT = {2: (2, 2, -1), 3: (3, 3, 3, -1), 4: (4, 4, 4, 4, -1)}
# Codes 0 and 1 are part of 4, 2 and 3 of 5, these of the total 6.
TREE = (4, 4, 5, 5, 6, 6, -1)
NEAR = 1e-5


@dataclass(frozen=True, eq=False)
class Case:
    """Records, a rule, and how they are to be protected."""

    records: Records
    method: Suppression

    def __str__(self) -> str:
        amounts, units = self.records.amounts.tolist(), self.records.units.tolist()
        return (
            f"{self.method}\n{self.records.parents}\n{self.records.at.tolist()}\n{amounts}\n{units}"
        )


def cases(rng: np.random.Generator) -> Iterator[Case]:
    """Yield records of a few firms or persons in small tables, with all kinds of rules."""
    while True:
        shapes = [(3, 3), (3, 4), (2, 4), (2, 2, 2), (2, 3, 2), (2, 7), (3, 7)]
        shape = shapes[rng.integers(len(shapes))]
        parents = tuple(TREE if size == 7 else FLAT[size] for size in shape)
        leaves = [4 if size == 7 else size for size in shape]
        number = int(rng.integers(2, 4) * np.prod(leaves))
        at = np.stack([rng.integers(0, size, number) for size in leaves], axis=1)
        counts = bool(rng.random() < 0.25)
        amounts = np.ones(number) if counts else np.ceil(rng.lognormal(3, 1.5, number))
        units = np.arange(number)
        if not counts and rng.random() < 0.6:
            units = rng.integers(0, max(2, number // 2), number)
        codes = tuple(tuple(f"c{i}" for i in range(len(up))) for up in parents)
        names = tuple("abc"[: len(shape)])
        records = Records(names, codes, parents, at, amounts, units, counts)
        yield Case(records, _method(rng, counts))


def kinds(case: Case) -> Iterator[str]:
    """Yield what a case is an example of."""
    yield "counts" if case.records.counts else "magnitudes"
    for rule in set(case.method.rules) if not case.records.counts else ():
        if isinstance(rule, PriorPosterior):
            yield "p%" if rule.q == 100 else "pq"
        else:
            yield "dominance" if isinstance(rule, Dominance) else "minimum"
    if TREE in case.records.parents:
        yield "hierarchies"
    if case.method.exact:
        yield "exact"
    if case.method.singletons:
        yield "against contributors"


def _method(rng: np.random.Generator, counts: bool) -> Suppression:
    rules: list[Rule] = [
        PriorPosterior(float(rng.choice([5, 10, 20]))),
        PriorPosterior(10.0, float(rng.choice([30, 60]))),
        Dominance(1, float(rng.choice([70, 85]))),
        Dominance(2, float(rng.choice([80, 90]))),
        Threshold(3, 10.0),
    ]
    chosen: tuple[Rule, ...] = (rules[rng.integers(len(rules))],)
    if rng.random() < 0.15:
        chosen += (rules[rng.integers(len(rules))],)
    width = float(rng.integers(1, 4)) if rng.random() < 0.15 else None
    objective = list(Objective)[rng.integers(3)]
    singletons, exact = bool(rng.random() < 0.8), bool(rng.random() < 0.3)
    return Suppression(
        (Threshold(3),) if counts else chosen,
        width,
        objective,
        singletons=singletons,
        exact=exact,
        effort=0.02,
        seconds=30 if exact else None,
    )


def check(case: Case) -> str | None:
    """Return what is wrong with a pattern, or with there being none."""
    records, method = case.records, case.method
    cells = records.table()
    given = Contributions.of_records(records)
    try:
        found = method.apply(cells, given)
    except ParameterError as refusal:
        withheld = cells.values.reshape(-1) > 0
        safe = not exposed(case, withheld)
        return f"refused, but withholding everything is safe: {refusal}" if safe else None
    withheld = found.withheld.reshape(-1)
    if (withheld & (cells.values.reshape(-1) == 0)).any():
        return "a zero is withheld"
    said = exposed(case, withheld)
    if said:
        return said
    if not found.pattern.solved or not method.exact:
        return None
    return _redundant(case, found) or _below(case, found, given)


def _below(case: Case, best: Suppressed, given: Contributions) -> str | None:
    """Return that the bound of a search is above what the optimum costs."""
    method = replace(case.method, exact=False, seconds=None)
    cells = best.cells
    problem = method.stated([cells])[2]
    found = method.apply(cells, given).pattern
    bound = (1 - found.gap) * problem.total(found.values)
    least = problem.total(best.pattern.values)
    return f"no pattern is below {bound}, but one costs {least}" if bound > least + NEAR else None


def _redundant(case: Case, found: Suppressed) -> str | None:
    """Return a cell that an optimum withholds without need."""
    withheld, primary = found.withheld.reshape(-1), _asked(case)[0] > 0
    for cell in np.flatnonzero(withheld & ~primary):
        fewer = withheld.copy()
        fewer[cell] = False
        if not exposed(case, fewer):
            return f"the optimum withholds cell {cell} without need"
    return None


def _contributions(case: Case, matrix: Array, inner: list[tuple[int, ...]]) -> Array:
    """Return what each contributor has in each cell: a row for each contributor."""
    records = case.records
    place = {codes: i for i, codes in enumerate(inner)}
    own = np.zeros((int(records.units.max()) + 1, len(inner)))
    for codes, amount, unit in zip(
        records.at.tolist(), records.amounts, records.units, strict=True
    ):
        own[unit, place[tuple(codes)]] += amount
    return np.asarray(own @ matrix.T)


def _asked(case: Case) -> tuple[Array, Array, Array]:
    """Return what is asked of each cell against the public; then of contributors, and widths.

    The formulas of the rules, written again: p·m/q − R against who has a, R the rest beside m
    and a; 100·(x1 + … + xn)/k − X; percent of the value for fewer contributors than the minimum.
    """
    matrix, inner = incidence(case.records.parents)
    own = _contributions(case, matrix, inner)
    values = own.sum(axis=0)
    ranked = -np.sort(-own, axis=0)
    counts = case.records.counts
    public, insiders = np.zeros(values.size), np.zeros(own.shape)
    for rule in case.method.rules:
        if isinstance(rule, PriorPosterior):
            share = rule.p / rule.q
            rest = values - ranked[:2].sum(axis=0)
            amount = np.where(values > 0, share * ranked[0] - rest, 0)
            public = np.maximum(public, amount)
            for who in range(len(own)):
                most = np.delete(own, who, axis=0).max(axis=0, initial=0)
                insiders[who] = np.maximum(insiders[who], (share + 1) * most + own[who] - values)
        elif isinstance(rule, Dominance):
            amount = 100 * ranked[: rule.n].sum(axis=0) / rule.k - values
            amount = np.where(values > 0, amount, 0)
            public, insiders = np.maximum(public, amount), np.maximum(insiders, amount)
        else:
            assert isinstance(rule, Threshold)
            few = (own > 0).sum(axis=0) < rule.minimum
            if counts:
                amount = ((values > 0) & (values < rule.minimum)) * 1.0
            else:
                amount = np.where(few, rule.percent / 100 * values, 0.0)
            public, insiders = np.maximum(public, amount), np.maximum(insiders, amount)
    width = np.full(values.size, 1.0 if counts else 0.0)
    if case.method.width is not None:
        width[:] = case.method.width
    tiny = 1e-9 * (1 + values)
    public = np.where(public > tiny, public, 0.0)
    return public, np.where(public > 0, insiders, 0.0), np.where(public > 0, width, 0.0)


def exposed(
    case: Case, withheld: Array, only: Array | None = None, shown: Array | None = None
) -> str | None:
    """Return who comes too close to which cell, if anybody does; of some cells only, or all.

    Where other figures are `shown` than the true ones, intervals must reach as far from both.
    """
    matrix, inner = incidence(case.records.parents)
    own = _contributions(case, matrix, inner)
    values, counts = own.sum(axis=0), case.records.counts
    public, insiders, width = _asked(case)
    if only is not None:
        public = np.where(only, public, 0.0)
    if not withheld[public > 0].all():
        return "a sensitive cell is published"
    shown = values if shown is None else shown
    high = np.where(withheld, np.inf, shown)
    nobody = np.zeros(values.size)
    lone = (own > 0).sum(axis=0) == 1
    whom = [(-1, nobody, public)]
    if case.method.singletons:
        whom += [(who, own[who], insiders[who]) for who in range(len(own))]
    seen = set()  # those who know the same, and of whom the same is asked, are one
    for who, part, amounts in whom:
        known = ~withheld | (lone & (part > 0))
        low = np.where(known, shown, np.minimum(part, shown))
        most = np.where(known, shown, high)
        view = (low.tobytes(), most.tobytes(), amounts.tobytes())
        if view in seen:
            continue
        seen.add(view)
        for cell in np.flatnonzero(public > 0):
            if lone[cell] and part[cell] > 0:
                continue
            asked = amounts[cell]
            if width[cell] > 0:
                asked = 0.0
            elif asked <= NEAR:
                continue
            top = extreme(matrix, low, most, cell, -1, counts)
            bottom = extreme(matrix, low, most, cell, 1, counts)
            near = NEAR * (1 + values[cell])
            ends = sorted((values[cell], shown[cell]))
            least = max(ends[0] - asked, min(part[cell], shown[cell]))
            if top + near < ends[1] + asked or bottom - near > least:
                return f"{who} knows cell {cell} to {bottom}…{top}, {asked} asked of {values[cell]}"
            if top - bottom + near < width[cell]:
                return f"{who} knows cell {cell} to {bottom}…{top}, {width[cell]} wide asked"
    return None
