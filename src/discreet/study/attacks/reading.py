"""Reading: whether published figures are as far from the truth as the policy says they are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from discreet.study.attacks.finding import Clock, Finding, Share
from discreet.study.attacks.target import Target, by


@dataclass(frozen=True)
class Reading:
    """Small counts as they are published, against the chance that the method leaves them alone."""

    tables: int = 10
    small: int = 5

    id: ClassVar[str] = "reading"
    name: ClassVar[str] = "reading"
    about: ClassVar[str] = (
        "Takes the figures of small areas for the true counts. A method that does less than its "
        "description says is found out."
    )

    def run(self, target: Target, rng: np.random.Generator, clock: Clock) -> Finding:
        """Return the share of small counts that is published as it is."""
        target, noise = target.fresh(), target.noise
        right = tries = 0
        expected = 0.0
        levels = target.levels(2, 24)
        for i in clock.through(rng.permutation(len(levels))[: self.tables]):
            figures = target.figures(by(target.area, levels[i]))
            if figures is None:
                continue
            truth = target.truth(by(target.area, levels[i]), None)
            small = (truth >= 1) & (truth <= self.small) & ~np.isnan(figures)
            right += int((figures == truth)[small].sum())
            expected += float(np.exp(noise.log(truth[small], truth[small])).sum())
            tries += int(small.sum())
        said = Share.of(expected, tries)
        return Finding(
            self.name,
            Share.of(right, tries),
            prior=said,
            questions=target.questions,
            refused=target.refused,
            note="true counts of 1 to 5; prior: what the method says of itself",
        )
