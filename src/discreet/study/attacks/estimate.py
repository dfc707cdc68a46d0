"""How an attacker puts figures together: least squares, without negative counts, or by chances.

Every released figure is a sum of unknown counts plus noise whose chances are known: y ≈ A·x.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.optimize import nnls
from scipy.special import gammaln

from discreet.policy import Tier
from discreet.table.transition import Transition
from discreet.types import Floats, Integers

# What cannot be, in logarithms: an attacker who is wrong about the method still goes on.
IMPOSSIBLE = -30.0


@dataclass(frozen=True, eq=False)
class Noise:
    """The chances of the method, as an attacker reads them in the policy."""

    transition: Transition

    @classmethod
    def of(cls, tier: Tier) -> Noise:
        """Return the noise of a tier's figures; nothing is known of a method without chances."""
        return cls(tier.protection.transition or Transition.identity())

    @cached_property
    def _logs(self) -> tuple[Floats, int]:
        """The logarithm of each chance by row and change, and the largest change."""
        changes, chances = self.transition.changes, self.transition.probabilities
        most = int(np.abs(changes).max())
        table = np.zeros((len(changes), 2 * most + 1))
        rows = np.broadcast_to(np.arange(len(changes))[:, None], changes.shape)
        np.add.at(table, (rows, changes + most), chances)
        return np.log(np.maximum(table, np.exp(IMPOSSIBLE))), most

    def log(self, true: Integers, released: Integers) -> Floats:
        """Return log Pr(released | true) of each pair."""
        logs, most = self._logs
        known = np.maximum(true, 0)
        change = released - known
        found = logs[self.transition.index(known), np.clip(change, -most, most) + most]
        return np.asarray(np.where((np.abs(change) > most) | (true < 0), IMPOSSIBLE, found))

    def step(self, without: Floats, with_one: Floats, more: int = 1) -> Floats:
        """Return log Pr(second figure | one person more) given the first, of each pair.

        The count behind the first figure is anything its noise allows. With `more` = 0, the chance
        of the second figure if nobody is added and it is drawn anew.
        """
        most = self._logs[1]
        first, second = (np.rint(f).astype(np.int64)[..., None] for f in (without, with_one))
        counts = first + np.arange(-most, most + 1)
        weight = np.exp(self.log(counts, np.broadcast_to(first, counts.shape))) * (counts >= 0)
        then = np.exp(self.log(counts + more, np.broadcast_to(second, counts.shape)))
        share = (weight * then).sum(-1) / np.maximum(weight.sum(-1), 1e-300)
        return np.asarray(np.log(np.maximum(share, np.exp(IMPOSSIBLE))))

    def expected(self, figures: Floats, before: Floats) -> Floats:
        """Return the expected counts behind figures, of which so many were expected before."""
        most = self._logs[1]
        released = np.rint(figures).astype(np.int64)[..., None]
        counts = np.maximum(released + np.arange(-most, most + 1), 0)
        mean = np.maximum(before, 1e-3)[..., None]
        chance = counts * np.log(mean) - mean - gammaln(counts + 1)
        chance = chance + self.log(counts, np.broadcast_to(released, counts.shape))
        chance[..., 1:][counts[..., 1:] == counts[..., :-1]] = -np.inf  # zero, counted once
        weight = np.exp(chance - chance.max(-1, keepdims=True))
        return np.asarray((weight * counts).sum(-1) / weight.sum(-1))

    def likely(self, figures: Floats, prior: Floats | None = None) -> Integers:
        """Return the most likely count behind each figure by itself; of equals, the nearest.

        With a `prior` (log chances of each count, a row for each place on the last axis) it is the
        largest posterior.
        """
        most = self._logs[1]
        released = np.rint(np.nan_to_num(figures)).astype(np.int64)[..., None]
        counts = np.maximum(released + np.arange(-most, most + 1), 0)
        chance = self.log(counts, np.broadcast_to(released, counts.shape))
        chance = chance - 1e-9 * np.abs(counts - released)
        if prior is not None:
            at = np.clip(counts, 0, prior.shape[1] - 1)
            chance = chance + prior[np.arange(len(prior))[:, None], at]
        best = chance.argmax(axis=-1)[..., None]
        return np.asarray(np.take_along_axis(counts, best, axis=-1)[..., 0])

    def prior(self, figures: Floats, most: int = 40, rounds: int = 100) -> Floats:
        """Return the logarithm of the chance of each count 0…most, from figures of many cells.

        Notes: the distribution whose noise looks like the figures, by iteration [Lucy 1974]; a
        little of everything is left in it, so that no count is ruled out.
        """
        seen = np.rint(figures[~np.isnan(figures)]).astype(np.int64)
        values, number = np.unique(seen[seen <= most], return_counts=True)
        counts = np.arange(most + 1)
        if not len(values):
            return np.zeros(most + 1)
        chances = np.exp(self.log(*np.broadcast_arrays(counts[:, None], values[None, :])))
        found = np.full(most + 1, 1 / (most + 1))
        for _ in range(rounds):
            found = found * (chances @ (number / np.maximum(found @ chances, 1e-300)))
            found = found / found.sum()
        return np.log(0.98 * found + 0.02 / (most + 1))

    @cached_property
    def variance(self) -> float:
        """The variance of a figure that is not small; never quite zero, so that it can divide."""
        return max(float(self.transition.variance[-self.transition.period :].mean()), 1e-3)


