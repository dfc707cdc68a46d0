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
    assert not policy.tier("safe").protection.cellwise
    with pytest.raises(ParameterError, match="no tier 'public'; Choices: safe"):
        policy.tier("public")


def test_a_policy_without_anything_protects_all_the_same() -> None:
    policy = parse_policy({}, "policy", "policy")
    assert policy.default_tier.public
    assert policy.default_tier.protection.method == "random-rounding"


def test_what_all_tables_together_may_tell_is_explained() -> None:
    said = " ".join(explain(parse_policy({}, "policy", "policy")).split())
    assert (
        "Detail with fewer than 50 people in a cell on average may be in one released table, for "
        "everybody together" in said
    )
    one = parse_policy(public(space={"looks": 2, "plan": ["a", "b"]}), "policy", "policy")
    assert "may be in 2 released tables," in " ".join(explain(one).split())
    assert "Released before anybody asks: 2 tables." in explain(one)
    free = {"synthetic": True, **public(space={"guard_below": 0})}
    assert "Detail is not guarded" in explain(parse_policy(free, "policy", "policy"))


@pytest.mark.parametrize(
    ("space", "message"),
    [
        ({"looks": 0}, "looks must be an integer of at least 1"),
        ({"looks": 3, "office_looks": 2}, "office_looks must be an integer of at least 3"),
        ({"claim": "put"}, "no claim 'put'"),
        ({"plan": 3}, "plan must be a list of questions"),
        ({"guard_below": 0}, "guard_below must be at least 1"),
    ],
)
def test_the_space_of_questions_is_checked(space: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        parse_policy(public(space=space), "policy", "policy")


def safe(method: str, risk: dict[str, Any] | None = None, **protection: Any) -> dict[str, Any]:
    """A policy with one tier that is not public."""
    made = {"method": method, "margins": "none"} | protection
    return {"tiers": {"safe": {"public": False, "protection": made, "risk": risk or {}}}}


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (
            safe("small-count-rounding", {"gate": "transition"}),
            "the gate of tier 'safe' must be 'public': the chances of 'small-count-rounding' are "
            "not known",
        ),
        (
            safe("semi-controlled-rounding", {"gate": "transition"}, options={"form": "paper"}),
            "the chances of 'semi-controlled-rounding' are not known",
        ),
        (safe("same-margins"), "the gate of tier 'safe' needs a multiplier: 'same-margins' has"),
        (
            safe("controlled-rounding", margins="protected"),
            "the margins of tier 'safe' must be 'none' or 'summed'",
        ),
        (
            safe("sampling", options={"fraction": 0.1}),
            "the method 'sampling' must be told (published = true)",
        ),
        (
            public(
                protection={
                    "method": "sampling", "options": {"fraction": 0.1}, "published": True,
                }
            ),
            "the method of tier 'public' must have a bound on its changes: 'sampling' has none.",
        ),
        (
            {
                "tiers": {
                    "safe": {
                        "public": False,
                        "question": {"max_dimensions": 1},
                        "protection": {"method": "same-margins", "margins": "none"},
                    }
                }
            },
            "'same-margins' takes no table of up to 1 variable:",
        ),
    ],
)  # fmt: skip
def test_what_can_never_pass_is_a_mistake(values: dict[str, Any], message: str) -> None:
    assert message in told(values)


def test_a_method_that_moves_zeros_is_a_mistake(tmp_path: Path) -> None:
    """Half of all zeros would become ones, in cells that nobody can be in too."""
    matrix = tmp_path / "matrix.csv"
    matrix.write_text("0.5,0.5\n0.5,0.5\n")
    values = safe("stochastic-perturbation", options={"matrix": str(matrix)})
    assert "the method 'stochastic-perturbation' must leave zeros alone" in told(values)
    matrix.write_text("1,0\n0.5,0.5\n")
    assert parse_policy(values, "policy", "policy").tier("safe").protection.build is not None


def test_what_cannot_be_measured_is_said_beforehand() -> None:
    exact = parse_policy(safe("controlled-rounding", {"gate": "transition"}), "policy", "policy")
    said = explain(exact)
    assert "Tables of 3, 4 or 5 variables are refused (NOT_MEASURED)" in said
    # Tables of three and more are not answered: base 3 changes a figure of the others by 2.
    assert "The method changes no figure by more than 2; sums may change by more." in said
    by_figures = parse_policy(safe("controlled-rounding"), "policy", "policy")
    assert "NOT_MEASURED" not in explain(by_figures)
    margins = parse_policy(safe("same-margins", {"multiplier": 1}), "policy", "policy")
    said = explain(margins)
    assert "Tables of 1 variable are refused (NO_METHOD)" in said
    assert "1, stated by the policy (the method has none of its own)" in said
    assert "The method may change a figure by any amount" in said


