"""Exact risk and utility, for the record."""

from __future__ import annotations

from dataclasses import dataclass
from math import floor, isnan
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet import risk
from discreet import utility as useful
from discreet.policy import RiskRules, Tier
from discreet.risk.exact import Exact, exact
from discreet.utility.hellinger import score_of


def risk_before(true: NDArray[Any], tier: Tier) -> float | None:
    """Return the risk of the true table, None for an empty table."""
    counts = np.asarray(true, np.int64)
    return float(risk.before(counts, tier.risk.weights)) if counts.any() else None


def multiplier(
    released: NDArray[np.int64], tier: Tier, swap_rate: float = 0.0
) -> float | tuple[float, float] | None:
    """Return how much of the entropy term the protection leaves, from the released table alone.

    Two numbers, for small and for large counts, where the weights ask for the split form. None
    where neither the method nor the policy has one. Where the records were swapped and nothing
    else is done it is 1 − rate [Shlomo2015, §4.2], the rate cut to whole percents: what a public
    gate reads is then the released figures and one round number.
    """
    known = tier.multiplier(released.ndim)
    if known is None:
        return None
    alone = tier.protection.build is None and tier.risk.multiplier is None
    stays = 1 - floor(100 * swap_rate + 1e-9) / 100 if alone else 1.0
    if len(tier.risk.weights) == 4:
        return known.small * stays, known.large * stays
    return known.of(released) * stays


@dataclass(frozen=True)
class Measures:
    """The risk of the true table and the risk that is left, and how close the released one is."""

    before: float | None
    after: float | None
    utility: dict[str, float | None]


def measured(
    true: NDArray[np.int64], released: NDArray[np.int64], tier: Tier, swap_rate: float = 0.0
) -> Measures:
    """Return all that is recorded of a table."""
    together = _together(true, released, tier, swap_rate)
    if together is None:
        found = _after(true, released, tier, swap_rate, "expected")
        before = found.before if isinstance(found, risk.RiskAfter) else risk_before(true, tier)
        return Measures(before, _told(found), utility(true, released))
    distances = _distances(together.hellinger, together.average_absolute, int(true.sum()))
    return Measures(together.before, _told(together.after), distances)


def _together(
    true: NDArray[np.int64], released: NDArray[np.int64], tier: Tier, swap_rate: float
) -> Exact | None:
    """Return the measures in one pass, None where they must be had one by one."""
    if tier.protection.build is None or not true.any():
        return None
    chances, psi = tier.protection.effect(true.ndim).chances, multiplier(released, tier)
    if chances is None or not isinstance(psi, float) or np.array_equal(true, released):
        return None
    return exact(true, released, chances, tier.risk.weights, psi * (1 - swap_rate))


def _told(found: risk.Risk | float | None) -> float | None:
    return None if found is None or isnan(float(found)) else float(found)


def risk_after(
    true: NDArray[Any],
    released: NDArray[np.int64],
    tier: Tier,
    swap_rate: float = 0.0,
    contents: risk.Contents = "expected",
) -> float | None:
    """Return the risk that is left, by the method's chances; None where they are not known.

    `swap_rate` is the share of records that were swapped before the table was counted. Without a
    method on the table the risk is by the matrix of the swap [Shlomo2015, §4.2]; with one, what a
    cell keeps of its concentration it must keep through both, so the multipliers multiply. Where
    nothing was changed the risk is the one before.
    """
    return _told(_after(np.asarray(true, np.int64), released, tier, swap_rate, contents))


def _after(
    counts: NDArray[np.int64],
    released: NDArray[np.int64],
    tier: Tier,
    swap_rate: float,
    contents: risk.Contents,
) -> risk.Risk | float | None:
    if not counts.any():
        return None
    if tier.protection.build is None:
        return after_beforehand(counts, released, swap_rate, tier.risk)
    chances = tier.protection.effect(counts.ndim).chances
    psi = multiplier(released, tier)
    if chances is None or psi is None:
        return None
    if not swap_rate and np.array_equal(counts, released):
        return risk_before(counts, tier)
    kept = np.multiply(psi, 1 - swap_rate).tolist()
    return risk.after_transition(counts, released, chances, tier.risk.weights, kept, contents)


def after_beforehand(
    true: NDArray[np.int64], released: NDArray[np.int64], rate: float, rules: RiskRules
) -> float | None:
    """Return the risk that is left in a table protected by a swap of its records and nothing else.

    None where records were altered in another way: the chances of that are not known.
    """
    if rate:
        # Where everybody moved, nearly everybody did: the matrix of a swap needs some to stay.
        share = min(rate, 1 - 1e-9)
        return float(risk.after_swapping(true, released, share, weights=rules.weights))
    return float(risk.before(true, rules.weights)) if np.array_equal(true, released) else None


def utility(true: NDArray[Any], released: NDArray[np.int64]) -> dict[str, float | None]:
    """Return how close the released table is to the true one."""
    counts = np.asarray(true, np.int64)
    if not counts.any():
        return {"hellinger": None, "score": None, "average_absolute": None}
    moved = float(useful.average_absolute(counts, released))
    return _distances(useful.hellinger(counts, released), moved, int(counts.sum()))


def _distances(hellinger: float, average_absolute: float, total: int) -> dict[str, float | None]:
    return {
        "hellinger": hellinger,
        "score": score_of(hellinger, total),
        "average_absolute": average_absolute,
    }
