"""Refusals as oracles: what is said instead of an answer, learnt on some cells, tried on others."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from discreet.errors import QueryRefused
from discreet.population import Level
from discreet.study.attacks.finding import Clock, Finding, Share
from discreet.study.attacks.padding import Group
from discreet.study.attacks.presence import Try, matched, two_levels
from discreet.study.attacks.target import Target, by

Said = tuple[str, ...]
"""What was said to each of the questions about a cell."""


@dataclass(frozen=True)
class Refusals:
    """Somebody against nobody, by codes, hints and withheld areas, and never by a figure."""

    tries: int = 80
    questions: int = 6

    id: ClassVar[str] = "refusals"
    name: ClassVar[str] = "refusals as answers"
    about: ClassVar[str] = (
        "Asks for groups that nobody may ask for, learns which refusals come of somebody and which "
        "of nobody, and tells the one from the other where it does not know."
    )

    def run(self, target: Target, rng: np.random.Generator, clock: Clock) -> Finding:
        """Return the balanced accuracy at a true count of 1; at 2 and 3 beside it."""
        target = target.fresh()
        levels = two_levels(target)
        truth = target.truth(by(target.area, *levels), None)
        shares = {}
        for count in clock.through((1, 2, 3)):
            cells = matched(truth, rng, self.tries, count)
            heard = [
                (self._said(target, levels, one, rng), one.count > 0)
                for one in clock.through(cells)
            ]
            shares[count] = _learnt(heard)
        return Finding(
            self.name,
            shares[1],
            questions=target.questions,
            refused=target.refused,
            balanced=True,
            others={f"true count {count}": share for count, share in shares.items()},
            note=f"{levels[0].id} and {levels[1].id} in an area, no figure read",
        )

    def _said(
        self, target: Target, levels: tuple[Level, Level], one: Try, rng: np.random.Generator
    ) -> Said:
        """Return what is said to questions about a cell, each by another variable."""
        having = {
            level.id: [level.codes[i]]
            for level, i in zip(levels, (one.first, one.second), strict=True)
        }
        group = Group(target.area.codes[one.area], having)
        shown = [level for level in target.levels(2, 24) if level.id not in having]
        return tuple(
            _answer(target, level.id, group.named(target)) for level in shown[: self.questions]
        )


def _answer(target: Target, asked: str, filters: str | None) -> str:
    """Return everything that an answer says besides its figures."""
    try:
        release = target.ask(asked, filters)
    except QueryRefused as refusal:
        changes = sorted(str(getattr(hint, "text", hint)).split(" ")[0] for hint in refusal.hints)
        return " ".join([refusal.code, *changes])
    return f"answered, {len(release.withheld)} withheld"


def _learnt(heard: list[tuple[Said, bool]]) -> Share:
    """Return the balanced accuracy of a rule learnt on one half of the cells, tried on the other.

    The rule counts, for each question, how often what was said came of somebody and of nobody.
    Cells come in pairs, one of somebody and one of nobody, and a pair stays together.
    """
    halves = [[h for i, h in enumerate(heard) if i // 2 % 2 == k] for k in (0, 1)]
    right, number = {True: 0, False: 0}, {True: 0, False: 0}
    for learnt_on, tried_on in (halves, halves[::-1]):
        seen = {there: Counter[tuple[int, str]]() for there in (True, False)}
        for said, there in learnt_on:
            seen[there].update(enumerate(said))
        for said, there in tried_on:
            evidence = sum(
                float(np.log((seen[True][thing] + 0.5) / (seen[False][thing] + 0.5)))
                for thing in enumerate(said)
            )
            right[there] += (evidence > 0) == there
            number[there] += 1
    return Share.balanced(*(Share.of(right[there], number[there]) for there in (True, False)))
