"""Noise of maximum entropy for one true count, found through its small dual.

The noise v has unknown probabilities p(v). Among all distributions with mean zero and at most the
asked variance, the one of largest entropy says least beyond what was asked. Two more conditions
may hold: the probabilities do not fall on the way from the lowest change up to v = 0 (so that a
large loss is never likelier than a small one), and p(0) is at least `stay`.

The variance is a ceiling because small counts cannot reach it: with bound 5 and non-falling
probabilities, mean-zero noise on a count of 1 has a variance of 30/11 = 2.73 at most.

Glossary, inside this module: v the changes, θ = λ·(1, v, v²) the tilt, λ the three multipliers.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from discreet.types import Floats

TOLERANCE = 1e-12
"""Largest miss of a moment, in the scale of the bound: four digits beyond any table's print."""


@dataclass(frozen=True)
class RowProblem:
    """What is asked of the noise of one true count: changes, variance, order and staying."""

    changes: tuple[int, ...]
    variance: float
    monotone: bool = True
    stay: float = 0.0

    @property
    def zero(self) -> int:
        """The position of change 0, or −1 where the true count itself may not be released."""
        return self.changes.index(0) if 0 in self.changes else -1

    @property
    def chain(self) -> int:
        """How many of the first probabilities must not decrease; change 0 is the last of them."""
        return self.zero + 1 if self.monotone else 0


def solve_row(problem: RowProblem) -> Floats | None:
    """Return the probabilities of the changes, or None where no distribution meets the conditions.

    Notes
    -----
    Entropy is concave, so each of the two inequalities (variance at most V, p(0) at least `stay`)
    is either slack at the optimum or an equation: at most four problems with equations only, of
    which the best admissible one is the answer. In each, stationarity makes log p the isotonic
    regression of θ along the chain (Kullback–Leibler projections pool by geometric means, and θ
    is on the log scale); the dual function of λ is convex and smooth with gradient
    Σ p·(1, v, v²) − (1, 0, V), so a damped Newton iteration on three unknowns finds it
    [Fraser2005] [Giessing2016].
    """
    v = np.array(problem.changes, float)
    best: Floats | None = None
    stays = [None] if problem.zero < 0 or problem.stay <= 0 else [None, problem.stay]
    for bind_variance in (False, True) if np.isfinite(problem.variance) else (False,):
        for fixed in stays:
            p = _newton(problem, bind_variance, fixed)
            if (
                p is not None
                and p @ v**2 <= problem.variance + 1e-9
                and (problem.zero < 0 or p[problem.zero] >= problem.stay - 1e-12)
                and (best is None or _entropy(p) > _entropy(best))
            ):
                if not bind_variance and fixed is None:
                    return p  # the optimum of a wider problem, and admissible
                best = p
    return best


def _entropy(p: Floats) -> float:
    positive = p[p > 0]
    return -float(positive @ np.log(positive))


def variance_range(
    changes: tuple[int, ...], monotone: bool = True, stay: float = 0.0
) -> tuple[float, float] | None:
    """Return the least and greatest variance of mean-zero noise, or None where there is none.

    Notes
    -----
    A linear programme in the weights of the steps that non-falling probabilities are made of. It
    has three rows (sum 1, mean 0, p(0) at least `stay`), so that a vertex has three weights that
    are not zero, slack included: all are tried.
    """
    problem = RowProblem(changes, 0.0, monotone, stay)
    v = np.array(changes, float)
    steps = np.eye(len(v))
    for k in range(problem.chain):
        steps[k, k : problem.chain] = 1  # as likely as k, all the way up to change 0
    stays = steps[:, problem.zero] if problem.zero >= 0 else np.zeros(len(v))
    rows = np.column_stack([np.array([steps.sum(axis=1), steps @ v, stays]), [0.0, 0.0, -1.0]])
    squares = np.append(steps @ v**2, 0.0)
    bases = np.array(list(combinations(range(len(v) + 1), 3)), np.int64).reshape(-1, 3)
    matrices = rows[:, bases].transpose(1, 0, 2)
    bases, matrices = (
        part[np.abs(np.linalg.det(matrices)) > TOLERANCE] for part in (bases, matrices)
    )
    target = np.array([1.0, 0.0, stay if problem.zero >= 0 else 0.0])
    weights = np.linalg.solve(matrices, np.broadcast_to(target[:, None], (len(bases), 3, 1)))[
        :, :, 0
    ]
    found = (weights * squares[bases]).sum(axis=1)[(weights > -TOLERANCE).all(axis=1)]
    return (float(found.min()), float(found.max())) if len(found) else None


