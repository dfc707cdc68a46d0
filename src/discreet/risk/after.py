"""Risk after protection by conditional entropy, R2: for reproduction and study, never a gate.

Why never a gate: an untouched table has H(X|Y) = 0 and so scores safer than a perturbed one. The
gate is `after_transition`, the posterior, or for the public `public_gate`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from discreet.checks import checked_pair, checked_total, checked_weights
from discreet.risk.before import (
    WEIGHTS,
    Risk,
    entropy_term,
    parts,
    risk_of,
)
from discreet.risk.terms import changed_zero_share_of, smallness_of, x_log_x
from discreet.types import Integers


def after(F: ArrayLike, G: ArrayLike, weights: Sequence[float] = WEIGHTS) -> Risk:
    """Return R2, the risk of the released table G of the true table F, by conditional entropy.

    For the custodian, for reproduction and study; see `after_transition` for a gate. Four weights
    ask for a split form, a `SplitRisk`.

    Notes
    -----
    R2 = w1·(|D|/K)^(|D∪E|/|D∩E|) + w2·T2·H(X|Y)/H(X) + w3·T3 [Antal2014, §3.3], D and E the zero
    cells of F and G, T2 and T3 those of F, and H(X|Y) of eq. 3.6 (`conditional_entropy`). Zeros:
    |D| = 0 makes the first term 0, and so does |D∩E| = 0 (as a limit); H(X) = 0, all people in
    one cell, makes the second term 0. A released table of nobody (M = 0) has no value: the second
    term and the risk are NaN. A true table of nobody is refused. The split form, which is not in
    print, takes the cells with true counts of at most 6 and those of 7 and more as tables of
    their own in the second term, as [Shlomo2015, §4.1] does before protection; a part of nobody
    has the term 0.

    >>> F, G = [[40, 2], [0, 58]], [[39, 3], [0, 57]]
    >>> round(float(dc.risk.after(F, G)), 3)
    0.071
    """
    return _r2(F, G, weights, conditional_entropy)


def after_as_printed(F: ArrayLike, G: ArrayLike, weights: Sequence[float] = WEIGHTS) -> Risk:
    """Return R2 as the tables of the paper have it, which is not what its formula says.

    For the custodian, to reproduce [Antal2014, tables 1 to 4]; nothing else should use it.

    Notes
    -----
    As `after`, with the conditional entropy of `conditional_entropy_as_printed`. All 83 printed
    means are met by it within simulation error, and not by eq. 3.6 where one cell dominates: most
    likely a slip in the program behind the paper. Zeros: as in `after`, but a released table of
    nobody (M = 0) has a second term of 0 and counts.

    >>> F, G = [[40, 2], [0, 58]], [[39, 3], [0, 57]]
    >>> round(float(dc.risk.after_as_printed(F, G)), 3)
    0.085
    """
    return _r2(F, G, weights, conditional_entropy_as_printed)


def _r2(
    F: ArrayLike,
    G: ArrayLike,
    weights: Sequence[float],
    conditional: Callable[[ArrayLike, ArrayLike], float],
) -> Risk:
    true, released = checked_pair(F, G)
    w = checked_weights(weights, 3, 4)
    size = smallness_of(checked_total(true))
    entropy = [_entropy_after(true[p], released[p], conditional) for p in parts(true, w)]
    return risk_of(w, zeros_after(true, released), entropy, size)


def _entropy_after(
    true: Integers, released: Integers, conditional: Callable[[ArrayLike, ArrayLike], float]
) -> float:
    """Return T2·H(X|Y)/H(X): 0 where nobody is or all are in one cell, NaN without H(X|Y)."""
    if not true.any():
        return 0.0
    entropy = -float(x_log_x(true / true.sum()).sum())
    known = conditional(true, released)
    if known != known:
        return known
    return entropy_term(true) * (known / entropy if entropy > 0 else 0.0)


def zeros_after(true: Integers, released: Integers) -> float:
    """Return the first term after protection; see `terms.changed_zero_share` for its zeros."""
    d, e = true == 0, released == 0
    zeros, either, both = (int(np.count_nonzero(cells)) for cells in (d, d | e, d & e))
    return changed_zero_share_of(zeros, either, both, true.size)


def conditional_entropy(F: ArrayLike, G: ArrayLike) -> float:
    """Return H(X|Y), what is still unknown of a person's true cell once the released one is known.

    Notes
    -----
    [Antal2014, eq. 3.6] with a = F/N, b = G/M, m = min(a, b), s = 1 − Σm:
    −Σ m·log(m/b) − Σ (a−m)·log((a−m)/s) − Σ (b−m)·log((b−m)/b). A cell with a > b adds only to
    the second sum, one with a < b to the first and the last. Zeros: 0·log 0 = 0 throughout; 0
    where a = b; NaN where G holds nobody.

    >>> dc.risk.conditional_entropy([3, 1], [3, 1])
    0.0
    >>> round(dc.risk.conditional_entropy([3, 1], [2, 2]), 3)
    0.347
    """
    true, released = checked_pair(F, G)
    total, shown = checked_total(true), int(released.sum())
    if not shown:
        return float("nan")
    a, b = true / total, released / shown
    lost, gained = np.maximum(a - b, 0), np.maximum(b - a, 0)
    kept = x_log_x(b) - x_log_x(np.minimum(a, b)) - x_log_x(gained)
    return float(kept[gained > 0].sum() - x_log_x(lost).sum() + x_log_x(lost.sum()))


def conditional_entropy_as_printed(F: ArrayLike, G: ArrayLike) -> float:
    """Return the H(X|Y) behind the printed means of R2; see `after_as_printed`.

    Notes
    -----
    [Antal2014, eq. 3.6] with the largest cell of b in place of b_j in the last sum,
    −Σ (b−m)·log((b−m)/max b): what `conditional_entropy` says and Σ (b−m)·log(max b/b) more.
    Zeros: as there, but 0 where G holds nobody.

    >>> round(dc.risk.conditional_entropy_as_printed([3, 1], [2, 2]), 3)
    0.347
    """
    true, released = checked_pair(F, G)
    if not released.any():
        return 0.0
    a, b = true / checked_total(true), released / released.sum()
    gained = np.maximum(b - a, 0)
    more = gained * np.log(b.max() / np.where(b > 0, b, 1.0))
    return conditional_entropy(true, released) + float(more.sum())
