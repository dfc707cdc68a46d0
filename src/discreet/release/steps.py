"""What each step of a release hands to the next: making, counted, protected, judged, complete.

A table is made for a class of questions, whole, with its variables in the order of the schema.
Values that hold true counts have no text form that could end in a log.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from threading import Event
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from discreet.policy import Margins, Policy, Protection, Tier
from discreet.population import Version
from discreet.population.keys import Secret
from discreet.query import Question, QuestionClass
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
    version: Version
    policy: Policy

    @cached_property
    def of(self) -> QuestionClass:
        """The class that it belongs to."""
        return QuestionClass.of(self.question)

    @cached_property
    def beforehand(self) -> Beforehand:
        """What was done to the records before any table was made; false where nothing was."""
        return beforehand(self.version, self.question)

    def making(self, of: QuestionClass) -> Making:
        """Return the complete table of a class as it is to be made for this tier."""
        return Making(of, self.tier, self.version, self.policy)


@dataclass(frozen=True, eq=False)
class Making:
    """The complete table of a class, to be made for a tier."""

    of: QuestionClass
    tier: Tier
    version: Version
    policy: Policy

    @cached_property
    def applied(self) -> Tier:
        """The tier as it treats this very table: official figures are as counted."""
        return self.policy.applied(self.tier, (level.id for level in self.of.levels))

    @property
    def protection(self) -> Protection:
        """What is applied to this very table."""
        return self.applied.protection

    @cached_property
    def question(self) -> Question:
        """The question that asks for it."""
        return self.of.question

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
        protection = self.protection
        options = sorted(protection.options.items())
        parts = (
            self.version.schema.id,
            self.tier.id,
            protection.method,
            str(options),
            self.of.name,
        )
        return "\0".join(parts)


@dataclass(frozen=True, eq=False, repr=False)
class Counted:
    """The true counts of a complete table."""

    making: Making
    table: CountTable


@dataclass(frozen=True, eq=False, repr=False)
class Protected:
    """The figures of a complete table."""

    counted: Counted
    figures: Integers

    @property
    def making(self) -> Making:
        """The table that was made."""
        return self.counted.making


@dataclass(frozen=True, eq=False, repr=False)
class Judged:
    """A protected table with its verdict; the true counts stay with it, for the record only."""

    protected: Protected
    code: Code | None  # the rule that refuses it
    withheld: Flags | None = None  # by area, None where the table has no areas
    bound: float | None = None  # on the risk, from the released figures alone
    multiplier: Psi | None = None
    measured: bool = True  # false where the true counts are not known here
    alike: bool = True  # false where some figures were protected in another way

    @property
    def making(self) -> Making:
        """The table that was made."""
        return self.protected.making

    @cached_property
    def true(self) -> Integers:
        """The true counts."""
        return np.asarray(self.protected.counted.table.counts, np.int64)

    @property
    def figures(self) -> Integers:
        """The protected figures."""
        return self.protected.figures

    @property
    def available(self) -> Integers:
        """The figures of the areas that are not withheld."""
        at = self.making.question.geography
        if at is None or self.withheld is None:
            return self.figures
        return np.compress(~self.withheld, self.figures, axis=at)

    @property
    def missing(self) -> NDArray[np.intp]:
        """The places of the areas that are withheld."""
        return np.flatnonzero([] if self.withheld is None else self.withheld)


class Elsewhere(Protocol):
    """Records that are not in the store: what may be asked of them, and tables made of them."""

    def check(self, allowed: Allowed) -> None:
        """Raise `QueryRefused` for a question that they do not answer."""
        ...

    def judged(self, making: Making, stop: Event | None, secret: Secret) -> Judged:
        """Return the complete table of a class, protected and judged."""
        ...


@dataclass(frozen=True, eq=False)
class Projected:
    """Figures of an answer in the order asked, each the sum of `parts` published ones.

    `withheld` marks those of which a part is withheld. `drawn` is how many of the parts were
    perturbed. `low` and `high` bound the true counts where that may be told.
    """

    values: Integers
    parts: Integers
    drawn: Integers
    withheld: Flags
    low: Integers | None = None
    high: Integers | None = None
