"""Splits: a total is the sum of its parts, and every other way of parting it is another draw."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from discreet.population import Level
from discreet.study.attacks.finding import READING, Clock, Finding, Share, Tally
from discreet.study.attacks.target import Target, by, where
from discreet.types import Floats


@dataclass(frozen=True)
class Splits:
    """Counts of larger areas by a variable, each the mean of many sums of two parts.

    That large totals can be sharpened is told and has no bound: nobody is disclosed by it.
    """

    variable: str | None = None
    splits: int = 92
    early: int = 30

    id: ClassVar[str] = "splits"
    name: ClassVar[str] = "splits of a total"
    about: ClassVar[str] = (
        "Parts the figures of larger areas in two by many other variables, and takes the mean of "
        "the sums."
    )

    def run(self, target: Target, rng: np.random.Generator, clock: Clock) -> Finding:
        """Return the share of counts, large ones too, that is right."""
        target = target.fresh()
        level = self._level(target)
        direct = target.figures(by(target.parent, level))
        if direct is None:
            return Finding(
                self.name, Share.of(0, 0), questions=target.questions, refused=target.refused,
                reason="the table that it begins with is refused",
            )  # fmt: skip
        sums: list[Floats] = []
        for one in clock.through(self._sums(target, level, rng)):
            if not any(np.array_equal(one, other, equal_nan=True) for other in (direct, *sums)):
                sums.append(one)
        found = {
            "the mean": _mean(direct, sums, target.noise.variance),
            f"the mean of {self.early}": _mean(direct, sums[: self.early], target.noise.variance),
            READING: direct,
        }
        tally, truth = Tally(), target.truth(by(target.parent, level), None)
        tally.add(truth, ~np.isnan(direct) & (truth > 0), found)
        return tally.finding(self.name, target, "all counts of larger areas")

    def _level(self, target: Target) -> Level:
        if self.variable is not None:
            return target.schema.find(self.variable)[1]
        return min(target.levels(3, 20), key=lambda level: abs(len(level) - 5))

    def _sums(self, target: Target, level: Level, rng: np.random.Generator) -> Iterator[Floats]:
        """Yield sums of the two parts of every figure, for random parts of other variables."""
        others = [other for other in target.levels(2, 24) if other.id != level.id]
        for _ in range(self.splits):
            other = others[rng.integers(len(others))]
            part = rng.random(len(other)) < 0.5
            if not part.any() or part.all():
                continue
            halves = [
                target.figures(
                    by(target.parent, level),
                    where({other.id: [other.codes[i] for i in np.flatnonzero(half)]}),
                )
                for half in (part, ~part)
            ]
            if halves[0] is not None and halves[1] is not None:
                yield halves[0] + halves[1]


def _mean(direct: Floats, sums: list[Floats], variance: float) -> Floats:
    """Return the mean, each sum weighted by its noise as its distance from the figures shows it."""
    total, weights = direct / variance, np.full(direct.shape, 1 / variance)
    for one in sums:
        far = float(np.nanmean((one - direct) ** 2)) - variance
        weight = 1 / max(far, variance / 2)
        total = total + np.where(np.isnan(one), 0, one) * weight
        weights = weights + ~np.isnan(one) * weight
    return np.asarray(np.rint(total / weights))
