"""What an attacker found: how often it was right, beside what needs no attack."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from math import isnan, nan, sqrt
from time import monotonic
from typing import Any, Protocol, TypeVar

import numpy as np

from discreet.policy import BOUNDS, AttackRules, Over
from discreet.study.attacks.target import Target
from discreet.types import Flags, Floats, Integers

FEW = 20
"""Fewer tries than these are too few to judge an attack by."""

READING = "reading"
"""The way of whoever takes a published figure for the count."""

T = TypeVar("T")

# The 97.5% point of the normal distribution, for intervals of 95%.
Z = 1.959964


@dataclass(frozen=True)
class Share:
    """A share of tries, with its interval of 95%."""

    value: float
    low: float
    high: float
    tries: int

    @classmethod
    def of(cls, right: float, tries: int) -> Share:
        """Return the share with its interval of the score test [Wilson 1927]."""
        if not tries:
            return cls(float("nan"), 0.0, 1.0, 0)
        share, more = right / tries, Z * Z / tries
        centre = (share + more / 2) / (1 + more)
        half = Z / (1 + more) * sqrt(share * (1 - share) / tries + more / (4 * tries))
        # In floating point an end may pass the share itself where it is 0 or 1.
        return cls(share, max(0.0, min(share, centre - half)), max(share, centre + half), tries)

    @classmethod
    def pooled(cls, shares: Sequence[Share]) -> Share:
        """Return the share of all tries of several samples, each weighted by its tries."""
        known = [share for share in shares if share.tries]
        tries = sum(share.tries for share in known)
        if len(known) < 2:
            return known[0] if known else cls.of(0, 0)
        weights = [share.tries / tries for share in known]
        value = sum(w * s.value for w, s in zip(weights, known, strict=True))
        pairs = list(zip(weights, known, strict=True))
        low = value - sqrt(sum((w * (s.value - s.low)) ** 2 for w, s in pairs))
        high = value + sqrt(sum((w * (s.high - s.value)) ** 2 for w, s in pairs))
        return cls(value, low, high, tries)

    @classmethod
    def balanced(cls, yes: Share, no: Share) -> Share:
        """Return the mean of two shares: right where the answer is yes, and where it is no."""
        if not yes.tries or not no.tries:
            return cls.of(0, 0)
        value = (yes.value + no.value) / 2
        low = value - sqrt((yes.value - yes.low) ** 2 + (no.value - no.low) ** 2) / 2
        high = value + sqrt((yes.high - yes.value) ** 2 + (no.high - no.value) ** 2) / 2
        return cls(value, low, high, yes.tries + no.tries)

    def __str__(self) -> str:
        if not self.tries:
            return "–"
        return f"{self.value:.2f} ({self.low:.2f}–{self.high:.2f})"


class Verdict(StrEnum):
    """What is to be said of an attack."""

    WITHIN = "within"
    BEYOND = "beyond"
    NOT_TRIED = "not tried"  # there was nothing to try it on: that says nothing
    TOO_FEW = "too few tries"
    TOLD = "told"  # it has no bound


@dataclass(frozen=True)
class Finding:
    """What an attacker learnt.

    `attack` is held against `most`, over the baseline `over`; None for an attack that is only told.
    `reading` is the share right of whoever takes the published figure for the count, `informed`
    that of whoever knows the method too and makes the best of this one figure, `prior` that of a
    guess that never saw the target; None where there is no such thing. `certain` statements were
    made without any doubt. `short` says that its time ran out before all was tried, and `reason`
    why nothing was.
    """

    name: str
    attack: Share
    reading: Share | None = None
    prior: Share | None = None
    informed: Share | None = None
    questions: int = 0
    refused: int = 0
    certain: int = 0
    certain_right: int = 0
    may_be_certain: bool = True
    balanced: bool = False
    others: Mapping[str, Share] = field(default_factory=dict)
    note: str = ""
    reason: str = ""
    id: str = ""
    most: float | None = None
    over: Over = Over.NOTHING
    short: bool = False

    @property
    def tries(self) -> int:
        """How many statements were scored."""
        return self.attack.tries

    @property
    def bound(self) -> float | None:
        """The largest share right that is allowed; not a number where there is no baseline."""
        if self.most is None or self.over is Over.NOTHING:
            return self.most
        base = self.read if self.over is Over.READING else self.prior
        return nan if base is None or not base.tries else base.value + self.most

    @property
    def read(self) -> Share | None:
        """How often whoever reads the published figure and asks nothing more is right."""
        return self.reading if self.informed is None else self.informed

    @property
    def verdict(self) -> Verdict:
        """Whether the attack stays within its bound, as far as that can be said."""
        if not self.tries:
            return Verdict.NOT_TRIED
        if self.certain and not self.may_be_certain:
            return Verdict.BEYOND
        bound = self.bound
        if bound is None:
            return Verdict.TOLD
        if self.tries < FEW:  # which is no pass, and says nothing of what was learnt
            return Verdict.TOO_FEW
        within = self.attack.value <= bound + 1e-9  # nothing is below what is not a number
        return Verdict.WITHIN if within else Verdict.BEYOND

    @classmethod
    def pooled(cls, findings: Sequence[Finding]) -> Finding:
        """Return what one attack found on several populations together."""
        first = next((found for found in findings if found.tries), findings[0])
        if len(findings) == 1:
            return first

        def share(of: Callable[[Finding], Share | None]) -> Share | None:
            known = [one for found in findings if (one := of(found)) is not None]
            return Share.pooled(known) if known else None

        return replace(
            first,
            attack=Share.pooled([found.attack for found in findings]),
            reading=share(lambda found: found.reading),
            prior=share(lambda found: found.prior),
            informed=share(lambda found: found.informed),
            questions=sum(found.questions for found in findings),
            refused=sum(found.refused for found in findings),
            certain=sum(found.certain for found in findings),
            certain_right=sum(found.certain_right for found in findings),
            others={
                way: Share.pooled([found.others[way] for found in findings if way in found.others])
                for way in first.others
            },
            short=any(found.short for found in findings),
        )

    def as_dict(self) -> dict[str, Any]:
        """Return the finding as plain values."""

        def told(share: Share | None) -> dict[str, float | None] | None:
            if share is None or not share.tries:
                return None
            return {"value": share.value, "low": share.low, "high": share.high}

        bound = self.bound
        return {
            "id": self.id,
            "name": self.name,
            "verdict": self.verdict.value,
            "attack": told(self.attack),
            "reading": told(self.reading),
            "informed": told(self.informed),
            "prior": told(self.prior),
            "bound": None if bound is None or isnan(bound) else bound,
            "measure": "balanced accuracy" if self.balanced else "share right",
            "tries": self.tries,
            "questions": self.questions,
            "refused": self.refused,
            "certain": self.certain,
            "certain_right": self.certain_right,
            "short": self.short,
            "others": {name: told(share) for name, share in self.others.items()},
            "note": self.note,
            "reason": self.reason,
        }


class Tally:
    """How often each way of estimating is right, on the same tries."""

    def __init__(self) -> None:
        self.right: dict[str, int] = {}
        self.alone: set[str] = set()
        self.tries = 0

    def add(
        self,
        truth: Integers,
        wanted: Flags,
        found: Mapping[str, Floats | Integers],
        alone: Mapping[str, Floats | Integers] | None = None,
    ) -> None:
        """Score estimates of counts, where they are wanted; `alone` know the one figure only."""
        self.alone |= set(alone or ())
        for name, counts in {**found, **(alone or {})}.items():
            hits = int((counts == truth)[wanted].sum())
            self.right[name] = self.right.get(name, 0) + hits
        self.tries += int(wanted.sum())

    def share(self, name: str) -> Share:
        """Return how often a way is right."""
        return Share.of(self.right.get(name, 0), self.tries)

    def finding(self, name: str, target: Target, note: str) -> Finding:
        """Return the best way beside `reading`, and the best that knows the one figure only."""
        ways = [way for way in self.right if way != READING]
        asking = [way for way in ways if way not in self.alone]
        best = max(asking, key=lambda way: self.right[way], default=READING)
        reading = self.share(READING)
        read = max({READING, *self.alone}, key=lambda way: self.right.get(way, 0))
        return Finding(
            name,
            self.share(best),
            reading,
            informed=self.share(read) if self.alone else None,
            questions=target.questions,
            refused=target.refused,
            others={way: self.share(way) for way in ways},
            note=f"{note}; best: {best}",
        )


class Attack(Protocol):
    """An attacker: a frozen value with its parameters, which runs against a target."""

    @property
    def id(self) -> str:
        """What a policy calls it."""
        ...

    @property
    def name(self) -> str:
        """What it is called."""
        ...

    @property
    def about(self) -> str:
        """What it does, in a sentence."""
        ...

    def run(self, target: Target, rng: np.random.Generator, clock: Clock) -> Finding:
        """Return what it found: all that it tries, unless the clock cuts it short."""
        ...


def tried(
    attack: Attack,
    target: Target,
    rng: np.random.Generator,
    seconds: float,
    rules: AttackRules | None = None,
    now: Callable[[], float] = monotonic,
) -> Finding:
    """Return what an attack found, held against its bound; `now` is what its seconds are of."""
    rules, clock = rules or AttackRules(), Clock(seconds, now)
    found = attack.run(target.fresh(), rng, clock)
    most, over = rules.most(attack.id), BOUNDS[attack.id].over
    reason = "" if found.tries else found.reason or _reason(found)
    return replace(found, id=attack.id, most=most, over=over, short=clock.cut, reason=reason)


def _reason(found: Finding) -> str:
    """Return why an attack made no try, by what became of its questions."""
    if not found.questions:
        return "the data have nothing of the kind that it asks for"
    if found.refused == found.questions:
        return f"every question was refused ({found.refused:,})"
    refused = f" and {found.refused:,} were refused" if found.refused else ""
    return (
        f"the answers to {found.questions - found.refused:,} questions showed nothing to try it "
        f"on{refused}"
    )


class Clock:
    """A ceiling to the time of an attacker, who ends by what it has tried, and not by a clock.

    `now` tells the seconds: on the wall, for whoever waits; or of CPU, which do not depend on what
    else the machine has to do. `cut` says that something was left to try when the time was over.
    """

    def __init__(self, seconds: float, now: Callable[[], float] = monotonic) -> None:
        self.now, self.end, self.cut = now, now() + seconds, False

    def through(self, things: Iterable[T]) -> Iterator[T]:
        """Yield what is to be tried, at least one thing, until the time is over."""
        for number, thing in enumerate(things):
            if number and self.now() > self.end:
                self.cut = True
                return
            yield thing
