"""One release of a table, judged: its risk by any method, its utility, its rows and columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet import risk, utility
from discreet.build.steps import SwapStep, read_steps
from discreet.errors import ParameterError, unknown
from discreet.protect import Kept, Method
from discreet.risk import Risk, SplitRisk
from discreet.study.judge import Known, Seen, mean_and_error, mean_factor, pairs_of
from discreet.study.measures import weights_for
from discreet.study.methods import STEPS, drawn, make, names
from discreet.study.model import On
from discreet.study.pooled import Pooled
from discreet.table.files import TableFile
from discreet.table.transition import Transition
from discreet.types import Integers

SEED = 1
MOVING = ("record-swapping", "pram", "over-imputation")
"""Methods on records that leave as many people as there were."""
FIRST = 200
"""Figures up to this are searched for the smallest that a method releases."""


@dataclass(frozen=True, eq=False)
class Described:
    """A method as whoever judges a release describes it: what is known, and how to draw it."""

    name: str
    known: Known
    method: Method | None = None

    @classmethod
    def of(
        cls, name: str, options: Mapping[str, str], variables: Sequence[str], on: On
    ) -> Described:
        """Return a method by its name, with options as texts."""
        if name not in names():
            raise unknown("method", name, names())
        if name in STEPS and (name != "pram" or on is On.RECORDS):
            return cls(name, Known(rate=_rate(name, options)))
        made = make(name, options, [variables])
        known = Known.of(made, len(variables))
        if on is not On.TABLE and known.rate is None:
            return cls(name, Known())  # its chances are not those of a cell of this table
        return cls(name, known, made)

    @property
    def smallest(self) -> int | None:
        """The smallest figure above 0 that ones and twos become; None where it is not known."""
        if not isinstance(self.known.chances, Transition):
            return None
        shown = np.concatenate([self.known.chances.row(count)[0] for count in (1, 2)])
        above = shown[shown > 0]
        if len(above):
            return int(above.min())
        for count in range(3, FIRST):
            figures = self.known.chances.row(count)[0]
            if figures.max() > 0:
                return int(figures[figures > 0].min())
        return None


def _rate(name: str, options: Mapping[str, str]) -> float | None:
    """Return the rate of a swap; of other methods on records no matrix is known."""
    if name != SwapStep.name:
        if options:
            raise ParameterError(
                f"{name} is judged by what was seen and takes no option here. "
                f"Got {', '.join(options)}."
            )
        return None
    if set(options) != {"rate"}:
        raise ParameterError(f"{name} is judged by its rate alone: --option rate=0.1.")
    try:
        rate = float(options["rate"])
    except ValueError:
        raise ParameterError(f"rate must be a number. Got {options['rate']}.") from None
    step = {"method": name, "rate": rate, "within": "a", "match": []}
    read_steps([step])  # refuses what is no rate
    return rate


def refuse_impossible(file: TableFile, released: Integers, described: Described) -> None:
    """Raise where a released table cannot have come from the method: its risk means nothing."""
    true, method, chances = file.counts, described.method, described.known.chances
    if method is not None and method.cellwise and isinstance(chances, Transition):
        pairs = pairs_of(true, released)
        never = {(i, j) for i, j, _ in pairs.tolist() if j not in chances.row(i)[0]}
        wrong = [
            place for place in np.ndindex(true.shape) if (true[place], released[place]) in never
        ]
        if wrong:
            at = ", ".join(
                f"{dimension.variable} {dimension.codes[i]}"
                for dimension, i in zip(file.dimensions, wrong[0], strict=True)
            )
            more = f", and {len(wrong) - 1:,} more figures" if len(wrong) > 1 else ""
            raise ParameterError(
                f"the released table cannot have come from {described.name} with these options: "
                f"it never releases the figure at {at}{more}."
            )
    kept = Kept(False, ((),)) if described.name in MOVING else Kept(False)
    if method is not None:
        kept = method.keeps(true.ndim)
    for axes in kept.margins:
        lost = tuple(axis for axis in range(true.ndim) if axis not in axes)
        gap = np.abs(true.sum(axis=lost) - released.sum(axis=lost))
        if (gap >= kept.within).any():
            by = " × ".join(file.dimensions[axis].variable for axis in axes)
            what = f"totals by {by}" if by else "total of the table"
            how = "never changes" if kept.within == 1 else f"changes by less than {kept.within}"
            raise ParameterError(
                f"the released table cannot have come from {described.name}: here the {what} "
                f"differ{'s' * (not by)}, which the method {how}."
            )


def terms_of(found: Risk) -> dict[str, float]:
    """Return the terms of a risk, in the order of its weights."""
    if isinstance(found, SplitRisk):
        parts = {"entropy_small": found.entropy_small, "entropy_large": found.entropy_large}
    else:
        parts = {"entropy": found.entropy}
    return {"zeros": found.zeros, **parts, "size": found.size}


def by_method(
    true: Integers,
    released: Integers,
    described: Described,
    weights: tuple[float, ...],
    draws: int,
) -> dict[str, Any]:
    """Return the risk of a release by its method: as it is, in its other forms, in expectation."""
    tables = _drawn(true, described, draws)
    seen = Seen.of(pairs_of(true, table) for table in (released, *tables))
    known = described.known.filled(seen)
    how = "seen" if not described.known.complete else "transition"
    how = "rate" if known.rate is not None else how
    found = known.after(true, released, weights)
    split = weights_for("split", weights)
    parts = known.after(true, released, split)
    return {
        "method": described.name,
        "judged_by": how,
        "value": found.value,
        **terms_of(found),
        "capped": getattr(found, "capped", False),
        "multiplier": list(known.multiplier or (1 - (known.rate or 0.0),)),
        "observed": None
        if how == "rate"
        else _plain(known.after(true, released, weights, "observed").value),
        "split": {"value": parts.value, **terms_of(parts), "weights": list(split)},
        **_posterior(true, known, seen),
        "expected": _expected(true, described, known, weights, tables),
    }


def _posterior(true: Integers, known: Known, seen: Seen) -> dict[str, float | None]:
    """Return what an intruder who knows the method can claim of the released figures."""
    if isinstance(known.chances, Transition):
        who = risk.posterior(known.chances, true)
        shares = who.zeros_true, who.small_true
    else:
        shares = _seen_share(seen, (0,)), _seen_share(seen, (1, 2))
    return {
        "zeros_true": _plain(shares[0]),
        "small_true": _plain(shares[1]),
        "correct_claims": known.claims(true, seen),
    }


def _seen_share(seen: Seen, released: tuple[int, ...]) -> float:
    here = seen.pairs[np.isin(seen.pairs[:, 1], released)]
    same = here[here[:, 0] == here[:, 1]][:, 2].sum()
    return float(same / here[:, 2].sum()) if len(here) else float("nan")


def _drawn(true: Integers, described: Described, draws: int) -> list[Integers]:
    """Return draws of a method, where its mean is not known without them."""
    method = described.method
    if method is None or (method.cellwise and described.known.exact):
        return []
    rng = np.random.default_rng(SEED)
    return [drawn(method, true, rng) for _ in range(draws)]


def _expected(
    true: Integers,
    described: Described,
    known: Known,
    weights: tuple[float, ...],
    tables: Sequence[Integers],
) -> dict[str, Any] | None:
    """Return risk and utility on average: exactly for a transition, else over draws."""
    chances = known.chances
    if tables:
        risks = np.array([known.after(true, table, weights).value for table in tables])
        scores = np.array([utility.score(true, table) for table in tables])
        (value, error, _), (score, spread, _) = mean_and_error(risks), mean_and_error(scores)
        if not described.known.complete:  # what was seen is shared by all draws
            pooled = Pooled(true, [pairs_of(true, table) for table in tables])
            found = pooled.risk(described.known, weights, "expected")
            value, error = mean_and_error(found.values)[0], found.error
        return {
            "exact": False,
            "draws": len(tables),
            "risk": value,
            "risk_standard_error": error,
            "score": score,
            "score_standard_error": spread,
        }
    if described.method is None or not isinstance(chances, Transition):
        return None
    factor: Any = known.multiplier
    if len(weights) == 3:
        factor = mean_factor(known.multiplier or (1.0,), true)
    value = risk.expected_after_transition(true, chances, weights, factor).value
    start = float(risk.before(true, weights))
    score = utility.expected_score(true, chances)
    return {"exact": True, "risk": min(value, start), "score": score}


def utilities(true: Integers, released: Integers) -> dict[str, Any]:
    """Return every measure of utility of a whole table."""
    margins = utility.margin_differences(true, released, most_axes=1).values()
    found: dict[str, Any] = {
        "score": utility.score(true, released),
        "hellinger": utility.hellinger(true, released),
        "relative_absolute": utility.relative_absolute(true, released),
        "average_absolute": utility.average_absolute(true, released),
        "largest_margin_change": max(float(np.abs(change).max()) for change in margins),
        "rank_change": _plain(utility.rank_change(true, released).mean),
    }
    if true.ndim > 1:
        found["variance_ratio"] = _plain(utility.variance_ratio(true, released).mean)
        found["median_entropy"] = [risk.median_entropy(true, 0), _plain(_entropy(released))]
        if released.any():
            both = utility.cramers_v(true, released)
            found["cramers_v"] = [_plain(both.true), _plain(both.released)]
    return found


def _entropy(released: Integers) -> float:
    return risk.median_entropy(released, 0) if released.any() else float("nan")


def slices(
    true: Integers,
    released: Integers,
    names_: Sequence[str],
    codes: Sequence[Sequence[str]],
    known: Known | None,
    weights: tuple[float, ...],
) -> dict[str, dict[str, dict[str, float | None]]]:
    """Return risk and distances of every row and column, by variable and category."""
    distances = utility.distance_rows(true, released)
    ratio = [
        utility.variance_ratio(true, released, axis).values if true.ndim > 1 else None
        for axis in range(true.ndim)
    ]
    found: dict[str, dict[str, dict[str, float | None]]] = {}
    for axis, name in enumerate(names_):
        found[name] = {}
        for place, code in enumerate(codes[axis]):
            F, G = true.take(place, axis=axis), released.take(place, axis=axis)
            here: dict[str, float | None] = {
                "hellinger": float(distances.hellinger.axes[axis][place]),
                "relative_absolute": float(distances.relative_absolute.axes[axis][place]),
                "average_absolute": float(distances.average_absolute.axes[axis][place]),
            }
            spread = ratio[axis]
            if spread is not None:
                here["variance_ratio"] = _plain(float(spread[place]))
            if known is not None:
                here["risk"] = _slice_risk(np.asarray(F), np.asarray(G), known, weights)
            found[name][code] = here
    return found


def _slice_risk(
    true: Integers, released: Integers, known: Known, weights: tuple[float, ...]
) -> float | None:
    if not true.any():
        return None
    full = known.filled(Seen.of([pairs_of(true, released)]))
    return _plain(full.after(true, released, weights).value)


def _plain(value: float) -> float | None:
    return float(value) if value == value else None
