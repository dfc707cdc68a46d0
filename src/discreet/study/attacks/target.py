"""What an attacker has before it: a server that answers questions, and nothing else.

The true counts are beside it for scoring only. An attacker may read them to choose whom it attacks
(it is told who the person is), and to be told afterwards whether it was right.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from discreet.errors import ParameterError, QueryRefused
from discreet.ledger import Database, Ledgers
from discreet.policy import Tier
from discreet.population import Level, Schema, Version
from discreet.population.schema import Variable
from discreet.protect import ProtectedBase
from discreet.protect.records.protected_base import NAME as BASE
from discreet.protect.registry import method
from discreet.query import Query, Question
from discreet.query.parse import encode
from discreet.release import Release, Releaser
from discreet.release.originals import open_originals
from discreet.rules import Code
from discreet.service.opened import open_store
from discreet.study.attacks.estimate import Noise
from discreet.table.transition import Transition
from discreet.tabulate import Engine, ScanEngine
from discreet.types import Floats, Integers

Ask = Callable[[str, str | None, str], Release]
"""A question's variables, its filters and the kind of its totals; raises `QueryRefused`."""

Truth = Callable[[str, str | None], Integers]


@dataclass(eq=False)
class Target:
    """A data set as the public meets it: its schema, how it is protected, and who answers.

    `asking` answers one question; `truth` is for scoring. `again` makes the same target for an
    attacker who is the first to ask. `edition` is the next edition of the same data, if any.
    `chances` is what an attacker knows of figures that the tier itself leaves alone. `used_up` are
    the names of tables that were refused for good: no filter makes them answered.
    """

    schema: Schema
    tier: Tier
    people: int
    asking: Ask
    truth: Truth
    again: Callable[[], Target] | None = None
    edition: Target | None = None
    chances: Transition | None = None
    questions: int = field(default=0, init=False)
    refused: int = field(default=0, init=False)
    used_up: set[frozenset[str]] = field(default_factory=set, init=False)

    @classmethod
    def open(
        cls,
        path: Path,
        tier: str | None = None,
        edition: Path | None = None,
        originals: Path | None = None,
    ) -> Target:
        """Return the store as a target; nothing that is asked of it is recorded in its log.

        `originals` is the custodian's folder of the records as they came: what an attacker of
        records that were protected beforehand wants to know.
        """
        opened = open_store(path, database="sqlite://")
        kept = None if originals is None else open_originals(originals, opened.version)
        scored = None if kept is None else ScanEngine(kept)
        found = cls.of(replace(opened.releaser, log=None), tier, scored)
        if edition is not None:
            found.edition = cls.open(edition, tier)
        return found

    @classmethod
    def of(
        cls, releaser: Releaser, tier: str | None = None, scored: Engine | None = None
    ) -> Target:
        """Return the target of a releaser, whose ledger nobody has used yet.

        `scored` counts the records that attackers want to know, where those of the releaser are
        not they.
        """
        version, policy = releaser.version, releaser.policy
        schema, counting = version.schema, scored or releaser.engine

        def ask(by: str, where: str | None, totals: str) -> Release:
            return releaser.release(Question.of(Query.of(by, where), schema), totals, tier)

        def truth(by: str, where: str | None) -> Integers:
            question = Question.of(Query.of(by, where), schema)
            return np.asarray(counting.tabulate(question).dense().counts, np.int64)

        def again() -> Target:
            ledgers = Ledgers(version, policy, releaser.secret, Database.of("sqlite://"))
            return cls.of(replace(releaser, ledgers=ledgers), tier, scored)

        chances = _of_base(version) if policy.tier(tier).protection.beforehand else None
        people = version.people
        return cls(schema, policy.tier(tier), people, ask, truth, again, chances=chances)

    def fresh(self) -> Target:
        """Return the same target before anybody asked it anything."""
        if self.again is None:
            return replace(self)
        found = self.again()
        found.edition = None if self.edition is None else self.edition.fresh()
        return found

    def through(self, fault: Callable[[Ask], Ask]) -> Target:
        """Return the target with something between the attacker and the answers."""
        return replace(
            self,
            asking=fault(self.asking),
            again=lambda: self.fresh().through(fault),
            edition=None if self.edition is None else self.edition.through(fault),
        )

    def ask(self, by: str, where: str | None = None, totals: str = "none") -> Release:
        """Return the release, or raise `QueryRefused`."""
        self.questions += 1
        try:
            return self.asking(by, where, totals)
        except QueryRefused:
            self.refused += 1
            raise

    def figures(
        self, by: str, where: str | None = None, totals: str = "none", sums: bool = True
    ) -> Floats | None:
        """Return the figures, NaN where they are withheld; None for a refusal of whatever kind.

        Without `sums`, also None for figures that are sums of released ones: their noise is not
        that of the method.
        """
        try:
            table = self.ask(by, where, totals).table
        except QueryRefused as refusal:
            if refusal.code in (Code.USED_UP, Code.TOO_LARGE):  # said of a table, not of a group
                self.used_up.add(_names(by, where))
            return None
        # A table of sums says of how many figures each is one.
        if not sums and getattr(table, "parts", None) is not None:
            return None
        return np.where(table.withheld, np.nan, table.values.astype(np.float64))

    def is_used_up(self, *names: str) -> bool:
        """Whether questions by these names, shown or filtered, were refused for good."""
        return frozenset(names) in self.used_up

    @property
    def noise(self) -> Noise:
        """The chances of the method, as an attacker knows them."""
        return Noise.of(self.tier) if self.chances is None else Noise(self.chances)

    # What the schema says

    @property
    def geography(self) -> Variable:
        """The areas; without them there is nothing that these attackers could aim at."""
        if self.schema.geography is None:
            raise ParameterError("an attacked data set must have areas.")
        return self.schema.geography

    @property
    def area(self) -> Level:
        """The smallest areas."""
        return self.geography.finest

    @property
    def parent(self) -> Level:
        """The areas that the smallest ones lie in."""
        above = self.geography.above(self.area)
        return above[0] if above else self.area

    def mean(self, *levels: Level) -> float:
        """Return the people per cell of a table by these levels: known before it is asked for."""
        return self.people / float(np.prod([len(level) for level in levels]))

    def levels(self, least: int = 2, most: int = 24) -> list[Level]:
        """Return one level of every variable but areas, the finest within these sizes."""
        found = []
        for variable in self.schema.columns:
            fitting = [level for level in variable.levels if least <= len(level) <= most]
            found += fitting[:1]
        return found

    def variable_of(self, level: Level) -> Variable:
        """Return the variable that a level belongs to."""
        return self.schema.find(level.id)[0]


def _of_base(version: Version) -> Transition | None:
    """Return the noise that a protected base is fitted to in its smallest areas."""
    if BASE not in (version.manifest.get("protected_beforehand") or ()):
        return None
    usual = ProtectedBase()
    options = {"bound": str(usual.bound), "variance": str(usual.variance_smallest)}
    return method("cell-key-perturbation", options).effect(1).transition


def _names(by: str, where: str | None) -> frozenset[str]:
    """Return the names of the levels of a question."""
    filters = where.split(",") if where else []
    return frozenset([*by.split(","), *(part.partition("=")[0] for part in filters)])


def where(conditions: Mapping[str, Iterable[str]]) -> str | None:
    """Return the text of filters: for each id of a level, the codes that are kept."""
    parts = [f"{name}={'|'.join(map(encode, codes))}" for name, codes in conditions.items()]
    return ",".join(parts) or None


def by(*levels: Level) -> str:
    """Return the text of the variables of a table."""
    return ",".join(level.id for level in levels)
