"""Risk in expectation over a cellwise method's randomness, exactly, without simulation.

For the custodian. Putting the expected table into the measure would be wrong: the measures are not
linear. Cells are independent given the true table, which turns each expectation into an integral
of one variable over products of one factor per cell.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import lgamma

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.checks import checked_counts, checked_total, checked_weights
from discreet.risk.attribute import SMALL
from discreet.risk.before import LARGEST_SMALL, WEIGHTS, Risk, risk_of
from discreet.risk.terms import smallness_of
from discreet.risk.transition import EntropyFactor, checked_factors, mean_diagonal
from discreet.table.transition import Transition
from discreet.types import Floats, Integers

Complex = NDArray[np.complex128]
# Steps of the trapezoidal rule in log t, which converges exponentially for these integrands.
STEP = 0.02
# Nodes taken at once, so that memory does not grow with the number of distinct counts.
CHUNK = 64


def expected_after_transition(
    F: ArrayLike,
    transition: Transition,
    weights: Sequence[float] = WEIGHTS,
    multiplier: EntropyFactor | None = None,
) -> Risk:
    """Return the expectation of `after_transition(F, G, transition)` over the released table G.

    Terms and value are before the cut at the risk before protection. Four weights ask for the
    split form, as there.

    Notes
    -----
    [Shlomo2015, §4.2] with expected contents c_j, which depend on F and P alone. With C = Σ c and
    S = Σ c·log c over the released cells the entropy term is 1 − (log C − S/C)/log K, and
    E[log C] = ∫(e^(−t) − Φ(t))/t dt, E[S/C] = ∫E[S·e^(−tC)] dt over t > 0, Φ(t) = E[e^(−tC)] the
    product over cells of Σ_j P[i, j]·e^(−t·c_j). In the split form of §4.1 the number of cells of
    a part is random too: a factor z for every cell that lands in it gives its distribution. First
    term: `expected_zeros_after`. Zeros: true zeros are cells of the product; a table of nobody is
    refused.

    >>> chances = dc.protect.RandomRounding(3).transition()
    >>> round(float(dc.risk.expected_after_transition([[40, 2], [0, 58]], chances)), 3)
    0.17
    """
    counts = checked_counts(F)
    w = checked_weights(weights, 3, 4)
    total = checked_total(counts)
    psi = checked_factors(mean_diagonal(transition) if multiplier is None else multiplier, w)
    zeros = expected_zeros_after(counts, transition)
    ends = [(0, np.inf)] if len(w) == 3 else [(0, LARGEST_SMALL), (LARGEST_SMALL + 1, np.inf)]
    entropy = [
        factor * _expected_term(counts, transition, low, high)
        for factor, (low, high) in zip(psi, ends, strict=True)
    ]
    return risk_of(w, zeros, entropy, smallness_of(total))


def expected_zeros_after(F: ArrayLike, transition: Transition) -> float:
    """Return the expectation of the first term after protection, (|D|/K)^(|D∪E|/|D∩E|).

    Notes
    -----
    [Shlomo2015, §4.2], [Antal2014, §3.3]. With d zeros, x = d/K and q_i = Pr(i → 0), given that z
    of the zeros are released as more: x^(d/(d−z))·Π(1 − q_i + q_i·x^(1/(d−z)))^n_i over the true
    counts i > 0; z is binomial, and z = d gives 0. Where zeros stay zero only z = 0 remains.

    >>> chances = dc.protect.RandomRounding(3).transition()
    >>> round(dc.risk.expected_zeros_after([1, 0, 30, 40], chances), 3)
    0.125
    """
    counts = checked_counts(F)
    checked_total(counts)
    values, number = np.unique(counts, return_counts=True)
    if values[0] != 0:
        return 0.0
    d, x = int(number[0]), float(number[0] / counts.size)
    to_zero = np.array([_chance(transition, int(value), 0) for value in values])
    q, n = to_zero[1:], number[1:]
    q, n = q[q > 0], n[q > 0]
    left, chance = _binomial(d, 1 - to_zero[0])
    kept = d - left
    root = x ** (1 / np.where(kept > 0, kept, 1))
    moved = np.prod((1 - q + q * root[:, None]) ** n, axis=1)
    return float((chance * np.where(kept > 0, root**d * moved, 0)).sum())


def expected_unchanged_small(
    F: ArrayLike, transition: Transition, small: tuple[int, ...] = SMALL
) -> float:
    """Return the expected share of the people in small cells whose cell is released unchanged.

    Notes
    -----
    Σ i·n_i·P[i, i] / Σ i·n_i over the small counts i, the expectation of
    `unchanged_small_records` [Longhurst2007, §5.2]. NaN without small cells; zeros play no part.

    >>> chances = dc.protect.RandomRounding(3).transition()
    >>> dc.risk.expected_unchanged_small([1, 2, 30], chances)
    0.0
    """
    counts = checked_counts(F)
    people = {i: i * int((counts == i).sum()) for i in small if i > 0}
    same = sum(held * _chance(transition, i, i) for i, held in people.items())
    total = sum(people.values())
    return same / total if total else float("nan")


def _chance(transition: Transition, true: int, released: int) -> float:
    values, chances = transition.row(true)
    return float(chances[values == released].sum())


def _binomial(number: int, chance: float) -> tuple[Integers, Floats]:
    """Return the outcomes of a binomial that matter at double precision, with probabilities."""
    if chance <= 0:
        return np.zeros(1, np.int64), np.ones(1)
    if chance >= 1:
        return np.array([number], np.int64), np.ones(1)
    reach = 40 * np.sqrt(number * chance * (1 - chance)) + 60
    first = int(max(0, number * chance - reach))
    outcomes = np.arange(first, int(min(number, number * chance + reach)) + 1)
    choices = [lgamma(number + 1) - lgamma(z + 1) - lgamma(number - z + 1) for z in outcomes]
    logs = choices + outcomes * np.log(chance) + (number - outcomes) * np.log1p(-chance)
    kept = logs > -60
    return outcomes[kept], np.exp(logs[kept])


def _expected_term(counts: Integers, transition: Transition, low: int, high: float) -> float:
    """Return the expected entropy term of the cells whose released count is in low…high."""
    values, number = np.unique(counts, return_counts=True)
    rows = transition.index(values)
    chances = transition.probabilities[rows]
    # Padding has probability 0 at change 0, so that its target is the count itself: harmless.
    targets = values[:, None] + transition.changes[rows]
    known = np.unique(targets[chances > 0])
    mu, sums = transition.flows(values, number, known)
    # Contents are in units of N, so that E[C] = 1 over the whole table.
    content = np.divide(sums, mu, out=np.zeros_like(mu), where=mu > 0) / counts.sum()
    held = content[np.minimum(np.searchsorted(known, targets), len(known) - 1)]
    inside = (targets >= low) & (targets <= high)
    part = _Part(number, np.where(inside, chances, 0.0), held)
    return part.expected_term() if part.chances.any() else 0.0


class _Part:
    """The cells of a part of a table: which land in it, and with what contents.

    `chances[i, w]` is the probability that a cell of the i-th true count lands in the part with
    the content `held[i, w]`. A cell is open if it may land outside as well; `nodes` are the roots
    of unity z that tell apart how many open cells land inside, from `first` on: all numbers that
    matter at double precision.
    """

    def __init__(self, number: NDArray[np.integer], chances: Floats, held: Floats) -> None:
        some = chances.any(axis=1)
        self.number, self.chances, self.held = number[some], chances[some], held[some]
        outside = 1 - self.chances.sum(axis=1)
        self.outside = np.where(outside > 1e-12, outside, 0.0)
        self.open = self.outside > 0
        n, out = self.number[self.open], self.outside[self.open]
        most, spread = int(n.sum()), float(np.sqrt((n * out * (1 - out)).sum()))
        size = min(most + 1, int(20 * spread) + 60)
        self.first = int(np.clip((n * (1 - out)).sum() - size // 2, 0, most + 1 - size))
        self.nodes = np.exp(2j * np.pi * np.arange(size) / size)

    def expected_term(self) -> float:
        """Return E[1 − (log C − S/C)/log K], the term 1 where K = 1 and 0 where C = 0."""
        positive = self.held[(self.chances > 0) & (self.held > 0)]
        if not positive.size:
            return 0.0
        weights = self._weights()
        empty = np.where(self.held > 0, 0.0, self.chances).sum(axis=1)
        nothing = float((self._product(empty[None]) @ weights).real[0])
        anything = float((self._product(1 - self.outside[None]) @ weights).real[0]) - nothing
        logs = self.held * np.log(np.where(self.held > 0, self.held, 1.0))
        # The least C above 0 sets how far out t must go.
        sure = np.where(self.chances > 0, self.held, np.inf).min(axis=1)[~self.open]
        least = max(float(positive.min()), float((self.number[~self.open] * sure).sum()))
        v = np.arange(-34.0, np.log(800 / least) + STEP, STEP)
        log_c = ratio = 0.0
        for start in range(0, len(v), CHUNK):
            t = np.exp(v[start : start + CHUNK])
            part = self.chances * np.exp(-t[:, None, None] * self.held)
            factor, gain = part.sum(axis=2), (part * logs).sum(axis=2)
            product = self._product(factor)
            left = (product @ weights).real - nothing
            grown = ((product * self._growth(factor, gain)) @ weights).real
            log_c += float((np.exp(-t) * anything - left).sum()) * STEP
            ratio += float((grown * t).sum()) * STEP
        none = float(np.prod((self.outside + empty) ** self.number))
        return float(np.clip(1 - none - (log_c - ratio), 0, 1))

    def _weights(self) -> Complex:
        """Return what sums a function of the nodes to its mean of 1/log K, 0 for K below 2."""
        among = self.first + np.arange(len(self.nodes))
        cells = int(self.number[~self.open].sum()) + among
        inverse = np.where(cells > 1, 1 / np.log(np.maximum(cells, 2)), 0.0)
        return np.asarray(self.nodes[:, None] ** -among @ inverse / len(self.nodes))

    def _product(self, factor: Floats) -> Complex:
        """Return Π over cells of (outside + z·factor), a row for each t and a column for each z.

        Cells that always land in the part have z left out: they are in every K.
        """
        sure = np.prod(factor[:, ~self.open] ** self.number[~self.open], axis=1)
        result: Complex = sure[:, None] * np.ones_like(self.nodes)
        for i in np.flatnonzero(self.open):
            result *= (self.outside[i] + factor[:, i, None] * self.nodes) ** self.number[i]
        return result

    def _growth(self, factor: Floats, gain: Floats) -> Complex:
        """Return Σ over cells of z·gain/(outside + z·factor); anything where the product is 0."""
        each = self.number * gain / np.where(factor > 0, factor, 1.0)
        result: Complex = each[:, ~self.open].sum(axis=1)[:, None] * np.ones_like(self.nodes)
        for i in np.flatnonzero(self.open):
            below = self.outside[i] + factor[:, i, None] * self.nodes
            safe = np.where(np.abs(below) > 0, below, 1.0)
            result += self.number[i] * gain[:, i, None] * self.nodes / safe
        return result
