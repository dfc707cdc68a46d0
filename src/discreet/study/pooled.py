"""Risks by what all draws of a setting show together, with standard errors by the jackknife.

One yardstick for every method: how often a true count was released as what. The draws share what
was seen of all of them, so that the spread of their risks says too little of how far off the mean
is. Leaving draws out, what was seen of them included, says it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from discreet.risk import before
from discreet.risk.before import LARGEST_SMALL
from discreet.risk.terms import changed_zero_share, concentration, smallness_of, weighted, x_log_x
from discreet.risk.transition import Contents
from discreet.study.judge import Known, Pairs
from discreet.types import Floats, Integers

GROUPS = 20
"""Draws are left out in so many groups, one by one where there are no more."""


@dataclass(frozen=True)
class Found:
    """What every draw has, and the standard error of their mean."""

    values: Floats
    error: float


class Pooled:
    """Draws of one table under one setting, and what is seen of them with some left out.

    Columns stand for what was left out: nothing in the first, a group of draws in each other.
    """

    def __init__(self, true: Integers, drawn: Sequence[Pairs]) -> None:
        from scipy.sparse import csr_array  # a table alone is measured without it

        self._table = true
        every = np.concatenate(list(drawn))
        both, place = np.unique(every[:, :2], axis=0, return_inverse=True)
        draw = np.repeat(np.arange(len(drawn)), [len(pairs) for pairs in drawn])
        shape = (len(drawn), len(both))
        self._number = csr_array((every[:, 2], (draw, place.ravel())), shape, dtype=np.float64)
        self._true, shown = both.T
        self._figures, at = np.unique(shown, return_inverse=True)
        ones = (np.ones(len(both)), (np.arange(len(both)), at))
        self._to_figure = csr_array(ones, (len(both), len(self._figures)))
        self._same, self._shown = self._true == shown, shown
        self._cells = (self._number @ self._to_figure).tocsr()  # of each figure, in each draw
        self._group = np.arange(len(drawn)) * min(GROUPS, len(drawn)) // len(drawn)

    @cached_property
    def _kept(self) -> Floats:
        """How many cells went from what to what, in all draws and without each group."""
        from scipy.sparse import csr_array

        groups = int(self._group[-1]) + 1
        ones = (np.ones(len(self._group)), (self._group, np.arange(len(self._group))))
        left_out = (csr_array(ones, (groups, len(self._group))) @ self._number).toarray()
        total = left_out.sum(axis=0)[None]
        return (total if groups == 1 else np.concatenate([total, total - left_out])).T

    def claims(self) -> Found:
        """Return the share of cells that the best guess names right, for each figure."""
        order = np.argsort(self._shown, kind="stable")
        starts = np.flatnonzero(np.diff(self._shown[order], prepend=-1))
        right = np.maximum.reduceat(self._kept[order], starts, axis=0).sum(axis=0)
        shares = right / self._kept.sum(axis=0)
        return Found(np.full(len(self._group), shares[0]), _spread(shares[1:]))

    def risk(self, known: Known, weights: tuple[float, ...], contents: Contents) -> Found:
        """Return the risk of every draw, with what was seen in the place of what is not known."""
        terms = self._entropy(known, weights, contents)
        factors = self._factors(known, weights)
        zeros = self._zeros()[:, None]
        size = smallness_of(int(self._table.sum()))
        found = weighted(
            weights, zeros, *(f * t for f, t in zip(factors, terms, strict=True)), size
        )
        values = np.minimum(found, float(before(self._table, weights)))
        means = []
        for group in range(values.shape[1] - 1):
            kept = values[self._group != group, group + 1]
            kept = kept[np.isfinite(kept)]
            means.append(kept.mean() if len(kept) else np.nan)
        return Found(values[:, 0], _spread(np.array(means)))

    def _zeros(self) -> Floats:
        """Return the first term of every draw."""
        true, shown = self._true == 0, self._shown == 0
        either, both = (self._number @ hit.astype(float) for hit in (true | shown, true & shown))
        return changed_zero_share(int((self._table == 0).sum()), either, both, self._table.size)

    def _entropy(
        self, known: Known, weights: tuple[float, ...], contents: Contents
    ) -> list[Floats]:
        """Return the concentration of what the figures contain, by draw and what is left out."""
        mu, sums = self._flows(known)
        small = self._figures <= LARGEST_SMALL
        parts = [small | True] if len(weights) == 3 else [small, ~small]
        return [self._term(mu, sums, part, contents, len(weights)) for part in parts]

    def _flows(self, known: Known) -> tuple[Floats, Floats]:
        """Return for each figure the cells to expect of it and the people in them."""
        if known.chances is not None:
            values, number = np.unique(self._table, return_counts=True)
            flows = known.chances.flows(values, number, self._figures)
            return flows[0][:, None], flows[1][:, None]
        # Every draw has all cells: Σ_i n_i·P[i, j] is the mean number of cells released as j.
        draws = self._kept.sum(axis=0) / self._table.size
        mu = self._to_figure.T @ self._kept / draws
        return mu, self._to_figure.T @ (self._true[:, None] * self._kept) / draws

    def _term(
        self, mu: Floats, sums: Floats, part: Any, contents: Contents, weights: int
    ) -> Floats:
        cells = self._cells * part[None, :]
        if contents == "observed":
            there = cells.copy()
            there.data = (cells.data > 0).astype(float)
            logs = cells.copy()
            logs.data = np.log(np.where(cells.data > 0, cells.data, 1.0))
            total, spread = there @ sums, there @ x_log_x(sums) - logs @ sums
        else:
            # A figure of a group that was left out may be seen nowhere else: it is not asked for.
            content = np.divide(sums, mu, out=np.zeros_like(sums), where=mu > 0)
            total, spread = cells @ content, cells @ x_log_x(content)
        number = np.asarray(cells.sum(axis=1)).reshape(-1, 1)
        term = concentration(total, spread, np.maximum(number, 1))
        return np.where(total > 0, term, np.nan if weights == 3 else 0.0)

    def _factors(self, known: Known, weights: tuple[float, ...]) -> list[Any]:
        """Return what is left of each concentration: the multipliers, or the cells that stayed."""
        given = known.multiplier
        factors = [np.array([f]) for f in given] if given else self._stays()
        if len(weights) == 4:
            return [factors[0], factors[-1]]
        small = (self._figures > 0) & (self._figures <= LARGEST_SMALL)
        populated = self._cells @ (self._figures > 0).astype(float)
        few = self._cells @ small.astype(float)
        share = np.divide(few, populated, out=np.zeros_like(few), where=populated > 0)[:, None]
        return [share * factors[0] + (1 - share) * factors[-1]]

    def _stays(self) -> list[Floats]:
        """Return the shares of small and of large populated cells left as they were."""
        small = self._true <= LARGEST_SMALL
        found = []
        for part in (small & (self._true > 0), ~small):
            every = self._kept[part].sum(axis=0)
            same = self._kept[part & self._same].sum(axis=0)
            found.append(np.divide(same, every, out=np.ones_like(every), where=every > 0))
        return found


def _spread(left_out: Floats) -> float:
    """Return the standard error that estimates without each group have among them."""
    kept = left_out[np.isfinite(left_out)]
    if len(kept) < 2:
        return float("nan")
    return float(np.sqrt((len(kept) - 1) * kept.var()))
