"""Exact risk and utility, for the record."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet import risk
from discreet import utility as useful
from discreet.policy import Protection, RiskRules


def risk_before(true: NDArray[Any], rules: RiskRules) -> float | None:
    """Return the risk of the true table, None for a table of nobody."""
    counts = np.asarray(true, np.int64)
    return float(risk.before(counts, rules.weights)) if counts.any() else None


def risk_after(
    true: NDArray[Any], released: NDArray[np.int64], protection: Protection, rules: RiskRules
) -> float | None:
    """Return the risk that is left, by the method's transition; None where it has none."""
    counts = np.asarray(true, np.int64)
    transition = protection.transition
    if transition is None or not counts.any():
        return None
    return float(
        risk.after_transition(
            counts, released, transition, weights=rules.weights, multiplier=rules.multiplier
        )
    )


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
