"""Editions: the same data built again without one person, and what the change shows of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import logsumexp

from discreet.population import Level
from discreet.study.attacks.estimate import IMPOSSIBLE
from discreet.study.attacks.finding import Clock, Finding, Share
from discreet.study.attacks.target import Target, by
from discreet.types import Floats


@dataclass(frozen=True)
class Leaver:
    """All attributes of a person who is in one edition and not in the next."""

    id: ClassVar[str] = "leaver"
    name: ClassVar[str] = "a leaver's attributes"
    about: ClassVar[str] = (
        "Compares the same tables of two editions, between which one person of an area left, and "
        "states every attribute of that person."
    )

    def run(self, target: Target, rng: np.random.Generator, clock: Clock) -> Finding:
        """Return the share of attributes that is right, over all variables and leavers."""
        if target.edition is None:
            return Finding(self.name, Share.of(0, 0), reason="there is one edition only")
        right = largest = tries = certain = certain_right = questions = refused = 0
        for level in clock.through(target.levels(2, 24)):
            before, after = target.fresh(), target.edition.fresh()
            left = _left(target, level)
            if not len(left):
                continue
            national = before.figures(level.id)
            shares = np.ones(len(level)) if national is None else np.nan_to_num(national) + 0.5
            evidence = {area: np.log(shares / shares.sum()) for area, _ in left}
            for gains in _gains(before, after, level, [area for area, _ in left]):
                for area, gain in gains.items():
                    evidence[area] = evidence[area] + gain
            for area, code in left:
                found = evidence[area]
                right += int(found.argmax()) == code
                largest += int(shares.argmax()) == code
                tries += 1
                if np.exp(found - found.max()).sum() < 1.001:
                    certain += 1
                    certain_right += int(found.argmax()) == code
            questions += before.questions + after.questions
            refused += before.refused + after.refused
        prior = Share.of(largest, tries)
        return Finding(
            self.name,
            Share.of(right, tries),
            prior=prior,
            questions=questions,
            refused=refused,
            certain=certain,
            certain_right=certain_right,
            note="attributes of people who left, each from another area",
        )


def _left(target: Target, level: Level) -> list[tuple[int, int]]:
    """Return the areas that one person left, and that person's category: for scoring."""
    assert target.edition is not None
    change = target.truth(by(target.area, level), None) - target.edition.truth(
        by(target.area, level), None
    )
    one = (np.abs(change).sum(axis=1) == 1) & (change.sum(axis=1) == 1)
    return [(int(area), int(change[area].argmax())) for area in np.flatnonzero(one)]


def _gains(
    before: Target, after: Target, level: Level, areas: list[int]
) -> Iterator[dict[int, Floats]]:
    """Yield, for each table that both editions answer, the evidence for every category."""
    noise = before.noise
    thirds = [other for other in before.levels(2, 6) if other.id != level.id]
    asked = [[before.area, level], [before.parent, level]]
    asked += [[before.area, level, third] for third in sorted(thirds, key=len)[:4]]
    for levels in asked:
        old, new = before.figures(by(*levels)), after.figures(by(*levels))
        if old is None or new is None:
            continue
        own = [int(levels[0].of[before.area.member[area]]) for area in areas]
        touched = np.isin(np.arange(len(old)), own)
        same = np.nanmean((old == new)[~touched]) if (~touched).any() else 0.0
        mine, then = np.nan_to_num(old[own]), np.nan_to_num(new[own])
        gain = noise.step(then, mine)
        # Where nothing else moved, a figure that did is proof. Else all of them are drawn anew.
        if same > 0.9:
            gain = gain - np.where(mine == then, 0.0, IMPOSSIBLE)
        else:
            gain = gain - noise.step(then, mine, more=0)
        gain = np.where(np.isnan(old[own]) | np.isnan(new[own]), 0.0, gain)
        if gain.ndim == 3:
            gain = logsumexp(gain, axis=2) - np.log(gain.shape[2])
        yield {
            area: gain[i]
            for i, (area, place) in enumerate(zip(areas, own, strict=True))
            if own.count(place) == 1
        }
