"""A person whom nobody resembles: their attribute, from what is published of everybody."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import ClassVar

import numpy as np

from discreet.population import Level
from discreet.study.attacks.estimate import IMPOSSIBLE, Noise
from discreet.study.attacks.finding import Clock, Finding, Share
from discreet.study.attacks.padding import Group, pairs
from discreet.study.attacks.target import Target, by, where
from discreet.types import Floats

# A statement is certain if all that speaks against it together is less likely than this.
DOUBT = 0.001


@dataclass(frozen=True)
class Person:
    """Somebody in a small area who alone has these categories; `attribute` is what is wanted."""

    area: int
    known: tuple[int, ...]
    attribute: int


@dataclass(frozen=True)
class Unique:
    """The attribute of a person unique on their area and three known attributes."""

    known: tuple[str, ...] = ()
    attribute: str | None = None
    people: int = 100
    pairs: int = 8

    id: ClassVar[str] = "unique-person"
    name: ClassVar[str] = "a unique person's attribute"
    about: ClassVar[str] = (
        "Knows a person's area, sex, age and marital status, which nobody else there shares, and "
        "asks for their health: in tables with and without them, and in all tables of their area."
    )

    def run(self, target: Target, rng: np.random.Generator, clock: Clock) -> Finding:
        """Return the share of people whose attribute is stated rightly."""
        target = target.fresh()
        known, wanted = self._levels(target)
        tables = Local.of(target, known, wanted)
        hits = {"attack": 0, "prior": 0, "tables": 0, "two questions": 0}
        tries = certain = certain_right = 0
        for person in clock.through(_unique(target, known, wanted, rng, self.people)):
            before = tables.prior(person)
            local = tables.posterior(person)
            steps = list(self._padded(target, known, wanted, person, rng))
            first = local + steps[0] if steps else local
            after = local + sum(steps, np.zeros(len(wanted)))
            found = {"attack": after, "prior": before, "tables": local, "two questions": first}
            for way, chances in found.items():
                hits[way] += int(chances.argmax()) == person.attribute
            tries += 1
            weight = np.exp(after - after.max())
            if 1 / weight.sum() > 1 - DOUBT:
                certain += 1
                certain_right += int(after.argmax()) == person.attribute
        prior = Share.of(hits["prior"], tries)
        return Finding(
            self.name,
            Share.of(hits["attack"], tries),
            prior=prior,
            questions=target.questions,
            refused=target.refused,
            certain=certain,
            certain_right=certain_right,
            may_be_certain=False,
            others={way: Share.of(hits[way], tries) for way in ("tables", "two questions")},
            note=f"{wanted.id} of people unique on area, {', '.join(k.id for k in known)}",
        )

    def _levels(self, target: Target) -> tuple[tuple[Level, ...], Level]:
        """Return the levels that are known, and the one that is wanted."""
        if self.known and self.attribute is not None:
            known = tuple(target.schema.find(name)[1] for name in self.known)
            return known, target.schema.find(self.attribute)[1]
        known = tuple(target.levels(2, 24)[:3])
        rest = [level for level in target.levels(2, 24) if level not in known]
        fitting = [level for level in rest if 4 <= len(level) <= 6] or rest
        # The one that is hardest to guess, of those of which anything is published.
        shares = {level: target.figures(level.id) for level in fitting}
        hardest = min(
            fitting,
            key=lambda level: 1.0 if (f := shares[level]) is None else float(f.max() / f.sum()),
        )
        return known, hardest

    def _padded(
        self,
        target: Target,
        known: tuple[Level, ...],
        wanted: Level,
        person: Person,
        rng: np.random.Generator,
    ) -> Iterator[Floats]:
        """Yield the evidence for each category from pairs of tables with and without the person."""
        noise = target.noise
        having = {k.id: [k.codes[i]] for k, i in zip(known, person.known, strict=True)}
        group = Group(target.area.codes[person.area], having)
        for _, without, with_them in pairs(target, group, [wanted], rng, self.pairs):
            same = np.where(without == with_them, 0.0, IMPOSSIBLE)
            yield noise.step(without, with_them) - same


@dataclass(frozen=True, eq=False)
class Local:
    """Tables of the wanted attribute by area and some known attributes, with their national twins.

    Without the server an attacker guesses by the national table of all known attributes.
    """

    national: Floats
    tables: tuple[tuple[tuple[int, ...], Floats, Floats], ...]
    noise: Noise

    @classmethod
    def of(cls, target: Target, known: tuple[Level, ...], wanted: Level, most: int = 8) -> Local:
        """Return all tables that are answered, those of most detail first."""
        noise = target.noise
        tables = []
        for some in _subsets(target, known, wanted):
            levels = [known[i] for i in some]
            local = target.figures(by(target.area, *levels, wanted))
            if local is not None:
                tables.append((some, local, _shares(target, levels, wanted)))
            if len(tables) == most:
                break
        return cls(_shares(target, list(known), wanted), tuple(tables), noise)

    def prior(self, person: Person) -> Floats:
        """Return the logarithm of the chance of each category, for such people anywhere."""
        return np.asarray(np.log(self.national[person.known]))

    def posterior(self, person: Person) -> Floats:
        """Return the same, given the tables of the person's area."""
        found = self.prior(person)
        for some, local, national in self.tables:
            at = tuple(person.known[i] for i in some)
            figures, shares = local[(person.area, *at)], national[at]
            if np.isnan(figures).any():
                continue
            before = max(float(figures.sum()), 1.0) * shares
            found = found + np.log(
                np.maximum(self.noise.expected(figures, before), 1e-9) / np.maximum(before, 1e-9)
            )
        return found


def _subsets(target: Target, known: tuple[Level, ...], wanted: Level) -> Iterator[tuple[int, ...]]:
    """Yield which known attributes to ask for, most detail first, if it has a chance."""
    every = [s for n in range(len(known) + 1) for s in combinations(range(len(known)), n)]
    means = {s: target.mean(target.area, wanted, *(known[i] for i in s)) for s in every}
    yield from sorted((s for s in every if means[s] >= 1), key=lambda s: means[s])


def _shares(target: Target, levels: list[Level], wanted: Level) -> Floats:
    """Return the national shares of the wanted categories, within each cell of the others."""
    found = target.figures(by(*levels, wanted))
    if found is None:
        found = target.figures(wanted.id)
    if found is None:
        found = np.ones(len(wanted))
    whole = np.broadcast_to(found, (*(len(level) for level in levels), len(wanted)))
    more = np.nan_to_num(whole) + 0.5
    return np.asarray(more / more.sum(axis=-1, keepdims=True))


def _unique(
    target: Target,
    known: tuple[Level, ...],
    wanted: Level,
    rng: np.random.Generator,
    number: int,
) -> list[Person]:
    """Return people who are alone in their cell: the attacker is told who they are."""
    areas = rng.permutation(len(target.area))[:200]
    codes = [target.area.codes[i] for i in np.sort(areas)]
    truth = target.truth(by(target.area, *known, wanted), where({target.area.id: codes}))
    alone = np.argwhere(truth.sum(axis=-1) == 1)
    found = []
    for cell in rng.permutation(alone)[:number]:
        area, *at = (int(i) for i in cell)
        category = int(truth[(area, *at)].argmax())
        found.append(Person(int(np.sort(areas)[area]), tuple(at), category))
    return found
