"""A search that finds attacks by itself: sets of questions evolve, and a rule is learnt for each.

It is told nothing of averages, differences or equations. It knows how to write a question with a
filter, changes sets of questions at random, and keeps those from whose answers the counts of some
areas can be learnt best. Areas whose counts it was given are its shadow population; it is scored on
the others.

While it searches it takes the answer to a question to depend on what was asked before it of other
variables and levels, and on nothing else, so that it asks for each once. What it found in the end
is asked for anew, as an attacker would.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from discreet.population import Level
from discreet.query import Query, Question, QuestionClass
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

Before = tuple[QuestionClass, ...]
"""The tables that were asked about, each when it first was."""


@dataclass(frozen=True)
class Search:
    """Small counts of a few categories, by whatever set of questions evolves."""

    variable: str | None = None
    sets: int = 400
    most: int = 40
    offspring: int = 6
    parents: int = 3
    categories: int = 4

    id: ClassVar[str] = "search"
    name: ClassVar[str] = "a search for attacks"
    about: ClassVar[str] = (
        "Changes sets of questions at random, learns from the areas it knows how their answers "
        "give a count, keeps the sets that do best, and tries the best one on other areas."
    )

    def run(self, target: Target, rng: np.random.Generator, clock: Clock) -> Finding:
        """Return the share of small counts of areas it was not given that is right."""
        level = about_nine(target, self.variable)
        direct = target.fresh().figures(by(target.area, level))
        if direct is None:
            reason = "the table that it begins with is refused"
            return Finding(self.name, Share.of(0, 0), reason=reason)
        some = _most_small(direct, self.categories)
        counts = target.truth(by(target.area, level), None)[:, some]
        split, world = Split.of(len(counts), rng), World(target, level, some)
        alive: list[tuple[float, Genome]] = []
        tried = 0
        for _ in clock.through(range(self.sets // self.offspring)):
            for genome in self._next(world, [g for _, g in alive], rng):
                alive.append((split.error(world.answers(genome), counts), genome))
                tried += 1
            alive = fittest(alive, self.parents)
        return self._scored(world, split, counts, direct[:, some], alive[0][1], tried)

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
        scored = wanted(counts, direct) & split.kept_back[:, None]
        tries, known = int(scored.sum()), np.nan_to_num(direct)

        def share(found: Floats) -> Share:
            return Share.of(int((found == counts)[scored].sum()), tries)

        reading, learnt = share(known), share(split.estimates(known[None], counts))
        return Finding(
            self.name,
            share(split.estimates(world.anew(best), counts)),
            reading,
            share(split.estimates(known[None][:0], counts)),
            max(reading, learnt, key=lambda one: one.value),
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


def fittest(alive: list[tuple[float, Genome]], number: int) -> list[tuple[float, Genome]]:
    """Return the sets of the smallest error; of equals, those that were there first."""
    return sorted(dict.fromkeys(alive), key=lambda found: found[0])[:number]


class World:
    """What the search can ask, and what was answered."""

    def __init__(self, target: Target, level: Level, categories: Integers) -> None:
        self.target, self.level, self.categories = target, level, categories
        self.others = [lv.id for lv in target.levels(2, 4) if lv.id != level.id]
        self._first: dict[QuestionClass, Gene] = {}
        self._asked: dict[Before, Target] = {}
        self._kept: dict[tuple[Before, Gene], Floats] = {}
        self._more = 0

    @property
    def asked(self) -> int:
        """How many questions were asked."""
        return self._more + sum(target.questions for target in self._asked.values())

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
        """Return the figures by question, area and category, 0 where there is none."""
        before: Before = ()
        found = []
        for gene in genome:
            of = self._class(gene)
            before = before if of in before else (*before, of)
            asked = before[: before.index(of) + 1]
            if (asked, gene) not in self._kept:
                self._kept[asked, gene] = self._answer(self._after(asked), gene)
            found.append(self._kept[asked, gene])
        return np.array(found)

    def anew(self, genome: Genome) -> Floats:
        """Return the same, each question asked in its turn of whom nobody has asked before."""
        target = self.target.fresh()
        found = np.array([self._answer(target, gene) for gene in genome])
        self._more += target.questions
        return found

    def _class(self, gene: Gene) -> QuestionClass:
        """Return the table that a question is about."""
        query = Query.of(*self._written(gene))
        of = QuestionClass.of(Question.of(query, self.target.schema))
        self._first.setdefault(of, gene)
        return of

    def _after(self, asked: Before) -> Target:
        """Return a target of which so much was asked, in this order."""
        if asked not in self._asked:
            target = self.target.fresh()
            for of in asked:
                self._answer(target, self._first[of])
            self._asked[asked] = target
        return self._asked[asked]

    def _written(self, gene: Gene) -> tuple[str, str | None]:
        shown = [self.target.area.id] + ([self.level.id] if gene.picked is None else [])
        shown += [gene.other] if gene.other is not None else []
        codes = [c for c, p in zip(self.level.codes, gene.picked or (), strict=False) if p]
        return ",".join(shown), where({self.level.id: codes}) if codes else None

    def _answer(self, target: Target, gene: Gene) -> Floats:
        """Return the figures by area and category; those of a union are for all categories."""
        figures = target.figures(*self._written(gene))
        if figures is None:
            return np.zeros((len(target.area), len(self.categories)))
        if gene.picked is None:
            figures = figures[:, self.categories]
        else:
            figures = np.repeat(figures[:, None], len(self.categories), axis=1)
        return np.asarray(np.nan_to_num(figures.reshape(*figures.shape[:2], -1).sum(axis=2)))


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

    def error(self, answers: Floats, counts: Integers) -> float:
        """Return the mean error of the rules that are learnt, small counts weighted most."""
        far = (self._told(answers, counts) - counts)[self.chooses] ** 2
        return float((far / (1.0 + counts[self.chooses])).mean())

    def estimates(self, answers: Floats, counts: Integers) -> Floats:
        """Return the whole numbers that the rules say."""
        return np.asarray(np.maximum(np.rint(self._told(answers, counts)), 0))

    def _told(self, answers: Floats, counts: Integers) -> Floats:
        """Return what the rule of least squares says of each category, learnt where it may."""
        found = np.empty(counts.shape)
        for i, count in enumerate(counts.T):
            design = np.concatenate([np.ones((1, len(counts))), answers[:, :, i]]).T
            weight = 1 / np.sqrt(1.0 + count[self.learns])
            rows, ridge = design[self.learns] * weight[:, None], 1e-3 * np.eye(design.shape[1])
            rule = np.linalg.solve(rows.T @ rows + ridge, rows.T @ (count[self.learns] * weight))
            found[:, i] = design @ rule
        return found


def _most_small(direct: Floats, number: int) -> Integers:
    """Return the categories with most small figures: known from one published table."""
    small = (direct > 0) & (direct <= 6)
    return np.argsort(-small.sum(axis=0), kind="stable")[:number]
