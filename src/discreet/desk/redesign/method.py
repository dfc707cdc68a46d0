"""The least coarsening of a table that passes a criterion, by a search that explains itself.

For the custodian: reasons and figures tell about the true table.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Protocol

import numpy as np

from discreet.checks import chosen
from discreet.desk.redesign import Cost, Steps
from discreet.desk.redesign.explain import merges, rejected, runners, way
from discreet.desk.redesign.lattice import UNIT, Axis, Lattice, checked_weights
from discreet.desk.redesign.model import Criterion, CriterionOnMembers, Forced, Redesign, entropy
from discreet.desk.redesign.search import Search
from discreet.desk.redesign.spaces import Cuts, Groups, Levels, Neighbours, Space
from discreet.errors import ParameterError, unknown
from discreet.progress import Tell
from discreet.solve.solution import Status
from discreet.table.dimension import Dimension

# Half of them to find an answer, half to prove it. A table of a thousand cells takes seconds.
MOST = 20_000
# A large table is tried less often by default: about so many cells in all.
_WORK = 2_000_000_000
_FEWEST = 500


class Table(Protocol):
    """Anything with figures and the dimensions they lie along."""

    @property
    def counts(self) -> Any:
        """The figures."""

    @property
    def dimensions(self) -> tuple[Dimension, ...]:
        """One dimension an axis."""


def least_coarsening(
    table: Table,
    hierarchies: Mapping[str, Groups],
    passes: Criterion | CriterionOnMembers,
    *,
    ordered: Collection[str] = (),
    steps: Steps | str = Steps.SUBTREES,
    cost: Cost | str = Cost.CELLS,
    weights: Mapping[str, float] | None = None,
    keep: Collection[str] = (),
    fixed: Collection[str] = (),
    monotone: bool = False,
    runners_up: int = 3,
    most: int | None = None,
    tell: Tell | None = None,
) -> Redesign:
    """Return the least coarsening of a table that passes a rule, and why it is the least.

    A dimension is merged along its hierarchy (variable → group → members), by runs of neighbours
    where it is `ordered`, and otherwise only to its total, which drops it. A dimension in `keep`
    is never dropped, one in `fixed` never changed. `passes(counts, dimensions)` returns True,
    False or a `Finding`. At most `most` designs are tried.

    Notes
    -----
    Cost in nats, w_d the weight of dimension d: "cells" is Σ w_d·log(n_d/m_d), n and m the
    categories before and after; "information" is Σ w_d·(H_d − H'_d), H the entropy of the
    dimension's own distribution of the figures. Ties go to the design with more cells.

    All cheaper designs are tried, in order of cost, until one passes: this needs nothing of the
    rule. Where a rule says of a failure that it `stays` with every finer table, or the caller
    says so of all (`monotone`), merges that nothing avoids are found first, and designs that
    contain a failing part are ruled out untried. If that is not true of the rule, the answer may
    not be the least. When the tests run out, the best design known is cleaned of merges it does
    not need, and its status is feasible.
    """
    counts = _checked(table)
    dimensions = table.dimensions
    names = tuple(dimension.variable for dimension in dimensions)
    for given in (hierarchies, ordered, weights or (), keep, fixed):
        for name in given:
            if name not in names:
                raise unknown("dimension", name, names)
    for name in ordered:
        if name in hierarchies:
            raise ParameterError(f"{name} must be ordered or have a hierarchy, not both.")
    if runners_up < 0:
        raise ParameterError(f"runners_up must be at least 0. Got {runners_up}.")
    if most is not None and most < 2:
        raise ParameterError(f"most must be at least 2. Got {most}.")
    weight = checked_weights(weights, names)
    kind, how = chosen("cost", Cost, cost), chosen("steps", Steps, steps)
    axes = []
    for d, dimension in enumerate(dimensions):
        others = tuple(axis for axis in range(counts.ndim) if axis != d)
        people = counts.sum(axis=others, dtype=np.float64)
        groups = hierarchies.get(dimension.variable, {})
        space: Space
        if dimension.variable in ordered:
            space = Neighbours(dimension.codes, people)
        else:
            tree = Levels if how is Steps.LEVELS else Cuts
            space = tree(dimension.codes, groups, people, dimension.variable)
        name = dimension.variable
        axes.append(Axis(dimension, space, weight[name], name in keep, name in fixed))
    lattice = Lattice(counts, tuple(axes), passes, kind, monotone, tell)
    tests = max(_FEWEST, min(MOST, _WORK // counts.size)) if most is None else most
    search = Search(lattice, tests, runners_up)
    search.run()
    return _answer(search)


def _answer(search: Search) -> Redesign:
    lattice, best = search.lattice, search.best
    tested = len(lattice.findings)
    failed = rejected(search)
    others = tuple(lattice.design(cut) for cut in runners(search))
    if best is None:
        exhausted = search.impossible or search.reach is None
        status = (
            Status.INFEASIBLE
            if exhausted
            else Status.STOPPED
            if search.stopped
            else Status.NOT_CONVERGED
        )
    elif search.proved:
        status = Status.SOLVED
    else:
        status = Status.STOPPED if search.stopped else Status.FEASIBLE
    if best == lattice.finest:
        reach = 0.0
    elif search.reach is None or search.impossible:
        reach = float("inf")
    else:
        reach = search.reach / UNIT
    return Redesign(
        status,
        None if best is None else lattice.design(best),
        lattice.test(lattice.finest, free=True),
        entropy(lattice.counts),
        () if best is None else way(lattice, best),
        () if best is None else merges(lattice, best),
        tuple(
            Forced(
                lattice.axes[d].dimension.variable,
                ", ".join(code for code, _ in lattice.axes[d].space.blocks(key)),
                verdict,
            )
            for d, key, verdict in search.forced
        ),
        others,
        failed,
        reach,
        tested,
    )


def _checked(table: Table) -> Any:
    """Return the figures as an array of numbers of 0 or more that fits the dimensions."""
    dense = getattr(table, "dense", None)
    values = np.asarray(dense().counts if dense is not None else table.counts)
    if values.shape != tuple(len(dimension) for dimension in table.dimensions) or not values.ndim:
        raise ParameterError(
            f"a table must have the shape of its dimensions. Got {values.shape} for "
            f"{len(table.dimensions)} dimensions."
        )
    if values.dtype.kind not in "iuf" or not np.isfinite(values).all() or (values < 0).any():
        raise ParameterError("a table must hold finite numbers of 0 or more.")
    if not values.any():
        raise ParameterError("a table must hold at least one person. All of its cells are zero.")
    # Sums of unsigned or short integers must not wrap round.
    return values.astype(np.float64 if values.dtype.kind == "f" else np.int64)
