"""Exact risk and utility, for the record."""

from __future__ import annotations

from math import isnan
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet import risk
from discreet import utility as useful
from discreet.policy import Protection, RiskRules
from discreet.release.beforehand import after_beforehand


def risk_before(true: NDArray[Any], rules: RiskRules) -> float | None:
    """Return the risk of the true table, None for a table of nobody."""
    counts = np.asarray(true, np.int64)
    return float(risk.before(counts, rules.weights)) if counts.any() else None


def risk_after(
    true: NDArray[Any],
    released: NDArray[np.int64],
    protection: Protection,
    rules: RiskRules,
    swap_rate: float = 0.0,
    contents: risk.Contents = "expected",
) -> float | None:
    """Return the risk that is left, by the method's transition; None where it has none.

    `swap_rate` is the share of records that were swapped before the table was counted. Without a
    method on the table the risk is by the matrix of the swap [Shlomo2015, §4.2]; with one, what a
    cell keeps of its concentration it must keep through both, so the multipliers multiply.
    """
    counts = np.asarray(true, np.int64)
    transition = protection.transition
    if transition is None or not counts.any():
        return None
    if protection.build is None:
        return after_beforehand(counts, released, swap_rate, rules)
    left = float(
        risk.after_transition(
            counts,
            released,
            transition,
            weights=rules.weights,
            multiplier=rules.multiplier * (1 - swap_rate),
            contents=contents,
        )
    )
    return None if isnan(left) else left


def utility(true: NDArray[Any], released: NDArray[np.int64]) -> dict[str, float | None]:
    """Return how close the released table is to the true one."""
    counts = np.asarray(true, np.int64)
    if not counts.any():
        return {"hellinger": None, "score": None, "average_absolute": None}
    return {
        "hellinger": float(useful.hellinger(counts, released)),
        "score": float(useful.score(counts, released)),
        "average_absolute": float(useful.average_absolute(counts, released)),
    }
