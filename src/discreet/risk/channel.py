"""Risk by the averaged channel: first the channel over all released tables, then its entropy.

A different quantity from the mean of R2 over released tables (`after`, `simulated`); both are on
offer. For the custodian, for study.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.checks import checked_counts, checked_total, checked_weights
from discreet.errors import ParameterError
from discreet.risk.after import zeros_after
from discreet.risk.before import WEIGHTS, Risk, entropy_term, risk_of
from discreet.risk.terms import smallness_of, x_log_x
from discreet.types import Floats

# A channel is a square matrix over cells: beyond this it is gigabytes.
MAX_CELLS = 4000


@dataclass(frozen=True)
class ChannelRisk(Risk):
    """R2 by the averaged channel; `undefined` is the probability of a released table of nobody."""

    undefined: float = 0.0


def after_channel(
    F: ArrayLike,
    tables: ArrayLike,
    probabilities: ArrayLike | None = None,
    weights: Sequence[float] = WEIGHTS,
) -> ChannelRisk:
    """Return R2 by the channel averaged over released tables, stacked along the first axis.

    Without `probabilities` the tables are draws of equal weight.

    Notes
    -----
    [Antal2014, Theorem 6]: R2 of §3.3 with the conditional entropy of the averaged channel and
    the mean first term. Zeros: as in `after`; released tables of nobody have no channel, are left
    out, and their probability is reported.

    >>> F = [[40, 2], [0, 58]]
    >>> draws = [[[39, 3], [0, 57]], [[42, 0], [0, 60]]]
    >>> round(float(dc.risk.after_channel(F, draws)), 3)
    0.081
    """
    true = checked_counts(F, "the true table")
    w = checked_weights(weights, 3)
    total = checked_total(true)
    stack, chances = _stacked(true, tables, probabilities)
    held = stack.reshape(len(stack), -1).any(axis=1)
    undefined = float(chances[~held].sum())
    zeros = float(sum(p * zeros_after(true, g) for p, g in zip(chances, stack, strict=True)))
    size, whole = smallness_of(total), -float(x_log_x(true / total).sum())
    ratio = 0.0 if held.any() else float("nan")
    if held.any() and whole > 0:
        defined = chances[held] / chances[held].sum()
        ratio = channel_entropy(true, averaged_channel(true, stack[held], defined)) / whole
    found = risk_of(w, zeros, [entropy_term(true) * ratio], size)
    return ChannelRisk(**vars(found), undefined=undefined)


def averaged_channel(
    F: ArrayLike, tables: ArrayLike, probabilities: ArrayLike | None = None
) -> Floats:
    """Return Pr(released cell j | true cell i) averaged over released tables that hold people.

    Notes
    -----
    [Antal2014, Theorem 6]; of one table, Theorem 4: with a = F/N, b = G/M, m = min(a, b) and
    s = 1 − Σm, m_i/a_i on the diagonal and (a_i − m_i)(b_j − m_j)/(a_i·s) off it. Zeros: the rows
    of empty true cells are 0; a = b gives the identity on the others.

    >>> dc.risk.averaged_channel([3, 1], [[2, 2]]).round(3).tolist()
    [[0.667, 0.333], [0.0, 1.0]]
    """
    true = checked_counts(F, "the true table")
    stack, chances = _stacked(true, tables, probabilities)
    if true.size > MAX_CELLS:
        raise ParameterError(f"a channel must have at most {MAX_CELLS} cells. Got {true.size}.")
    a = true.ravel() / checked_total(true)
    safe = np.where(a > 0, a, 1.0)
    channel = np.zeros((true.size, true.size))
    for chance, table in zip(chances, stack, strict=True):
        b = table.ravel() / checked_total(table)
        lost, gained = np.maximum(a - b, 0), np.maximum(b - a, 0)
        if lost.sum() > 0:
            channel += chance * np.outer(lost / safe, gained / lost.sum())
        channel[np.diag_indices(true.size)] += chance * np.where(a > 0, np.minimum(a, b) / safe, 0)
    return channel


def channel_entropy(F: ArrayLike, channel: ArrayLike) -> float:
    """Return H(X|Y) of a channel over the cells of a true table [Antal2014, eq. 3.2].

    Notes
    -----
    −Σ Pr(i, j)·log(Pr(i, j)/Pr(j)); 0·log 0 = 0.

    >>> dc.risk.channel_entropy([3, 1], np.eye(2))
    0.0
    """
    counts = checked_counts(F, "the true table").ravel()
    joint = counts[:, None] / checked_total(counts) * np.asarray(channel, np.float64)
    return float(x_log_x(joint.sum(axis=0)).sum() - x_log_x(joint).sum())


def _stacked(
    true: NDArray[np.int64], tables: ArrayLike, probabilities: ArrayLike | None
) -> tuple[NDArray[np.int64], Floats]:
    stack = checked_counts(tables, "the released tables")
    if stack.shape[1:] != true.shape:
        raise ParameterError(
            f"the released tables must be stacked along the first axis, each of the shape "
            f"{true.shape}. Got {stack.shape}."
        )
    if probabilities is None:
        return stack, np.full(len(stack), 1 / len(stack))
    chances = np.asarray(probabilities, np.float64)
    if chances.shape != (len(stack),) or (chances < 0).any() or abs(chances.sum() - 1) > 1e-6:
        raise ParameterError("probabilities must be one for each table, none negative, sum 1.")
    return stack, chances
