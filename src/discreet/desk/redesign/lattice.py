"""The designs of a table: a cut of each dimension, what it costs, and what the rule says."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from heapq import heappop, heappush
from math import log, prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.desk.redesign import Cost
from discreet.desk.redesign.model import Criterion, CriterionOnMembers, Design, Finding
from discreet.desk.redesign.spaces import Key, Space
from discreet.errors import ParameterError
from discreet.progress import Tell
from discreet.table.dimension import Dimension

Cut = tuple[Key, ...]
"""One key for each dimension."""


# Costs are whole billionths of a nat: sums do not depend on their order, and ties are ties.
UNIT = 1_000_000_000
_KEPT = 32
_ROUND = 64


class Spent(Exception):
    """The number of tests that was allowed is used up."""


@dataclass(frozen=True)
class Axis:
    """A dimension with its cuts; `keep` forbids to drop it, `fixed` to change it at all."""

    dimension: Dimension
    space: Space
    weight: float
    keep: bool
    fixed: bool

    def allowed(self, key: Key) -> bool:
        """Return whether the user allows this cut."""
        if self.fixed:
            return key == self.space.finest
        return not self.keep or self.space.size(key) > 1 or key == self.space.finest

    @property
    def end(self) -> Key:
        """The cut that everything allowed refines; it need not be allowed itself."""
        return self.space.finest if self.fixed else self.space.total


class Lattice:
    """Every design of a table, tested once each and at most `left` of them."""

    def __init__(
        self,
        counts: NDArray[Any],
        axes: tuple[Axis, ...],
        passes: Criterion | CriterionOnMembers,
        cost: Cost,
        monotone: bool,
        tell: Tell | None,
    ) -> None:
        self.counts = counts
        self.axes = axes
        self.findings: dict[Cut, Finding] = {}
        self.stage = "merging"
        self.left = 0
        self.most = 0
        self._passes = passes
        self._kind = cost
        self._monotone = monotone
        self._tell = tell
        self._partial: OrderedDict[Cut, NDArray[Any]] = OrderedDict()
        self._costs: list[dict[Key, int]] = [{} for _ in axes]
        self._dimensions: list[dict[Key, Dimension]] = [{} for _ in axes]

    @property
    def finest(self) -> Cut:
        """The table as it came."""
        return tuple(axis.space.finest for axis in self.axes)

    @property
    def end(self) -> Cut:
        """The design that every other one refines; perhaps not allowed."""
        return tuple(axis.end for axis in self.axes)

    def cost(self, cut: Cut) -> int:
        """Return the cost in units."""
        return sum(self.axis_cost(d, key) for d, key in enumerate(cut))

    def axis_cost(self, d: int, key: Key) -> int:
        """Return the cost of one dimension in units."""
        known = self._costs[d]
        if key not in known:
            axis = self.axes[d]
            if self._kind is Cost.CELLS:
                nats = log(len(axis.dimension) / axis.space.size(key))
            else:
                nats = axis.space.loss(key)
            known[key] = round(axis.weight * nats * UNIT)
        return known[key]

    def cells(self, cut: Cut) -> int:
        """Return how many cells a design leaves."""
        return prod(axis.space.size(key) for axis, key in zip(self.axes, cut, strict=True))

    def refines(self, fine: Cut, coarse: Cut) -> bool:
        """Return whether the first design keeps every distinction of the second."""
        return all(
            axis.space.refines(a, b) for axis, a, b in zip(self.axes, fine, coarse, strict=True)
        )

    def coarser(self, cut: Cut) -> Iterator[tuple[int, Cut]]:
        """Yield the allowed designs one step coarser, each with the dimension that differs."""
        for d, axis in enumerate(self.axes):
            for key in axis.space.coarser(cut[d]):
                if axis.allowed(key):
                    yield d, (*cut[:d], key, *cut[d + 1 :])

    def finer(self, cut: Cut) -> Iterator[tuple[int, Cut]]:
        """Yield the allowed designs one step finer, each with the dimension that differs."""
        for d, axis in enumerate(self.axes):
            for key in axis.space.finer(cut[d]):
                if axis.allowed(key):
                    yield d, (*cut[:d], key, *cut[d + 1 :])

    def test(self, cut: Cut, free: bool = False) -> Finding:
        """Return what the rule says of a design; raise `Spent` where no test is left."""
        known = self.findings.get(cut)
        if known is not None:
            return known
        if not free:
            if self.left <= 0:
                raise Spent
            self.left -= 1
        said = self._judged(cut)
        verdict = said if isinstance(said, Finding) else _plain(said)
        if self._monotone and not verdict.passed and not verdict.stays:
            verdict = Finding(
                False, verdict.score, verdict.reason, verdict.cells, verdict.failing, stays=True
            )
        self.findings[cut] = verdict
        if self._tell is not None and len(self.findings) % _ROUND == 0:
            self._tell(self.stage, self.most - self.left, self.most)
        return verdict

    def _judged(self, cut: Cut) -> bool | Finding:
        if isinstance(self._passes, CriterionOnMembers):
            labels = [axis.space.labels(key) for axis, key in zip(self.axes, cut, strict=True)]
            return self._passes.of_members(self.table(cut), self.dimensions(cut), tuple(labels))
        return self._passes(self.table(cut), self.dimensions(cut))

    def table(self, cut: Cut) -> NDArray[Any]:
        """Return the figures of a design."""
        return self._table(cut, len(cut))

    def _table(self, cut: Cut, depth: int) -> NDArray[Any]:
        """Return the figures with the first dimensions merged; the last ones used are kept."""
        if depth == 0:
            return self.counts
        head = cut[:depth]
        known = self._partial.get(head)
        if known is not None:
            self._partial.move_to_end(head)
            return known
        values = self._table(cut, depth - 1)
        space = self.axes[depth - 1].space
        if cut[depth - 1] != space.finest:
            values = merge(values, space.labels(cut[depth - 1]), depth - 1)
        self._partial[head] = values
        if len(self._partial) > _KEPT:
            self._partial.popitem(last=False)
        return values

    def dimensions(self, cut: Cut) -> tuple[Dimension, ...]:
        """Return the dimensions of a design."""
        found = []
        for d, (axis, key) in enumerate(zip(self.axes, cut, strict=True)):
            known = self._dimensions[d]
            if key not in known:
                known[key] = axis.dimension.recoded(axis.space.names(key))
            found.append(known[key])
        return tuple(found)

    def merged(self, cut: Cut) -> dict[str, dict[str, tuple[str, ...]]]:
        """Return what a design merges: variable → new code → old codes."""
        found = {}
        for axis, key in zip(self.axes, cut, strict=True):
            blocks = axis.space.blocks(key)
            if blocks:
                codes = axis.dimension.codes
                found[axis.dimension.variable] = {
                    name: tuple(codes[i] for i in members.tolist())
                    for name, members in sorted(blocks, key=lambda block: int(block[1].min()))
                }
        return found

    def design(self, cut: Cut) -> Design:
        """Return a design with its figures."""
        return Design(
            self.dimensions(cut),
            self.table(cut),
            self.merged(cut),
            {
                axis.dimension.variable: self.axis_cost(d, cut[d]) / UNIT
                for d, axis in enumerate(self.axes)
            },
            self.cost(cut) / UNIT,
            self.test(cut, free=True),
        )


class Stream:
    """The allowed cuts of a dimension from a floor upwards, cheapest first, made as they are asked.

    Of cuts that cost the same, those with more categories come first; then the key decides.
    """

    def __init__(self, lattice: Lattice, d: int, floor: Key) -> None:
        self._lattice = lattice
        self._d = d
        self._space = lattice.axes[d].space
        self._allowed = lattice.axes[d].allowed
        self._heap = [self._entry(floor)]
        self._seen = {floor}
        self._found: list[tuple[int, int, Key]] = []

    def _entry(self, key: Key) -> tuple[int, int, Key]:
        return self._lattice.axis_cost(self._d, key), -self._space.size(key), key

    def get(self, place: int) -> tuple[int, int, Key] | None:
        """Return cost, −categories and key of the cut at a place; None where there is none."""
        while len(self._found) <= place and self._heap:
            entry = heappop(self._heap)
            for key in self._space.coarser(entry[2]):
                if key not in self._seen:
                    self._seen.add(key)
                    heappush(self._heap, self._entry(key))
            if self._allowed(entry[2]):
                self._found.append(entry)
        return self._found[place] if place < len(self._found) else None


def merge(values: NDArray[Any], labels: NDArray[np.int64], axis: int) -> NDArray[Any]:
    """Return the sums over the categories that share a label along an axis."""
    order = np.argsort(labels, kind="stable")
    starts = np.searchsorted(labels[order], np.arange(int(labels.max()) + 1))
    if not (order[1:] > order[:-1]).all():
        values = np.take(values, order, axis)
    return np.add.reduceat(values, starts, axis)


def _plain(said: object) -> Finding:
    if not isinstance(said, bool | np.bool_):
        raise ParameterError(
            f"a rule must return True, False or a Finding. Got {type(said).__name__}."
        )
    return Finding(bool(said), reason="" if said else "the rule says no")


def checked_weights(given: Mapping[str, float] | None, names: tuple[str, ...]) -> dict[str, float]:
    """Return a weight for each dimension, 1 where none is given."""
    weights = dict.fromkeys(names, 1.0)
    for name, weight in (given or {}).items():
        if not 0 <= weight < float("inf"):
            raise ParameterError(
                f"the weight of {name} must be a number of 0 or more. Got {weight}."
            )
        weights[name] = float(weight)
    return weights
