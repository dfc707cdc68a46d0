"""Why a design is the answer: the way to it, what each merge is for, what else was tried."""

from __future__ import annotations

from discreet.desk.redesign.lattice import UNIT, Cut, Lattice
from discreet.desk.redesign.model import Finding, Merge, Rejected, Step
from discreet.desk.redesign.search import Search

# Beyond so many merges the way is told in order of cost, without trying each next step.
_STEPS_TRIED = 30
_REJECTED = 10_000


def way(lattice: Lattice, target: Cut) -> tuple[Step, ...]:
    """Return the steps from the table as it came to a design, each the most useful for its cost."""
    at, steps = lattice.finest, []
    ahead = len(_ahead(lattice, at, target))
    while at != target:
        options = _ahead(lattice, at, target)
        before = lattice.test(at, free=True)
        ranked = []
        for d, cut in options:
            added = lattice.cost(cut) - lattice.cost(at)
            gained = 0.0
            if ahead <= _STEPS_TRIED and before.score is not None:
                gained = before.score - (lattice.test(cut, free=True).score or 0.0)
            ranked.append((-gained / max(added, 1), added, d, cut))
        _, added, d, cut = min(ranked)
        steps.append(
            Step(
                lattice.axes[d].dimension.variable,
                _became(lattice, d, at, cut),
                added / UNIT,
                before,
            )
        )
        at = cut
    return tuple(steps)


def _ahead(lattice: Lattice, at: Cut, target: Cut) -> list[tuple[int, Cut]]:
    """Return the steps from a design that stay on the way to another."""
    return [
        (d, (*at[:d], key, *at[d + 1 :]))
        for d, axis in enumerate(lattice.axes)
        for key in axis.space.coarser(at[d])
        if axis.space.refines(key, target[d])
    ]


def _became(lattice: Lattice, d: int, at: Cut, cut: Cut) -> dict[str, tuple[str, ...]]:
    """Return the categories that a step makes, each with those it is made of."""
    space = lattice.axes[d].space
    names, labels = space.names(at[d]), space.labels(at[d])
    old = {members.tobytes() for _, members in space.blocks(at[d])}
    return {
        code: tuple(names[i] for i in sorted(set(labels[members].tolist())))
        for code, members in space.blocks(cut[d])
        if members.tobytes() not in old
    }


def merges(lattice: Lattice, cut: Cut) -> tuple[Merge, ...]:
    """Return the merged categories of a design, each with what fails if it alone is undone."""
    best: dict[tuple[int, tuple[str, ...]], Finding] = {}
    for d, finer in lattice.finer(cut):
        place = (d, tuple(_became(lattice, d, finer, cut)))
        verdict = lattice.test(finer, free=True)
        if place not in best or _distance(verdict) < _distance(best[place]):
            best[place] = verdict
    whole = lattice.merged(cut)
    found = []
    for d, codes in sorted(best):
        variable = lattice.axes[d].dimension.variable
        found.append(
            Merge(variable, {code: whole[variable][code] for code in codes}, best[d, codes])
        )
    return tuple(found)


def _distance(verdict: Finding) -> float:
    if verdict.passed:
        return -1.0
    return float("inf") if verdict.score is None else verdict.score


def rejected(search: Search) -> tuple[Rejected, ...]:
    """Return the designs that cost less than the best and failed, the nearest misses first."""
    lattice = search.lattice
    # Each dimension's cost is rounded: closer than that is a tie, and not cheaper.
    limit = None if search.best is None else lattice.cost(search.best) - len(lattice.axes)
    cheaper = [
        (_distance(verdict), lattice.cost(cut), cut, verdict)
        for cut, verdict in lattice.findings.items()
        if not verdict.passed and (limit is None or lattice.cost(cut) < limit)
    ]
    cheaper.sort(key=lambda entry: entry[:3])
    return tuple(
        Rejected(cost / UNIT, lattice.merged(cut), verdict)
        for _, cost, cut, verdict in cheaper[:_REJECTED]
    )


def runners(search: Search) -> list[Cut]:
    """Return designs that pass and are not merely coarser than a cheaper one, the best left out."""
    lattice = search.lattice
    if search.best is None:
        return []
    passing = sorted(
        (lattice.cost(cut), -lattice.cells(cut), cut)
        for cut, verdict in lattice.findings.items()
        if verdict.passed and _allowed(lattice, cut)
    )
    kept = [search.best, *(cut for cut in search.found if cut != search.best)]
    for *_, cut in passing:
        if not any(lattice.refines(known, cut) for known in kept):
            kept.append(cut)
    return kept[1 : search.wanted + 1]


def _allowed(lattice: Lattice, cut: Cut) -> bool:
    return all(axis.allowed(key) for axis, key in zip(lattice.axes, cut, strict=True))
