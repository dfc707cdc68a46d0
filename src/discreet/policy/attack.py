"""What attackers may learn at most, and when they must have been tried.

The names and bounds of all attacks stand here, so that a policy is checked without running any;
`study.attacks` holds the attackers themselves.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from discreet.checks import number, whole
from discreet.errors import ParameterError, unknown


class Over(StrEnum):
    """What a bound is added to: the share right of whoever needs no attack."""

    READING = "reading"  # whoever knows the method and reads the published figure, and no more
    PRIOR = "prior"  # a guess that never saw the target
    NOTHING = "nothing"


@dataclass(frozen=True)
class Bound:
    """How much an attack may learn: a share right, `over` a baseline; None has no limit."""

    over: Over
    most: float | None

    def explain(self, most: float | None) -> str:
        """Return a bound in words."""
        if most is None:
            return "no limit"
        share = f"{most:g}"
        return share if self.over is Over.NOTHING else f"{self.over} + {share}"


# As measured when the space of questions was closed (docs/attacks.md): what was reached then, and
# not what would be wished for.
BOUNDS: Mapping[str, Bound] = {
    "reading": Bound(Over.PRIOR, 0.05),  # the prior is what the method says of itself
    "unions": Bound(Over.READING, 0.05),
    "area-unions": Bound(Over.READING, 0.05),
    "margins": Bound(Over.READING, 0.05),
    "splits": Bound(Over.READING, None),  # that totals can be sharpened discloses nobody
    "equality": Bound(Over.NOTHING, 0.80),
    "unique-person": Bound(Over.PRIOR, 0.05),  # and nothing certain
    "somebody": Bound(Over.NOTHING, 0.65),
    "refusals": Bound(Over.NOTHING, 0.65),
    "withheld-areas": Bound(Over.READING, 0.0),
    "differences": Bound(Over.READING, 0.05),
    "leaver": Bound(Over.PRIOR, 0.05),
    "everybody-else": Bound(Over.PRIOR, None),  # bounds all who know less
    "membership": Bound(Over.NOTHING, None),
    "search": Bound(Over.READING, 0.05),
}
"""Every attack by its name in a policy, with the bound that holds if the policy names none."""


class People(StrEnum):
    """Who is attacked to certify a policy."""

    SYNTHETIC = "synthetic"  # invented people of the same schema: the figures may be public
    OWN = "own"  # the office's own: the figures are the custodian's


@dataclass(frozen=True)
class AttackRules:
    """What must have been tried before a store is served, and what may have been learnt."""

    # Whether a store is served only with a certificate for its policy, plan and edition.
    before_serving: bool = False
    population: People = People.SYNTHETIC
    # How long all attacks together may take; 300,000 people need about half of it on two cores.
    seconds: int = 300
    # One population is invented, and all attacks are drawn, for each of these.
    seeds: tuple[int, ...] = (1,)
    # Other bounds than the usual ones, by the name of the attack.
    bounds: Mapping[str, float] = field(default_factory=dict)
    # Attacks without which a certificate may be given where there is nothing to try them on.
    untried: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.before_serving, bool):
            raise ParameterError(
                f"before_serving must be true or false. Got {self.before_serving!r}."
            )
        whole("seconds", self.seconds, 1)
        if not self.seeds or len(set(self.seeds)) < len(self.seeds):
            raise ParameterError("seeds must be a list of one or more different integers.")
        for seed in self.seeds:
            whole("seeds", seed, 0)
        for name, most in self.bounds.items():
            if name not in BOUNDS:
                raise unknown("attack", name, BOUNDS)
            number(f"bounds of {name}", most, 0, 1)
        for name in self.untried:
            if name not in BOUNDS:
                raise unknown("attack", name, BOUNDS)

    def most(self, attack: str) -> float | None:
        """Return the bound of an attack, None where it is told only."""
        return self.bounds.get(attack, BOUNDS[attack].most)

    def never(self, output: bool) -> bool:
        """Whether a certificate is demanded that could not be had: `output` alone is protected."""
        return self.before_serving and self.population is People.SYNTHETIC and not output