@dataclass(frozen=True, eq=False)
class System:
    """Equations of an attacker: `rows`·x ≈ `figures`, each a sum of so many released figures."""

    rows: Floats
    figures: Floats
    parts: Floats

    @classmethod
    def of(cls, parts: Sequence[tuple[Floats, Floats, float]]) -> System:
        """Return the equations of several answers: rows, figures, how many figures were added."""
        return cls(
            np.concatenate([rows for rows, _, _ in parts]),
            np.concatenate([np.atleast_1d(figures) for _, figures, _ in parts]),
            np.concatenate([np.full(len(rows), float(added)) for rows, _, added in parts]),
        )

    @property
    def known(self) -> System:
        """The equations whose figure is not withheld."""
        there = ~np.isnan(self.figures)
        return System(self.rows[there], self.figures[there], self.parts[there])

    @property
    def weighted(self) -> tuple[Floats, Floats]:
        """The equations, each divided by the noise of its figure."""
        scale = 1 / np.sqrt(self.parts)
        return self.rows * scale[:, None], self.figures * scale


def least_squares(system: System) -> Integers:
    """Return the whole numbers nearest to the solution of least squares."""
    rows, figures = system.weighted
    found = np.linalg.lstsq(rows, figures, rcond=None)[0]
    return np.asarray(np.maximum(np.rint(found), 0), np.int64)


def non_negative(system: System) -> Integers:
    """Return the whole numbers nearest to the solution of least squares without negative counts."""
    rows, figures = system.weighted
    try:
        found = nnls(rows, figures)[0]
    except RuntimeError:  # it did not converge
        return least_squares(system)
    if not (found < 2**53).all():  # it had no equation for a cell
        return least_squares(system)
    return np.asarray(np.rint(found), np.int64)


def integers(
    system: System,
    noise: Noise,
    start: Integers,
    prior: Floats | None = None,
    steps: int = 60,
) -> Integers:
    """Return whole numbers of the largest likelihood, found from a start by moving people.

    A step changes a cell by one, or moves one from a cell to another, whichever gains most. With
    a `prior` (log chances of each count, a row for each cell) it is the largest posterior.
    """
    moves = _moves(len(start))
    change = system.rows @ moves.T
    one = system.parts == 1
    released = np.rint(system.figures).astype(np.int64)
    now = np.asarray(start, np.int64).copy()

    def chances(sums: Floats) -> Floats:
        """Return the log-likelihood of each column of sums."""
        whole = np.rint(sums[one]).astype(np.int64)
        found = noise.log(whole, np.broadcast_to(released[one][:, None], whole.shape)).sum(0)
        spread = 2 * noise.variance * system.parts[~one][:, None]
        far = (sums[~one] - system.figures[~one][:, None]) ** 2 / spread
        return np.asarray(found - far.sum(0))

    def before(counts: Integers) -> Floats:
        """Return the logarithm of the prior of each row of counts."""
        if prior is None:
            return np.zeros(len(counts))
        at = np.clip(counts, 0, prior.shape[1] - 1)
        return np.asarray(prior[np.arange(len(prior)), at].sum(axis=1))

    whole = moves.astype(np.int64)
    at = system.rows @ now
    best = float(chances(at[:, None])[0] + before(now[None])[0])
    for _ in range(steps):
        allowed = ((now + whole) >= 0).all(axis=1)
        found = chances(at[:, None] + change) + before(now + whole)
        found = np.where(allowed, found, -np.inf)
        step = int(found.argmax())
        if found[step] <= best + 1e-9:
            break
        best, now = float(found[step]), now + whole[step]
        at = system.rows @ now
    return now


def _moves(cells: int) -> Floats:
    """Return the moves of a search: one more, one less, and one from a cell to another."""
    one = np.eye(cells)
    pairs = (one[:, None, :] - one[None, :, :]).reshape(-1, cells)
    pairs = pairs[np.abs(pairs).sum(axis=1) > 0] if cells <= 16 else np.empty((0, cells))
    return np.concatenate([one, -one, pairs])


def estimates(system: System, noise: Noise, prior: Floats | None = None) -> dict[str, Integers]:
    """Return what each way of solving makes of the equations."""
    known = system.known
    positive = non_negative(known)
    found = {
        "least squares": least_squares(known),
        "non-negative": positive,
        "likelihood": integers(known, noise, positive),
    }
    if prior is not None:
        found["posterior"] = integers(known, noise, positive, prior)
    return found
