"""Withheld areas: a table leaves them out, and other questions bring them back."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import ClassVar

import numpy as np

from discreet.population import Level
from discreet.study.attacks.finding import Clock, Finding, Share
from discreet.study.attacks.target import Target, by, where
from discreet.types import Floats


@dataclass(frozen=True)
class WithheldAreas:
    """The cells of areas that a table withholds: by a filter, by padding, or by subtraction."""

    tables: int = 4
    areas: int = 8
    pairs: int = 6

    id: ClassVar[str] = "withheld-areas"
    name: ClassVar[str] = "withheld areas"
    about: ClassVar[str] = (
        "Asks for areas that a table withholds by filters, together with other areas, or as what "
        "is left of a larger area."
    )

    def run(self, target: Target, rng: np.random.Generator, clock: Clock) -> Finding:
        """Return the share of the cells of withheld areas that is right.

        Read beside them: the share of figures of the other areas that are the true counts.
        """
        right = tries = read = shown = found_areas = all_areas = questions = refused = 0
        for levels in clock.through(_withholding(target, rng, self.tables)):
            asked = target.fresh()
            table = asked.figures(by(target.area, *levels))
            if table is None:
                continue
            truth = target.truth(by(target.area, *levels), None)
            gone = np.flatnonzero(np.isnan(table).reshape(len(table), -1).any(axis=1))
            there = ~np.isnan(table)
            read += int((table == truth)[there & (truth > 0)].sum())
            shown += int((there & (truth > 0)).sum())
            for area in clock.through(rng.permutation(gone)[: self.areas]):
                estimate = self._recovered(asked, levels, table, int(area), rng)
                cells = truth[area] > 0
                all_areas += 1
                tries += int(cells.sum())
                if estimate is not None:
                    found_areas += 1
                    right += int((estimate == truth[area])[cells].sum())
            questions, refused = questions + asked.questions, refused + asked.refused
        reading = Share.of(read, shown)
        return Finding(
            self.name,
            Share.of(right, tries),
            reading,
            questions=questions,
            refused=refused,
            others={"areas for which there is a figure": Share.of(found_areas, all_areas)},
            note="populated cells of withheld areas",
            reason="" if tries else "no table withholds an area",
        )

    def _recovered(
        self,
        target: Target,
        levels: tuple[Level, ...],
        table: Floats,
        area: int,
        rng: np.random.Generator,
    ) -> Floats | None:
        """Return estimates of the cells of a withheld area, None where nothing is answered."""
        found = list(self._by_padding(target, levels, table, area, rng))
        alone = target.figures(by(*levels), where({target.area.id: [target.area.codes[area]]}))
        if alone is not None and not np.isnan(alone).any():
            found += [alone, alone]  # it has half the noise of a difference
        if not found:
            found += _rest(target, levels, table, area)
        return np.rint(np.mean(found, axis=0)) if found else None

    def _by_padding(
        self,
        target: Target,
        levels: tuple[Level, ...],
        table: Floats,
        area: int,
        rng: np.random.Generator,
    ) -> Iterator[Floats]:
        """Yield differences between areas with this one and the same areas without it."""
        others = np.array([i for i in range(len(table)) if i != area])
        for _ in range(self.pairs):
            some = [target.area.codes[i] for i in rng.choice(others, len(others) // 4, False)]
            more = [*some, target.area.codes[area]]
            answers = [
                target.figures(by(*levels), where({target.area.id: p})) for p in (some, more)
            ]
            if answers[0] is None or answers[1] is None:
                return
            difference = answers[1] - answers[0]
            if not np.isnan(difference).any():
                yield difference


def _rest(target: Target, levels: tuple[Level, ...], table: Floats, area: int) -> list[Floats]:
    """Return what is left of the larger area, shared among its withheld areas."""
    larger = target.figures(by(target.parent, *levels))
    parent = target.parent.of[area]
    if larger is None or np.isnan(larger[parent]).any():
        return []
    inside = table[target.parent.of == parent]
    gone = np.isnan(inside).reshape(len(inside), -1).any(axis=1)
    return [np.maximum(larger[parent] - np.nansum(inside, axis=0), 0) / gone.sum()]


def _withholding(
    target: Target, rng: np.random.Generator, number: int
) -> Iterator[tuple[Level, ...]]:
    """Yield tables by area that withhold some areas, which costs no question here."""
    levels = target.levels(2, 12)
    choices = [(level,) for level in levels] + list(combinations(levels, 2))
    done = 0
    for i in rng.permutation(len(choices)):
        if target.mean(target.area, *choices[i]) < 3:
            continue
        table = target.fresh().figures(by(target.area, *choices[i]))
        if table is not None and np.isnan(table).any():
            done += 1
            yield choices[i]
        if done == number:
            return
