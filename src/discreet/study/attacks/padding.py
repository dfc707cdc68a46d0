"""Padding: a group too small to be asked for, asked for together with others and without them.

Two groups that differ by nobody are the same set, and the same set has the same figures. So a pair
of answers that differ anywhere proves that somebody is in between.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from discreet.population import Level
from discreet.study.attacks.target import Target, where
from discreet.types import Floats

ENOUGH = 250
"""People who pass the rules on counts of nearly every policy."""


@dataclass(frozen=True)
class Group:
    """People of one small area with given categories: of each level, the codes they may have."""

    area: str
    having: Mapping[str, Sequence[str]]

    def named(self, target: Target, areas: Sequence[str] | None = None) -> str | None:
        """Return the filter that picks it, or the same people of other areas."""
        places = [self.area] if areas is None else list(areas)
        return where({**self.having, target.area.id: places})


def pairs(
    target: Target, group: Group, shown: Sequence[Level], rng: np.random.Generator, number: int
) -> Iterator[tuple[Level, Floats, Floats]]:
    """Yield answers to a question with and without the group: the level shown, and the figures.

    Each pair has other areas as padding, enough of them that no rule on counts objects. What was
    refused for all groups is not asked for again.
    """
    others = np.array([code for code in target.area.codes if code != group.area])
    # As many areas as should hold enough people, by the figures of all areas.
    everywhere = target.figures(shown[0].id, where(group.having))
    people = ENOUGH if everywhere is None else float(np.nansum(everywhere))
    share, done = float(np.clip(ENOUGH / max(people, 1), 0.3, 0.95)), 0
    for _ in range(3 * number):
        left = [s for s in shown if not target.is_used_up(s.id, target.area.id, *group.having)]
        if not left:
            return
        level = left[done % len(left)]
        picked = others[rng.random(len(others)) < share]
        without = target.figures(level.id, group.named(target, list(picked)))
        if without is None:
            # Too few people: more areas. Refused for all areas, there is no way.
            if share == 1:
                return
            share = min(1.0, share * 1.4)
            continue
        with_it = target.figures(level.id, group.named(target, [*picked, group.area]))
        if with_it is None or with_it.shape != without.shape:
            continue
        done += 1
        yield level, without, with_it
        if done == number:
            return