@pytest.mark.parametrize(
    ("method", "options", "told"),
    [
        ("random-rounding", {"base": 3}, "is 0.33, of 3 remainders one is left as counted"),
        ("random-rounding", {"base": 5}, "is 0.2, of 5 remainders one is left as counted"),
        (
            "stochastic-perturbation", {},
            "is 0.75 for figures from 1 to 6 and 0.9 for larger ones, in print for this matrix",
        ),
        ("small-cell-adjustment", {}, "is 0.33 for figures from 1 to 3 and 1 for larger ones"),
    ],
)  # fmt: skip
def test_the_multiplier_is_the_methods_unless_the_policy_states_one(
    method: str, options: dict[str, Any], told: str
) -> None:
    protection = {"method": method, "options": options}
    own = explain(parse_policy(public(protection=protection), "policy", "policy"))
    assert f"The multiplier of its entropy term {told}" in own
    stated = parse_policy(
        public(protection=protection, risk={"multiplier": 0.4}), "policy", "policy"
    )
    multiplier = stated.default_tier.multiplier(2)
    assert multiplier is not None
    assert multiplier.of([1, 100]) == 0.4
    assert "0.4, stated by the policy (the method's own: " in explain(stated)


@pytest.mark.parametrize(
    ("values", "told"),
    [
        (
            safe("same-margins", {"multiplier": 1}, margins="summed"), "noise adds up too, but",
        ),
        (
            safe("controlled-rounding", {"gate": "transition"}, margins="summed"),
            "they add up, and the method changes them by less than 3.",
        ),
        # Beyond two variables a total may be one multiple further away.
        (
            safe("controlled-rounding", margins="summed"),
            "they add up, and the method changes them by less than 6.",
        ),
        (public(protection={"margins": "summed"}), "they add up, and their noise adds up too."),
    ],
)  # fmt: skip
def test_sums_are_said_to_be_as_close_as_the_method_keeps_them(
    values: dict[str, Any], told: str
) -> None:
    assert told in explain(parse_policy(values, "policy", "policy"))


def test_margins_that_are_kept_are_said_to_be() -> None:
    two_way = safe("same-margins", {"multiplier": 1}, margins="summed")
    two_way["tiers"]["safe"]["question"] = {"max_dimensions": 2}
    said = explain(parse_policy(two_way, "policy", "policy"))
    assert "they add up, and the method leaves them as they were counted." in said


def test_count_adjustment_is_not_said_to_leave_larger_counts() -> None:
    said = explain(parse_policy(safe("count-adjustment"), "policy", "policy"))
    assert "of the counts 1 to 3 only 3 may be left as counted; of larger ones it is not" in said


def test_what_must_be_known_of_a_method_is_said() -> None:
    printed = public(protection={"method": "stochastic-perturbation"})
    said = explain(parse_policy(printed, "policy", "policy"))
    # 1/2 · 1 + 1/8 · (2 + 3 + 4 + 5)
    assert "The matrix as printed is biased, a count of 1 becomes 2.25 on average" in said
    assert "biased" not in explain(parse_policy({}, "policy", "policy"))


def test_one_is_singular() -> None:
    least = {"minimum_population": 1, "minimum_mean": 1, "one": 1, "small": 1}
    values = public(counts=least, question={"max_dimensions": 1, "max_cells": 1})
    said = explain(parse_policy(values | {"minimum_population": 1}, "policy", "policy"))
    assert "A table has at most 1 variable, 1 cell and 1,000 categories per variable" in said
    assert "has at least 1 person, and at least 1 per cell on average." in said
    # Of the two limits, 25% and 50%, the lower one decides.
    assert "35% of its cells are 1. Of the cells that are not zero, at most 25% are 1." in said
    assert "Groups of any size may be obtainable" in said
    for wrong in ("1 to 1", "1 people", "1 variables", "1 cells"):
        assert wrong not in said
    none = explain(parse_policy(public(counts={"one": 0, "small": 2}), "policy", "policy"))
    assert "Of the cells that are not zero, at most 50% are 1 or 2." in none


def _with_plan(folder: Path, plan: str) -> Path:
    path = folder / "policy.toml"
    path.write_text(f"[tiers.public.space]\nplan = {plan}\n", encoding="utf-8")
    return path


def test_a_plan_is_a_list_or_a_file_beside_the_policy(tmp_path: Path) -> None:
    listed = read_policy(_with_plan(tmp_path, '["sex,age", "la&where=sex=1"]'))
    assert listed.default_tier.space.plan == ("sex,age", "la&where=sex=1")
    (tmp_path / "plan.toml").write_text('plan = ["sex,age"]  # of one table\n', encoding="utf-8")
    assert read_policy(_with_plan(tmp_path, '"plan.toml"')).default_tier.space.plan == ("sex,age",)


@pytest.mark.parametrize(
    ("plan", "file", "message"),
    [
        ('"nowhere.toml"', "", "there is no file .*nowhere.toml"),
        ('"plan.toml"', 'plans = ["sex"]', "plan.toml must have 'plan'"),
        ('"plan.toml"', 'plan = "sex"', "'plan' in .*plan.toml must be a list"),
        ('"plan.toml"', "plan = []\nlooks = 3", "no setting 'looks'"),
        ('"plan.toml"', "plan = [1]", "plan must be a list of questions, or the name of a file"),
        ("3", "", "plan must be a list of questions, or the name of a file"),
    ],
)
def test_a_plan_that_is_none_is_told(tmp_path: Path, plan: str, file: str, message: str) -> None:
    (tmp_path / "plan.toml").write_text(file, encoding="utf-8")
    with pytest.raises(ParameterError, match=message):
        read_policy(_with_plan(tmp_path, plan))
