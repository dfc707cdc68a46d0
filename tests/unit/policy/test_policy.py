"""Policies: read whole, every mistake told at once, explained in sentences."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from discreet.errors import ParameterError
from discreet.policy import PRESETS, Gate, Margins, explain, parse_policy, read_policy, read_preset


def told(values: dict[str, Any]) -> str:
    with pytest.raises(ParameterError) as error:
        parse_policy(values, "policy.toml", "policy.toml")
    return str(error.value)


def public(**tier: Any) -> dict[str, Any]:
    return {"tiers": {"public": tier}}


@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_is_a_policy_and_can_be_explained(name: str) -> None:
    policy = read_preset(name)
    assert policy.default_tier.public
    assert policy.default_tier.risk.gate is Gate.PUBLIC
    said = explain(policy)
    assert policy.title in said
    assert "Public (public):" in said


def test_an_unknown_preset_lists_the_choices() -> None:
    with pytest.raises(ParameterError, match="no preset 'rounding'; did you mean 'rounding-3'"):
        read_preset("rounding")


def test_every_threshold_of_a_preset_is_set_where_it_can_be_read() -> None:
    """A preset relies on no default of the program for what its public tier allows."""
    from dataclasses import fields

    from discreet.policy import CountRules
    from discreet.policy.read import policy_values

    for name in PRESETS:
        tier = policy_values(f"preset:{name}", Path())["tiers"]["public"]
        left = {f.name for f in fields(CountRules)} - set(tier["counts"])
        assert left <= {"one", "small"}, name
        assert {"multiplier", "maximum"} <= set(tier["risk"])


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"versoin": "1"}, "no setting 'versoin'; did you mean 'version'?"),
        (public(question={"max_cell": 1}), "tiers.public.question: no setting 'max_cell'"),
        (public(counts={"max_small": 2}), "max_small must be a number from 0 to 1. Got 2."),
        (public(counts={"small": 0}), "small must be an integer of at least 1. Got 0."),
        (public(risk={"weights": [1, 1, 1]}), "weights must be 3 or 4 numbers"),
        (public(risk={"gate": "transition"}), "the gate of tier 'public' must be 'public'"),
        (public(protection={"method": "rounding"}), "no method 'rounding'"),
        (
            public(protection={"method": "none"}),
            "'none' is for synthetic data (synthetic",
        ),
        (public(protection={"margins": "all"}), "no margins 'all'"),
        (
            public(protection={"method": "semi-controlled-rounding"}),
            "the method of tier 'public' must act cell by cell",
        ),
        (
            public(protection={"method": "random-rounding", "options": {"base": 1}}),
            "base must be an integer from 2 to 100. Got 1.",
        ),
        (public(protection={"publish": True}), "no setting 'publish'; did you mean 'published'?"),
        ({"tiers": {}}, "a policy must have at least one tier."),
        ({"tiers": {"Public": {}}}, "the id of a tier must be"),
        ({"minimum_population": 0}, "minimum_population must be an integer of at least 1. Got 0."),
        (public(counts={"levels": {"oa": {"max": 1}}}), "tiers.public.counts.oa: no setting 'max'"),
    ],
)
def test_a_mistake_is_told(values: dict[str, Any], message: str) -> None:
    assert message in told(values)


def test_all_mistakes_are_told_at_once() -> None:
    said = told({"versoin": "1"} | public(counts={"max_small": 2}, risk={"maximum": 7}, label=3))
    assert said.startswith("policy.toml has 4 mistakes:")
    for part in ("versoin", "max_small", "maximum", "'label' in tiers.public must be a text"):
        assert part in said


def test_all_mistakes_of_one_tier_are_told_at_once() -> None:
    said = told(
        public(
            question={"max_cells": 0, "max_cell": 1, "levels_refused": 3},
            counts={
                "minimum_mean": -1,
                "max_small": 2,
                "small": 0,
                "levels": {"oa": {"max_small": 3, "big": 1}, "ward": 5},
            },
            protection={
                "margins": "all",
                "place": "here",
                "published": 1,
                "options": {"base": 1},
                "colour": "red",
            },
            risk={"maximum": 7, "multiplier": -1, "weights": 5, "gate": "open"},
        )
    )
    parts = (
        "question: max_cells must be an integer of at least 1. Got 0.",
        "question: no setting 'max_cell'",
        "question: a list of names must hold texts. Got 3.",
        "counts: minimum_mean must be a number",
        "counts: max_small must be a number from 0 to 1. Got 2.",
        "counts: small must be an integer of at least 1. Got 0.",
        "counts.oa: max_small must be a number from 0 to 1. Got 3.",
        "counts.oa: no setting 'big'",
        "counts.ward must be a table. Got 5.",
        "protection: no margins 'all'",
        "protection: no place 'here'",
        "'published' in tiers.public.protection must be true or false. Got 1.",
        "protection: base must be an integer from 2 to 100. Got 1.",
        "protection: no setting 'colour'",
        "risk: maximum must be a number from 0 to 1. Got 7.",
        "risk: multiplier must be a number from 0 to 1. Got -1.",
        "risk: weights must be a list of numbers. Got 5.",
        "risk: no gate 'open'",
    )
    for part in parts:
        assert said.count(part) == 1, part
    # Each once: what is wrong with the general rules is not repeated for every level.
    assert said.startswith(f"policy.toml has {len(parts)} mistakes:")


def test_a_public_tier_is_told_of_its_method_and_its_gate() -> None:
    said = told(
        public(protection={"method": "semi-controlled-rounding"}, risk={"gate": "transition"})
    )
    assert "must act cell by cell" in said
    assert "the gate of tier 'public' must be 'public'" in said


def test_rules_for_a_level_replace_only_what_they_name(tmp_path: Path) -> None:
    (tmp_path / "policy.toml").write_text(
        "[tiers.public.counts]\nminimum_population = 50\nminimum_mean = 2\n"
        "[tiers.public.counts.levels.oa]\nminimum_population = 500\n"
    )
    tier = read_policy(tmp_path / "policy.toml").default_tier
    assert tier.counts_at("ward").minimum_population == 50
    assert tier.counts_at("oa").minimum_population == 500
    assert tier.counts_at("oa").minimum_mean == 2
    assert tier.counts_at(None).minimum_population == 50


def test_a_table_wise_method_is_for_tiers_that_are_not_public() -> None:
    policy = parse_policy(
        {"tiers": {"safe": {"public": False, "protection": {
            "method": "semi-controlled-rounding", "margins": "none"}}}},
        "policy", "policy",
    )  # fmt: skip
    assert policy.tier("safe").protection.margins is Margins.NONE
    assert policy.tier("safe").protection.transition is None
    with pytest.raises(ParameterError, match="no tier 'public'; Choices: safe"):
        policy.tier("public")


def test_a_policy_without_anything_protects_all_the_same() -> None:
    policy = parse_policy({}, "policy", "policy")
    assert policy.default_tier.public
    assert policy.default_tier.protection.method == "random-rounding"


def test_a_limit_on_filters_is_explained() -> None:
    limited = parse_policy(public(question={"max_filter_categories": 1}), "policy", "policy")
    said = "A filter picks one category of a variable that is not in the table."
    assert said in explain(limited)
    assert "A filter picks" not in explain(parse_policy({}, "policy", "policy"))
