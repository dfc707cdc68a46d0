"""Attackers: what the best of them learn from all that a tier may ask.

An attacker knows the method and its parameters, and asks only through `Target.ask`. It never reads
a true count but to be scored, or to be told whom it attacks.
"""

from discreet.study.attacks.differencing import Differencing
from discreet.study.attacks.editions import Leaver
from discreet.study.attacks.finding import Attack, Finding, Share, Verdict
from discreet.study.attacks.known import Membership, Reconstruction
from discreet.study.attacks.margins import Margins
from discreet.study.attacks.person import Unique
from discreet.study.attacks.presence import Equality, Somebody
from discreet.study.attacks.reading import Reading
from discreet.study.attacks.refusals import Refusals
from discreet.study.attacks.search import Search
from discreet.study.attacks.splits import Splits
from discreet.study.attacks.target import Target
from discreet.study.attacks.unions import AreaUnions, Unions
from discreet.study.attacks.withheld import WithheldAreas

ATTACKS: tuple[Attack, ...] = (
    Reading(),
    Unions(),
    AreaUnions(),
    Margins(),
    Splits(),
    Equality(),
    Unique(),
    Somebody(),
    Refusals(),
    WithheldAreas(),
    Differencing(),
    Leaver(),
    Reconstruction(),
    Membership(),
    Search(),
)
"""Every attacker with its usual parameters."""

__all__ = ["ATTACKS", "Attack", "Finding", "Share", "Target", "Verdict"]
