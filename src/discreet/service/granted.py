"""Questions that the rules refuse and that a custodian has released to somebody.

They are answered under the same policy but for its rules on questions, counts and risk: with the
same protection, and so with the figures that any other question about the same people shows.
"""

from __future__ import annotations

from dataclasses import replace

from discreet.policy import CountRules, Policy, QuestionRules, Tier
from discreet.release.complete import Tables
from discreet.release.pipeline import Releaser
from discreet.service.opened import Opened

_ANY_COUNTS = CountRules(
    minimum_population=1,
    minimum_mean=0,
    max_small=1,
    max_ones_of_populated=1,
    max_small_of_populated=1,
    max_single_lines=1,
)
_ANY_LOOKS = 1_000_000  # a custodian decides on each of these tables


def eased(policy: Policy, tier: Tier) -> Policy:
    """Return a policy whose tier refuses nothing for its detail, its counts, its risk or its looks.

    What bounds the work stays, and so does the protection.
    """
    question = QuestionRules(max_dimensions=6, max_cells=tier.question.max_cells)
    risk = replace(tier.risk, maximum=1.0)
    space = replace(tier.space, looks=_ANY_LOOKS, office_looks=_ANY_LOOKS)
    found = replace(
        tier, question=question, counts=_ANY_COUNTS, counts_by_level={}, risk=risk, space=space
    )
    return replace(policy, tiers={**policy.tiers, tier.id: found})


def granted(opened: Opened, claims: bool = False) -> Opened:
    """Return what answers questions that a custodian has released; with `claims`, for the first
    time.
    """
    assert opened.asking is not None
    policy, before = eased(opened.policy, opened.tier), opened.releaser
    ledgers = before.ledgers.scoped(opened.asking.scope, policy)
    releaser = replace(before, policy=policy, ledgers=ledgers, tables=Tables(), claims=claims)
    asking = replace(opened.asking, granted=True, grants=frozenset())
    return replace(opened, policy=policy, releaser=releaser, asking=asking)


def measured(opened: Opened) -> Releaser:
    """Return what measures a table that the rules refuse, for a custodian; nothing is claimed."""
    policy = eased(opened.policy, opened.tier)
    before = opened.releaser
    return Releaser.alone(before.version, before.engine, policy, before.secret)
