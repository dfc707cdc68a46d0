"""[attack] in a policy: bounds, who is attacked, and whether a certificate is demanded."""

from __future__ import annotations

from typing import Any

import pytest

from discreet.errors import ParameterError
from discreet.policy import BOUNDS, AttackRules, People, Policy, explain, parse_policy


def policy(**attack: Any) -> Policy:
    return parse_policy({"attack": attack}, "policy.toml", "policy.toml")


def test_without_the_section_nothing_is_demanded_and_the_usual_bounds_hold() -> None:
    rules = parse_policy({}, "policy", "policy").attack
    assert rules == AttackRules()
    assert (rules.before_serving, rules.population, rules.seeds) == (False, People.SYNTHETIC, (1,))
    assert (rules.most("margins"), rules.most("equality"), rules.most("splits")) == (
        0.05,
        0.8,
        None,
    )


def test_a_policy_has_bounds_of_its_own() -> None:
    rules = policy(
        before_serving=True, population="own", seconds=60, seeds=[3, 4], untried=["leaver"],
        bounds={"margins": 0.2, "splits": 0.5},
    ).attack  # fmt: skip
    assert (rules.before_serving, rules.population) == (True, People.OWN)
    assert (rules.seconds, rules.seeds, rules.untried) == (60, (3, 4), ("leaver",))
    assert (rules.most("margins"), rules.most("splits"), rules.most("unions")) == (0.2, 0.5, 0.05)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"bounds": {"union": 0.1}}, "no attack 'union'; did you mean 'unions'?"),
        ({"untried": ["leavers"]}, "no attack 'leavers'; did you mean 'leaver'?"),
        ({"before": True}, "no setting 'before'"),
        ({"population": "real"}, "no population 'real'"),
        ({"bounds": {"unions": 1.1}}, "bounds of unions must be a number from 0 to 1. Got 1.1."),
        ({"bounds": 3}, "bounds must be a table. Got 3."),
        ({"seeds": []}, "seeds must be a list of one or more different integers."),
        ({"seeds": [1, 1]}, "seeds must be a list of one or more different integers."),
        ({"seeds": ["x"]}, "seeds must be an integer of at least 0. Got 'x'."),
        ({"seconds": 0}, "seconds must be an integer of at least 1. Got 0."),
        ({"before_serving": "yes"}, "before_serving must be true or false. Got 'yes'."),
    ],
)
def test_a_mistake_is_told(given: dict[str, Any], said: str) -> None:
    with pytest.raises(ParameterError) as error:
        policy(**given)
    assert f"attack: {said}" in str(error.value)


def test_a_demand_that_nothing_could_meet_is_refused() -> None:
    # Records that are protected before any table cannot be invented.
    values = {
        "attack": {"before_serving": True},
        "tiers": {"public": {"protection": {"place": "both"}}},
    }
    with pytest.raises(ParameterError, match="population must be 'own' in"):
        parse_policy(values, "policy", "policy")
    values["attack"]["population"] = "own"
    assert parse_policy(values, "policy", "policy").attack.before_serving


def test_bounds_are_explained() -> None:
    said = " ".join(explain(policy(bounds={"margins": 0.2}, seeds=[1, 2])).split())
    assert "The store is served without a certificate." in said
    assert (
        "invented people of the same variables and areas, within 300 seconds (seeds 1, 2)" in said
    )
    assert "margins reading + 0.2;" in said
    assert "equality 0.8;" in said
    assert "splits no limit;" in said
    assert all(name in said for name in BOUNDS)
    demanded = explain(policy(before_serving=True, population="own", untried=["leaver"]))
    assert "served only with a certificate" in " ".join(demanded.split())
    assert "the figures are for the custodian alone" in " ".join(demanded.split())
    assert "Need not have been tried: leaver." in demanded
