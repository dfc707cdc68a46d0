"""Differencing: two answers that differ by one category nobody may ask for, subtracted."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from discreet.population import Level
from discreet.study.attacks.finding import READING, Clock, Finding, Share, Tally
from discreet.study.attacks.target import Target, by, where
from discreet.study.attacks.unions import SMALL
from discreet.types import Floats


@dataclass(frozen=True)
class Differencing:
    """Counts of single categories of the finest level, such as a year of age in a small area."""

    categories: int = 6
    pairs: int = 12

    id: ClassVar[str] = "differences"
    name: ClassVar[str] = "differences of levels"
    about: ClassVar[str] = (
        "Subtracts figures of small areas for sets of categories that differ by one, at a level "
        "that is too fine to be asked for."
    )

    def run(self, target: Target, rng: np.random.Generator, clock: Clock) -> Finding:
        """Return the share of small counts that is right, beside a guess from national shares."""
        target = target.fresh()
        level = max((v.finest for v in target.schema.columns), key=len)
        table = target.figures(by(target.area, level))
        people, national = target.figures(target.area.id), target.figures(level.id)
        if people is None or national is None:
            return Finding(
                self.name, Share.of(0, 0), questions=target.questions, refused=target.refused,
                reason="the table that it begins with is refused",
            )  # fmt: skip
        truth, tally = target.truth(by(target.area, level), None), Tally()
        likely = np.flatnonzero(np.nan_to_num(national) / len(target.area) >= 1)
        for category in clock.through(rng.permutation(likely)[: self.categories]):
            found = self._mean(target, level, int(category), rng)
            guess = np.rint(people * national[category] / np.nansum(national))
            read = guess if table is None else table[:, category]
            read = np.where(np.isnan(read), guess, read)
            found = np.where(np.isnan(found), read, np.rint(found))
            true = truth[:, category]
            ways, small = {READING: read, "differences": found}, (true >= 1) & (true <= SMALL)
            tally.add(true, small, ways, {"national shares": guess})
        finding = tally.finding(self.name, target, f"{level.id} in an area, 1 to 5")
        return replace(finding, prior=tally.share("national shares"))

    def _mean(
        self, target: Target, level: Level, category: int, rng: np.random.Generator
    ) -> Floats:
        """Return the mean difference over pairs of sets, NaN where there is none."""
        total, number = np.zeros(len(target.area)), np.zeros(len(target.area))
        refused = 0
        for _ in range(self.pairs):
            part = rng.random(len(level)) < 0.7
            part[category] = False
            codes = [level.codes[i] for i in np.flatnonzero(part)]
            without = target.figures(target.area.id, where({level.id: codes}))
            more = [*codes, level.codes[category]]
            with_it = target.figures(target.area.id, where({level.id: more}))
            if without is None or with_it is None:
                refused += 1
                if refused > 2:
                    break
                continue
            change = with_it - without
            total += np.nan_to_num(change)
            number += ~np.isnan(change)
        with np.errstate(invalid="ignore"):
            return np.asarray(np.where(number > 0, np.maximum(total / number, 0), np.nan))
