"""What an attacker found: how often it was right, beside what needs no attack."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import sqrt
from time import monotonic
from typing import Any, Protocol

import numpy as np

from discreet.study.attacks.target import Target
from discreet.types import Flags, Floats, Integers

READING = "reading"
"""The way of whoever takes a published figure for the count."""

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


@dataclass(frozen=True)
class Finding:
    """What an attacker learnt.

    `attack` is held against `bound`, None for an attack that is only told. `reading` is the share
    right of whoever reads the published figure, `prior` that of a guess that never saw the target;
    None where there is no such thing. `certain` statements were made without any doubt.
    """

    name: str
    attack: Share
    reading: Share | None = None
    prior: Share | None = None
    bound: float | None = None
    questions: int = 0
    refused: int = 0
    certain: int = 0
    certain_right: int = 0
    may_be_certain: bool = True
    balanced: bool = False
    others: Mapping[str, Share] = field(default_factory=dict)
    note: str = ""

    @property
    def tries(self) -> int:
        """How many statements were scored."""
        return self.attack.tries

    @property
    def within(self) -> bool:
        """Whether the attack stays within its bound; one that could not be tried does."""
        if not self.tries:
            return True
        if self.certain and not self.may_be_certain:
            return False
        return self.bound is None or self.attack.value <= self.bound + 1e-9

    def as_dict(self) -> dict[str, Any]:
        """Return the finding as plain values."""

        def told(share: Share | None) -> dict[str, float | None] | None:
            if share is None or not share.tries:
                return None
            return {"value": share.value, "low": share.low, "high": share.high}

        return {
            "name": self.name,
            "attack": told(self.attack),
            "reading": told(self.reading),
            "prior": told(self.prior),
            "bound": self.bound,
            "within": self.within,
            "measure": "balanced accuracy" if self.balanced else "share right",
            "tries": self.tries,
            "questions": self.questions,
            "refused": self.refused,
            "certain": self.certain,
            "certain_right": self.certain_right,
            "others": {name: told(share) for name, share in self.others.items()},
            "note": self.note,
        }


class Tally:
    """How often each way of estimating is right, on the same tries."""

    def __init__(self) -> None:
        self.right: dict[str, int] = {}
        self.tries = 0

    def add(self, truth: Integers, wanted: Flags, found: Mapping[str, Floats | Integers]) -> None:
        """Score estimates of counts, where they are wanted."""
        for name, counts in found.items():
            hits = int((counts == truth)[wanted].sum())
            self.right[name] = self.right.get(name, 0) + hits
        self.tries += int(wanted.sum())

    def share(self, name: str) -> Share:
        """Return how often a way is right."""
        return Share.of(self.right.get(name, 0), self.tries)

    def finding(self, name: str, target: Target, margin: float | None, note: str) -> Finding:
        """Return the best way beside `reading`, held against reading and a margin."""
        ways = [way for way in self.right if way != READING]
        best = max(ways, key=lambda way: self.right[way], default=READING)
        reading = self.share(READING)
        return Finding(
            name,
            self.share(best),
            reading,
            bound=None if margin is None else reading.value + margin,
            questions=target.questions,
            refused=target.refused,
            others={way: self.share(way) for way in ways},
            note=f"{note}; best: {best}",
        )


class Attack(Protocol):
    """An attacker: a frozen value with its parameters, which runs against a target."""

    @property
    def name(self) -> str:
        """What it is called."""
        ...

    @property
    def about(self) -> str:
        """What it does, in a sentence."""
        ...

    def run(self, target: Target, rng: np.random.Generator, seconds: float) -> Finding:
        """Return what it found within about so many seconds."""
        ...


@dataclass(frozen=True)
class Clock:
    """The time that is left to an attacker."""

    end: float

    @classmethod
    def of(cls, seconds: float) -> Clock:
        """Return a clock that runs out after so many seconds."""
        return cls(monotonic() + seconds)

    @property
    def out(self) -> bool:
        """Whether the time is over."""
        return monotonic() > self.end
