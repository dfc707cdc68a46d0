"""What an office allows: tiers, thresholds, presets, and all of it in sentences."""

from discreet.policy.attack import BOUNDS, AttackRules, Bound, Over, People
from discreet.policy.explain import explain
from discreet.policy.model import (
    Claim,
    CountRules,
    Gate,
    Margins,
    Place,
    Policy,
    Protection,
    QuestionRules,
    RiskRules,
    SpaceRules,
    Tier,
)
from discreet.policy.read import (
    PRESET,
    PRESETS,
    parse_policy,
    policy_values,
    read_policy,
    read_preset,
)

__all__ = [
    "BOUNDS",
    "PRESET",
    "PRESETS",
    "AttackRules",
    "Bound",
    "Claim",
    "CountRules",
    "Gate",
    "Margins",
    "Over",
    "People",
    "Place",
    "Policy",
    "Protection",
    "QuestionRules",
    "RiskRules",
    "SpaceRules",
    "Tier",
    "explain",
    "parse_policy",
    "policy_values",
    "read_policy",
    "read_preset",
]
