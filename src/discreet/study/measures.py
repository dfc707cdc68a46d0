"""The measures of a study by name: what each means, and which of two values is better."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from discreet import risk, utility
from discreet.risk.attribute import near_empty_lines
from discreet.types import Integers


@dataclass(frozen=True)
class Context:
    """What a measure needs beside the two tables: weights, and the axes of the subgroups."""

    weights: tuple[float, ...] = risk.WEIGHTS
    subgroups: tuple[int, ...] = (0,)


@dataclass(frozen=True)
class Measure:
    """A measure of a release: its words, whether less is better, and how it is computed.

    `of` takes the true and the released table; None where the method must be known as well.
    """

    words: str
    low: bool
    of: Callable[[Integers, Integers, Context], float] | None = None


def _lines(true: Integers, released: Integers, _: Context) -> float:
    """Return the largest share of lines, or of people in lines, with one populated cell."""
    del true
    found = near_empty_lines(released[None]).values()
    return max((float(max(lines[0], people[0])) for lines, people in found), default=0.0)


def _margins(true: Integers, released: Integers, _: Context) -> float:
    changes = utility.margin_differences(true, released, most_axes=1).values()
    return max(float(np.abs(change).max()) for change in changes)


def _relative_mean(true: Integers, released: Integers, _: Context) -> float:
    return 100 * utility.relative_absolute(true, released) / int((true > 0).sum())


def _variance(true: Integers, released: Integers, _: Context) -> float:
    if true.ndim < 2:
        return float("nan")
    return utility.variance_ratio(true, released).mean


def _cramers_v(true: Integers, released: Integers, _: Context) -> float:
    if true.ndim < 2 or not released.any():
        return float("nan")
    return 100 * utility.cramers_v(true, released).relative_change


def _entropy(true: Integers, released: Integers, context: Context) -> float:
    if len(context.subgroups) >= true.ndim:
        return float("nan")
    return risk.median_entropy(released, context.subgroups)


def _of_size(low: int, high: int) -> Callable[[Integers, Integers, Context], float]:
    """Return the share of released cells of some sizes."""
    return lambda F, G, c: float(((low <= G) & (high >= G)).mean())


def _small_changed(true: Integers, released: Integers, _: Context) -> float:
    small = (true == 1) | (true == 2)
    return float((true != released)[small].mean()) if small.any() else float("nan")


MEASURES: dict[str, Measure] = {
    "transition-seen": Measure("risk by the transition seen over all draws", True),
    "transition": Measure("risk by the transition, as far as the method has one", True),
    "transition-observed": Measure("risk by the transition, contents as observed", True),
    "split": Measure("risk by the transition, small and large counts apart", True),
    "conditional-entropy": Measure(
        "risk by conditional entropy", True, lambda F, G, c: float(risk.after(F, G, c.weights))
    ),
    "conditional-entropy-as-printed": Measure(
        "risk by conditional entropy, as printed",
        True,
        lambda F, G, c: float(risk.after_as_printed(F, G, c.weights)),
    ),
    "claims": Measure("cells that an intruder's best guess names right, share", True),
    "small-records": Measure(
        "people in cells of 1 and 2 left as they were, share",
        True,
        lambda F, G, c: risk.unchanged_small_records(F, G),
    ),
    "small-records-as-printed": Measure(
        "people in cells of 1 and 2 left as they were, share; by record where records moved",
        True,
        lambda F, G, c: risk.unchanged_small_records(F, G),
    ),
    "small-cells-changed": Measure(
        "cells of 1 and 2 that were changed, share", False, _small_changed
    ),
    "single-lines": Measure("lines, or people in them, with one populated cell", True, _lines),
    "score": Measure(
        "utility: 1 less Hellinger's distance, scaled to the table",
        False,
        lambda F, G, c: utility.score(F, G),
    ),
    "hellinger": Measure("Hellinger's distance", True, lambda F, G, c: utility.hellinger(F, G)),
    "hellinger-rows": Measure(
        "Hellinger's distance of a row, mean",
        True,
        lambda F, G, c: utility.hellinger_rows(F, G).mean,
    ),
    "relative-absolute": Measure(
        "relative absolute distance", True, lambda F, G, c: utility.relative_absolute(F, G)
    ),
    "relative-absolute-rows": Measure(
        "relative absolute distance of a row, mean",
        True,
        lambda F, G, c: utility.relative_absolute_rows(F, G).mean,
    ),
    "relative-mean": Measure("relative change of a figure in percent, mean", True, _relative_mean),
    "average-absolute": Measure(
        "average absolute distance", True, lambda F, G, c: utility.average_absolute(F, G)
    ),
    "variance-ratio": Measure("variance of a row's cells, released over true", False, _variance),
    "rank-change": Measure(
        "cells that change their decile, share",
        True,
        lambda F, G, c: utility.rank_change(F, G).mean,
    ),
    "cramers-v": Measure("Cramér's V, change in percent", False, _cramers_v),
    "median-entropy": Measure("entropy of the subgroups, median", False, _entropy),
    "zeros": Measure("cells of 0, share", False, _of_size(0, 0)),
    "ones": Measure("cells of 1, share", False, _of_size(1, 1)),
    "twos": Measure("cells of 2, share", False, _of_size(2, 2)),
    "three-to-five": Measure("cells of 3 to 5, share", False, _of_size(3, 5)),
    "margins": Measure("largest relative change of a one-way total", True, _margins),
    "unchanged": Measure(
        "cells left as they were, share", False, lambda F, G, c: float((F == G).mean())
    ),
}
"""Every measure, in the order of the results."""

RISK = "transition-seen"
"""The risk of a map that does not name one: the same yardstick for every method."""

BY_METHOD = tuple(name for name, measure in MEASURES.items() if measure.of is None)
"""Those that need to know the method, or all of its draws."""

POOLED = ("transition-seen", "claims")
"""Those that all draws give together, in the same way for every method."""

UNLIKE = ("transition", "transition-observed", "split", "small-records-as-printed")
"""Those that mean different things for different methods: ranked only where they mean one."""

USUAL = tuple(
    name
    for name in MEASURES
    if name not in ("transition-observed", "zeros", "ones", "twos", "three-to-five")
    and not name.endswith("as-printed")
)
"""What a study takes without being asked."""


def weights_for(measure: str, weights: tuple[float, ...]) -> tuple[float, ...]:
    """Return the weights of a measure: the split form needs four."""
    return risk.SPLIT_WEIGHTS if measure == "split" and len(weights) == 3 else weights