def _newton(problem: RowProblem, bind_variance: bool, fixed: float | None) -> Floats | None:
    """Return the optimum under equations: the variance where bound, p(0) where fixed, or None."""
    v = np.array(problem.changes, float)
    scale = max(1.0, float(np.abs(v).max()))
    features = np.column_stack([np.ones(len(v)), v / scale, (v / scale) ** 2])
    target = np.array([1.0, 0.0, problem.variance / scale**2 if bind_variance else 0.0])
    free = np.ones(len(v), bool)
    if fixed is not None:
        free[problem.zero] = False
        target = target - fixed * features[problem.zero]
        if target[0] < 0:
            return None
    cap = np.log(fixed) if fixed is not None else np.inf
    chain = problem.chain - (fixed is not None and problem.chain > 0)
    moments = 3 if bind_variance else 2
    kept, target = features[free, :moments], target[:moments]

    def evaluate(multipliers: Floats) -> tuple[float, Floats, Floats]:
        p, slopes, content = _tilt(kept, multipliers, chain, cap)
        value = content - float(multipliers @ target)
        return value, kept.T @ p - target, kept.T @ (p[:, None] * slopes)

    multipliers = np.zeros(moments)
    multipliers[0] = -np.log(len(v))
    value, gradient, hessian = evaluate(multipliers)
    for _ in range(200):
        if np.abs(gradient).max() < TOLERANCE:
            break
        step = -np.linalg.lstsq(hessian, gradient, rcond=1e-14)[0]
        descent = float(gradient @ step)
        if not np.isfinite(descent) or descent >= 0:
            break
        step *= min(1.0, 30.0 / float(np.abs(step).max()))
        length, before = 1.0, value
        while length > 1e-10:
            candidate, new_gradient, new_hessian = evaluate(multipliers + length * step)
            # At the last digits the value no longer changes: a smaller gradient will do.
            if candidate <= before + 1e-4 * length * descent or (
                abs(descent) < 1e-12 and np.abs(new_gradient).max() < np.abs(gradient).max()
            ):
                break
            length /= 2
        else:
            break
        multipliers = multipliers + length * step
        value, gradient, hessian = candidate, new_gradient, new_hessian
    if np.abs(gradient).max() > 100 * TOLERANCE:
        return None
    p = np.empty(len(v))
    p[free] = _tilt(kept, multipliers, chain, cap)[0]
    if fixed is not None:
        p[problem.zero] = fixed
    return p


def _tilt(
    features: Floats, multipliers: Floats, chain: int, cap: float
) -> tuple[Floats, Floats, float]:
    """Return p, the derivative of log p by the multipliers, and the dual's content Σ over cells."""
    theta = np.clip(features @ multipliers, -700, 700)
    pooled, slopes = theta.copy(), features.copy()
    blocks: list[tuple[int, int, float]] = []
    for k in range(chain):
        start, end, level = k, k + 1, float(theta[k])
        while blocks and blocks[-1][2] > level:
            start = blocks.pop()[0]
            level = float(theta[start:end].mean())
        blocks.append((start, end, level))
    for start, end, level in blocks:
        pooled[start:end] = level
        slopes[start:end] = features[start:end].mean(axis=0)
        if level > cap:
            pooled[start:end] = cap
            slopes[start:end] = 0
    p = np.exp(pooled)
    return p, slopes, float(np.sum(p * (1 + theta - pooled)))
