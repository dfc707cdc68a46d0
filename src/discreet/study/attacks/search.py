"""A search that finds attacks by itself: sets of questions evolve, and a rule is learnt for each.

It is told nothing of averages, differences or equations. It knows how to write a question with a
filter, changes sets of questions at random, and keeps those from whose answers the counts of some
areas can be learnt best. Areas whose counts it was given are its shadow population; it is scored on
the others.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from discreet.population import Level
from discreet.study.attacks.finding import Clock, Finding, Share
from discreet.study.attacks.target import Target, by, where
from discreet.study.attacks.unions import NOTE, about_nine, wanted
from discreet.types import Flags, Floats, Integers


@dataclass(frozen=True)
class Gene:
    """One question about all areas: categories picked by a filter, or all of them shown.

    `other` is a further variable that the table shows, and over which its figures are added.
    """

    picked: tuple[bool, ...] | None
    other: str | None = None


Genome = tuple[Gene, ...]


@dataclass(frozen=True, eq=False)
class Rule:
    """Weights of the figures of a set of questions, learnt where the counts are known."""

    weights: Floats
    error: float


@dataclass(frozen=True)
class Search:
    """Small counts of one category, by whatever set of questions evolves."""

    variable: str | None = None
    sets: int = 400
    most: int = 40
    offspring: int = 6
    parents: int = 3

    id: ClassVar[str] = "search"
    name: ClassVar[str] = "a search for attacks"
    about: ClassVar[str] = (
        "Changes sets of questions at random, learns from the areas it knows how their answers "
        "give a count, keeps the sets that do best, and tries the best one on other areas."
    )

    def run(self, target: Target, rng: np.random.Generator, seconds: float) -> Finding:
        """Return the share of small counts of areas it was not given that is right."""
        clock, level = Clock.of(seconds), about_nine(target, self.variable)
        direct = target.fresh().figures(by(target.area, level))
        if direct is None:
            return Finding(self.name, Share.of(0, 0))
        category = _most_small(direct)
        counts = target.truth(by(target.area, level), None)[:, category]
        split = Split.of(len(counts), rng)
        world = World(target, level, category)
        alive: list[tuple[float, Genome]] = []
        tried = 0
        while not alive or (not clock.out and tried < self.sets):
            for genome in self._next(world, [g for _, g in alive], rng):
                rule = split.learnt(world.answers(genome), counts)
                alive.append((rule.error, genome))
                tried += 1
                if clock.out:
                    break  # what there is must do
            alive = sorted(set(alive), key=lambda found: found[0])[: self.parents]
        return self._scored(world, split, counts, direct[:, category], alive[0][1], tried)

    def _scored(
        self,
        world: World,
        split: Split,
        counts: Integers,
        direct: Floats,
        best: Genome,
        tried: int,
    ) -> Finding:
        """Return the finding of the best set of questions, on the areas that were kept back.

        Beside it stand the same rule learnt from the published figure alone, and from nothing.
        """
        scored = wanted(counts, direct) & split.kept_back
        tries = int(scored.sum())

        def share(answers: Floats) -> Share:
            weights = split.learnt(answers, counts).weights
            found = np.maximum(np.rint(_design(answers) @ weights), 0)
            return Share.of(int((found == counts)[scored].sum()), tries)

        reading = share(np.nan_to_num(direct)[:, None])
        return Finding(
            self.name,
            share(world.answers(best)),
            reading,
            share(np.zeros((len(counts), 0))),
            questions=world.asked,
            note=f"{NOTE}, {tried} sets of questions tried, the best has {len(best)}",
        )

    def _next(self, world: World, alive: list[Genome], rng: np.random.Generator) -> list[Genome]:
        """Return changed sets of questions, or the first ones."""
        if not alive:
            return [(world.gene(rng),) for _ in range(2 * self.offspring)]
        return [
            self._changed(world, alive[rng.integers(len(alive))], rng)
            for _ in range(self.offspring)
        ]

    def _changed(self, world: World, genome: Genome, rng: np.random.Generator) -> Genome:
        """Return a set with questions added, dropped, or changed by one category."""
        genes = list(genome)
        kind = rng.integers(4)
        if kind == 0 and len(genes) > 1:
            del genes[rng.integers(len(genes))]
        elif kind == 1:
            i = rng.integers(len(genes))
            genes[i] = world.flipped(genes[i], rng)
        else:
            for _ in range(rng.integers(1, 5)):
                like = genes[rng.integers(len(genes))]
                genes.append(world.flipped(like, rng) if kind == 2 else world.gene(rng))
        return tuple(dict.fromkeys(genes))[: self.most]


class World:
    """What the search can ask, and what was answered: each set of questions of a fresh target."""

    def __init__(self, target: Target, level: Level, category: int) -> None:
        self.target, self.level, self.category = target, level, category
        self.others = [lv.id for lv in target.levels(2, 4) if lv.id != level.id]
        self.asked = 0
        self._kept: dict[Genome, Floats] = {}

    def gene(self, rng: np.random.Generator) -> Gene:
        """Return a random question."""
        other = self.others[rng.integers(len(self.others))] if rng.random() < 0.2 else None
        if rng.random() < 0.2 or len(self.level) < 3:
            return Gene(None, other)
        picked = rng.random(len(self.level)) < rng.uniform(0.3, 0.9)
        picked[rng.integers(len(picked))] = True
        return Gene(tuple(picked.tolist()), other)

    def flipped(self, gene: Gene, rng: np.random.Generator) -> Gene:
        """Return a question with one category more or less, if that leaves any."""
        if gene.picked is None:
            return self.gene(rng)
        picked = np.array(gene.picked)
        picked[rng.integers(len(picked))] ^= True
        return replace(gene, picked=tuple(picked.tolist())) if picked.any() else gene

    def answers(self, genome: Genome) -> Floats:
        """Return the figures by area, a column for each question, 0 where there is none."""
        if genome not in self._kept:
            target = self.target.fresh()
            columns = [self._answer(target, gene) for gene in genome]
            self.asked += target.questions
            self._kept[genome] = np.nan_to_num(np.array(columns).T)
        return self._kept[genome]

    def _answer(self, target: Target, gene: Gene) -> Floats:
        shown = [target.area.id] + ([self.level.id] if gene.picked is None else [])
        shown += [gene.other] if gene.other is not None else []
        codes = [c for c, p in zip(self.level.codes, gene.picked or (), strict=False) if p]
        filters = where({self.level.id: codes}) if gene.picked is not None else None
        figures = target.figures(",".join(shown), filters)
        if figures is None:
            return np.full(len(target.area), np.nan)
        if gene.picked is None:
            figures = figures[:, self.category]
        return np.asarray(figures.reshape(len(figures), -1).sum(axis=1))


@dataclass(frozen=True, eq=False)
class Split:
    """Areas to learn on, areas to choose by, and areas that are kept back for scoring."""

    learns: Flags
    chooses: Flags
    kept_back: Flags

    @classmethod
    def of(cls, areas: int, rng: np.random.Generator) -> Split:
        """Return a third of the areas for each."""
        part = rng.permutation(areas) % 3
        return cls(part == 0, part == 1, part == 2)

    def learnt(self, answers: Floats, counts: Integers) -> Rule:
        """Return the linear rule of least squares, small counts weighted most, and its error."""
        design, weight = _design(answers), 1 / np.sqrt(1.0 + counts)
        rows = design[self.learns] * weight[self.learns][:, None]
        ridge = 1e-3 * np.eye(design.shape[1])
        found = np.linalg.solve(
            rows.T @ rows + ridge, rows.T @ (counts * weight)[self.learns].astype(np.float64)
        )
        far = ((design @ found - counts) * weight)[self.chooses]
        return Rule(np.asarray(found), float((far**2).mean()))


def _design(answers: Floats) -> Floats:
    """Return the answers with a column of ones."""
    return np.asarray(np.concatenate([np.ones((len(answers), 1)), answers], axis=1))


def _most_small(direct: Floats) -> int:
    """Return the category with most small figures: known from one published table."""
    small = (direct > 0) & (direct <= 6)
    return int(small.sum(axis=0).argmax())
