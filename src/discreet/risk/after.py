"""Risk after protection by conditional entropy, R2: for reproduction and study, never a gate.

Why never a gate: an untouched table has H(X|Y) = 0 and so scores safer than a perturbed one. The
gate is `after_transition`, the posterior, or for the public `public_gate`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.checks import checked_pair, checked_total, checked_weights
from discreet.risk.before import WEIGHTS, Risk, entropy_term
from discreet.risk.terms import changed_zero_share, smallness, weighted, x_log_x


def after(F: ArrayLike, G: ArrayLike, weights: Sequence[float] = WEIGHTS) -> Risk:
    """Return R2, the risk of the released table G of the true table F, by conditional entropy.

    For the custodian, for reproduction and study; see `after_transition` for a gate.

    Notes
    -----
    R2 = w1·(|D|/K)^(|D∪E|/|D∩E|) + w2·T2·H(X|Y)/H(X) + w3·T3 [Antal2014, §3.3], D and E the zero
    cells of F and G, T2 and T3 those of F, and H(X|Y) of eq. 3.6 (`conditional_entropy`). Zeros:
    |D| = 0 makes the first term 0, and so does |D∩E| = 0 (as a limit); H(X) = 0, all people in
    one cell, makes the second term 0. A released table of nobody (M = 0) has no value: the second
    term and the risk are NaN. A true table of nobody is refused.
    """
    true, released = checked_pair(F, G)
    w = checked_weights(weights, 3)
    total = checked_total(true)
    zeros = zeros_after(true, released)
    entropy = entropy_term(true) * entropy_ratio(true, released)
    size = float(smallness(total))
    return Risk(float(weighted(w, zeros, entropy, size)), zeros, entropy, size, w)


def zeros_after(true: NDArray[np.int64], released: NDArray[np.int64]) -> float:
    """Return the first term after protection; see `terms.changed_zero_share` for its zeros."""
    d, e = true == 0, released == 0
    return float(changed_zero_share(d.sum(), (d | e).sum(), (d & e).sum(), true.size))


def entropy_ratio(true: NDArray[np.int64], released: NDArray[np.int64]) -> float:
    """Return H(X|Y)/H(X), 0 where H(X) = 0 and NaN where the released table holds nobody."""
    if not released.any():
        return float("nan")
    share = true / true.sum()
    entropy = -float(x_log_x(share).sum())
    return conditional_entropy(true, released) / entropy if entropy > 0 else 0.0


def conditional_entropy(F: ArrayLike, G: ArrayLike) -> float:
    """Return H(X|Y), what is still unknown of a person's true cell once the released one is known.

    Notes
    -----
    [Antal2014, eq. 3.6] with a = F/N, b = G/M, m = min(a, b), s = 1 − Σm:
    −Σ m·log(m/b) − Σ (a−m)·log((a−m)/s) − Σ (b−m)·log((b−m)/b). A cell with a > b adds only to
    the second sum, one with a < b to the first and the last. Zeros: 0·log 0 = 0 throughout; 0
    where a = b; NaN where G holds nobody.
    """
    true, released = checked_pair(F, G)
    checked_total(true)
    if not released.any():
        return float("nan")
    a, b = true / true.sum(), released / released.sum()
    lost, gained = np.maximum(a - b, 0), np.maximum(b - a, 0)
    kept = x_log_x(b) - x_log_x(np.minimum(a, b)) - x_log_x(gained)
    return float(kept[gained > 0].sum() - x_log_x(lost).sum() + x_log_x(lost.sum()))
