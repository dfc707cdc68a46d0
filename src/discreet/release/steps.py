"""What each step of a release hands to the next: allowed, counted, protected, judged.

Inside, the variables are in the order of the schema, whatever the order asked. Values that hold
true counts have no text form that could end in a log.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from discreet.policy import Margins, Policy, Protection, Tier
from discreet.population import Version
from discreet.query import Question
from discreet.release.beforehand import Beforehand, beforehand, swap_rate
from discreet.rules import Code
from discreet.table import CountTable
from discreet.types import Flags, Integers

Psi = float | tuple[float, float]


@dataclass(frozen=True, eq=False)
class Allowed:
    """A question that the rules on questions allow; made by `Releaser.check` alone."""

    question: Question
    totals: Margins
    tier: Tier
    applied: Tier  # as the tier treats this very question: official figures are as counted
    version: Version
    policy: Policy

    @property
    def ordered(self) -> Question:
        """The question with its variables in the order of the schema."""
        return self.question.ordered

    @property
    def protection(self) -> Protection:
        """What is applied to this very table."""
        return self.applied.protection

    @cached_property
    def beforehand(self) -> Beforehand:
        """What was done to the records before any table was made; false where nothing was."""
        return beforehand(self.version, self.question)

    @cached_property
    def swap_rate(self) -> float:
        """The share of records that were swapped out of the areas told apart."""
        return swap_rate(self.version, self.question)

    @property
    def seed(self) -> str:
        """What seeds a draw for the whole table, together with the secret."""
        schema, tier = self.version.schema.id, self.applied.id
        return f"{schema}\0{tier}\0{self.policy.version}\0{self.question.canonical}"


@dataclass(frozen=True, eq=False, repr=False)
class Counted:
    """True counts of the areas asked for, and of the areas beside them that are judged as well.

    Whether an area is withheld must not depend on which others are shown beside it.
    """

    allowed: Allowed
    wide: Question
    table: CountTable

    @cached_property
    def shown(self) -> NDArray[np.intp]:
        """The places of the areas asked for among all that are judged."""
        areas, wide = self.allowed.ordered.areas, self.wide.areas
        assert areas is not None
        assert wide is not None
        return np.searchsorted(wide.kept, areas.kept)

    @cached_property
    def asked(self) -> CountTable:
        """The counts of the areas asked for."""
        at, question = self.wide.geography, self.allowed.ordered
        if at is None or len(self.shown) == self.table.shape[at]:
            return self.table
        counts, keys = (a.take(self.shown, axis=at) for a in (self.table.counts, self.table.keys))
        return CountTable(question.dimensions, counts, keys, self.table.modulus)


@dataclass(frozen=True, eq=False, repr=False)
class Protected:
    """The figures to release, with totals if asked for, and the figures that are judged."""

    counted: Counted
    released: Integers
    judged: Integers

    @property
    def inner(self) -> Integers:
        """The figures without totals."""
        return self.released[tuple(slice(0, size) for size in self.counted.asked.shape)]


@dataclass(frozen=True, eq=False, repr=False)
class Judged:
    """A protected table with its verdict; the true counts stay with it, for the record only."""

    protected: Protected
    code: Code | None  # the rule that refuses it
    withheld: Flags | None = None  # by area asked for, None where the table has no areas
    bound: float | None = None  # on the risk, from the released figures alone
    multiplier: Psi | None = None

    @property
    def allowed(self) -> Allowed:
        """The question that it answers."""
        return self.protected.counted.allowed

    @property
    def true(self) -> Integers:
        """The true counts."""
        return np.asarray(self.protected.counted.asked.counts, np.int64)

    @property
    def inner(self) -> Integers:
        """The figures without totals."""
        return self.protected.inner

    @property
    def available(self) -> Integers:
        """The figures of the areas that are not withheld."""
        at = self.allowed.ordered.geography
        if at is None or self.withheld is None:
            return self.inner
        return np.compress(~self.withheld, self.inner, axis=at)

    @property
    def missing(self) -> NDArray[np.intp]:
        """The places of the areas that are withheld."""
        return np.flatnonzero([] if self.withheld is None else self.withheld)

    @property
    def free(self) -> Flags | None:
        """The areas that are shown, None where the table has none."""
        if self.withheld is None:
            return None
        return ~self.withheld if self.code is None else np.zeros_like(self.withheld)
