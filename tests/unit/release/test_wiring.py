"""The parts of a release put together: what each fault of the wiring would let out.

Each test fails on a fault that the tests of the parts cannot see. The faults are in
`scripts/mutants/faults.txt`; where noise decides, it is seen not to be zero first.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet.errors import Damaged, QueryRefused
from discreet.ledger import Database, Ledgers, Status
from discreet.policy import Policy, parse_policy
from discreet.population import Schema, Variable, Version
from discreet.population.keys import Secret
from discreet.population.schema import GEOGRAPHY
from discreet.query import QuestionClass
from discreet.release import Releaser, measures
from discreet.release.beforehand import Beforehand, prepared
from discreet.release.protection import protect
from discreet.release.steps import Making
from discreet.risk import public_gate
from discreet.table import CountTable, Dimension
from discreet.tabulate import ScanEngine
from populations import ask, level, make_version

SECRET, OTHER = Secret(bytes(32)), Secret(bytes(range(32)))
LENIENT = {
    "minimum_population": 1, "minimum_mean": 0, "max_small": 1, "max_ones_of_populated": 1,
    "max_small_of_populated": 1, "max_single_lines": 1,
}  # fmt: skip
KEYS = {"method": "cell-key-perturbation", "options": {"bound": 2, "variance": 1}}
ROUNDED = {"method": "random-rounding", "options": {"base": 3}}
WHOLE = {"method": "semi-controlled-rounding", "options": {"base": 3}, "margins": "none"}
FREE = {"guard_below": 1}


def tier(protection: dict[str, Any], **more: Any) -> dict[str, Any]:
    rules = {"counts": LENIENT, "protection": protection, "risk": {"maximum": 1}, "space": FREE}
    return rules | more


def policy(*, top: dict[str, Any] | None = None, **tiers: dict[str, Any]) -> Policy:
    return parse_policy({"version": "t", "tiers": tiers} | (top or {}), "policy", "policy")


def public(protection: dict[str, Any] | None = None, **more: Any) -> Policy:
    return policy(public=tier(protection or KEYS, **more))


def releaser(version: Version, rules: Policy, secret: Secret = SECRET) -> Releaser:
    return Releaser.alone(version, ScanEngine(version, threads=1), rules, secret)


def counts(version: Version, by: str, where: str | None = None) -> Any:
    return ScanEngine(version, threads=1).tabulate(ask(version, by, where)).dense().counts


@pytest.fixture(scope="module")
def version() -> Version:
    made = make_version(np.random.default_rng(3), 4000, [3, 4, 5], [12, 3])
    made.manifest["created"] = "2026-01-05T10:15:00+00:00"
    return made


def country(sizes: list[list[int]]) -> Version:
    """People in areas of so many inside regions, in two groups `a` of equal size."""
    people = [n for region in sizes for n in region]
    of = np.repeat(np.arange(len(sizes)), [len(region) for region in sizes])
    areas = Variable(
        GEOGRAPHY, "Geography", (level("g0", len(people)), level("g1", len(sizes), of))
    )
    groups = Variable("a", "A", (level("a", 2),))
    rows, starts = sum(people), np.cumsum([0, *people])
    codes = np.concatenate([np.arange(b - a) % 2 for a, b in pairwise(starts)]).astype(np.uint8)
    keys = np.random.default_rng(1).integers(0, 2**32, rows).astype(np.uint32)
    arrays = (codes[None], np.empty((0, rows), np.uint16), keys)
    for array in arrays:
        array.setflags(write=False)
    return Version(
        Path("in-memory"),
        {"modulus": 2**32, "hypercube": False, "created": "2026-01-05T10:15:00+00:00"},
        Schema("country", "A country", "persons", (groups, areas)),
        *arrays,
        None,
        starts.astype(np.int64),
    )


# Official figures


def test_a_filter_on_official_figures_is_a_question_about_people(version: Version) -> None:
    """Of the three areas as counted, those in one group are not official: they have noise."""
    rules = policy(public=tier(KEYS), top={"benchmark_totals": ["g1"]})
    answers = releaser(version, rules)
    assert (
        answers.release(ask(version, "g1")).table.values.tolist() == counts(version, "g1").tolist()
    )
    changed = 0
    for where in ("a=a0", "a=a1", "a=a2", "b=b0", "c=c1"):
        got = answers.release(ask(version, "g1", where)).table.values
        plain = releaser(version, public()).release(ask(version, "g1", where)).table.values
        assert got.tolist() == plain.tolist()
        changed += int((got != counts(version, "g1", where)).sum())
    assert changed > 5  # of 15 figures, each changed with a chance of about 0.6


def test_a_part_of_official_detail_is_not_official(version: Version) -> None:
    rules = policy(public=tier(KEYS), top={"benchmark_totals": ["a,g1"]})
    got = releaser(version, rules).release(ask(version, "a,b,c")).table.values
    assert (got != counts(version, "a,b,c")).any()
    totals = releaser(version, rules).release(ask(version, "b")).table.values
    assert (totals != counts(version, "b")).any()


# Chance


@pytest.mark.parametrize("method", [KEYS, ROUNDED, WHOLE])
def test_another_secret_is_other_noise(version: Version, method: dict[str, Any]) -> None:
    """Whoever has the program and not the secret cannot draw the noise again."""
    rules = policy(licensed=tier(method, public=False))
    found = [releaser(version, rules, s).release(ask(version, "a,b,c")) for s in (SECRET, OTHER)]
    assert found[0].table.values.tolist() != found[1].table.values.tolist()


def test_tables_drawn_whole_do_not_share_their_chance(version: Version) -> None:
    """Tiers, data sets, classes and methods have seeds of their own, under one secret."""
    two = policy(licensed=tier(WHOLE, public=False), safe=tier(WHOLE, public=False, label="Safe"))
    answers = releaser(version, two)
    question = ask(version, "a,b,c")
    tiers = [answers.release(question, tier=name).table.values for name in ("licensed", "safe")]
    assert tiers[0].tolist() != tiers[1].tolist()

    def seed(version: Version, rules: Policy, by: str) -> str:
        of = QuestionClass.of(ask(version, by))
        return Making(of, rules.default_tier, version, rules).seed

    licensed = policy(licensed=tier(WHOLE, public=False))
    other = replace(version, schema=replace(version.schema, id="another"))
    rounded = policy(licensed=tier(ROUNDED, public=False))
    based = policy(licensed=tier(WHOLE | {"options": {"base": 5}}, public=False))
    seeds = [
        seed(version, licensed, "a,b"), seed(other, licensed, "a,b"),
        seed(version, licensed, "a,c"), seed(version, rounded, "a,b"),
        seed(version, based, "a,b"), seed(version, two, "a,b"),
    ]  # fmt: skip
    assert len(set(seeds)) == 5
    assert seeds[5] == seeds[0]  # the same tier in a policy with another


def test_tiers_with_other_methods_have_tables_of_their_own(version: Version) -> None:
    rules = policy(public=tier(KEYS), licensed=tier(ROUNDED, public=False))
    answers = releaser(version, rules)
    question = ask(version, "a,b,c")
    by_keys, rounded = (
        answers.release(question, tier=name).table.values for name in ("public", "licensed")
    )
    assert (rounded % 3 == 0).all()
    assert (by_keys % 3 != 0).any()


def test_an_edition_has_noise_of_its_own(version: Version) -> None:
    later = replace(version, manifest=version.manifest | {"edition": 2})
    found = [releaser(v, public()).release(ask(v, "a,b,c")).table.values for v in (version, later)]
    assert found[0].tolist() != found[1].tolist()


def test_key_sums_are_mixed_unless_the_policy_says_otherwise(version: Version) -> None:
    """Plain keys of parts and union are related: they are for keys that are in use already."""
    plain = public(KEYS | {"plain_keys": True})
    found = [releaser(version, rules).release(ask(version, "a,b,c")) for rules in (public(), plain)]
    assert found[0].table.values.tolist() != found[1].table.values.tolist()
    # Plain noise follows from the key sums alone, whatever the secret.
    again = releaser(version, plain, OTHER).release(ask(version, "a,b,c"))
    assert again.table.values.tolist() == found[1].table.values.tolist()


# Areas


COUNTRY = [[200, 200, 20, 180], [200, 190, 150], [160, 170, 210]]
# 20 people are too few for 100; in their region the area with the fewest left has 180.


def withheld(version: Version, rules: Policy) -> list[str]:
    release = releaser(version, rules).release(ask(version, "g0,a"))
    return [area.code for area in release.withheld]


def test_a_withheld_area_has_a_complement_in_its_own_region() -> None:
    """The region less the others would give it away; areas of other regions do not help."""
    rules = public(ROUNDED, counts=LENIENT | {"minimum_population": 100})
    assert withheld(country(COUNTRY), rules) == ["g02", "g03"]
    # The ledger knows that its sums would lack a part.
    answers = releaser(country(COUNTRY), rules)
    answers.release(ask(answers.version, "g0,a"))
    route = answers.ledgers.of(rules.default_tier).route(
        QuestionClass.of(ask(answers.version, "g0,a"))
    )
    assert route is not None
    assert route.status is Status.PARTIAL


def test_rules_of_a_level_are_used_for_its_areas() -> None:
    stricter = LENIENT | {"levels": {"g0": {"minimum_population": 100}}}
    rules = public(ROUNDED, counts=stricter)
    assert withheld(country(COUNTRY), rules) == ["g02", "g03"]
    assert withheld(country(COUNTRY), public(ROUNDED)) == []


def test_a_summed_total_over_a_withheld_area_is_withheld() -> None:
    """Else the total less the areas that are shown is the sum of those that are not."""
    rules = public(ROUNDED | {"margins": "summed"}, counts=LENIENT | {"minimum_population": 100})
    table = releaser(country(COUNTRY), rules).release(ask(country(COUNTRY), "g0,a"), "summed").table
    assert table.withheld[-1].all()
    assert not table.values[-1].any()
    assert not table.withheld[0].any()


def test_a_total_whose_own_table_lacks_an_area_is_the_sum_beside_it() -> None:
    """The area has about 100 people: its own figure may be 99 where its parts sum to 102."""
    rules = public(ROUNDED | {"margins": "protected"}, counts=LENIENT | {"minimum_population": 100})
    for secret in (Secret(bytes([i]) * 32) for i in range(60)):
        version = country([[200, 200, 100, 100], [200, 190, 150]])
        answers = releaser(version, rules, secret)
        alone = answers.release(ask(version, "g0")).withheld
        if alone and not answers.release(ask(version, "g0,a")).withheld:
            table = answers.release(ask(version, "g0,a"), "protected").table
            assert not table.withheld.any()
            assert table.values[2, -1] == table.values[2, :-1].sum()
            return
    pytest.fail("none of 60 secrets made a case to test")


def test_nothing_is_behind_a_withheld_figure() -> None:
    rules = public(ROUNDED | {"published": True}, counts=LENIENT | {"minimum_population": 100})
    table = releaser(country(COUNTRY), rules).release(ask(country(COUNTRY), "g0,a")).table
    assert table.withheld[2:4].all()
    assert table.low is not None
    assert table.high is not None
    for array in (table.values, table.low, table.high):
        assert not array[table.withheld].any()
        assert array[~table.withheld].all()


def test_the_bound_is_of_the_areas_that_are_released() -> None:
    """What is withheld is no part of what a reader sees, nor of what it is judged by."""
    rules = public(ROUNDED, counts=LENIENT | {"minimum_population": 100})
    release = releaser(country(COUNTRY), rules).release(ask(country(COUNTRY), "g0,a"))
    shown = release.table.values[~release.table.withheld].reshape(-1, 2)
    assert len(shown) == 8
    assert release.record is not None
    assert release.record.risk_public == pytest.approx(float(public_gate(shown, 1 / 3)))
    assert release.public_quality.cells == shown.size


def test_a_table_without_an_area_left_is_refused() -> None:
    version = country([[20, 30], [25, 20]])
    rules = public(ROUNDED, counts=LENIENT | {"minimum_population": 100})
    with pytest.raises(QueryRefused) as refusal:
        releaser(version, rules).release(ask(version, "g0,a"))
    assert refusal.value.code == "NOT_AVAILABLE"
    assert refusal.value.record.verdict == "MIN_POPULATION"
    assert len(refusal.value.record.withheld) == 4


# The gate


def test_the_gate_by_transition_decides_by_the_true_table(version: Version) -> None:
    """For a licensed tier: refused above the exact measure, though its bound is below it."""
    question = ask(version, "a,b,c")
    licensed = {"gate": "transition", "maximum": 1, "multiplier": 0.9}
    open_rules = policy(licensed=tier(KEYS, public=False, risk=licensed))
    record = releaser(version, open_rules).release(question).record
    assert record is not None
    assert record.gate == "transition"
    assert record.risk_after is not None
    assert record.risk_public is not None
    assert record.risk_after != record.risk_public
    between = (record.risk_after + record.risk_public) / 2
    refused = record.risk_after > record.risk_public
    rules = policy(licensed=tier(KEYS, public=False, risk=licensed | {"maximum": between}))
    if refused:
        with pytest.raises(QueryRefused):
            releaser(version, rules).release(question)
    else:
        assert releaser(version, rules).release(question)
    below = licensed | {"maximum": record.risk_after * (1 - 1e-9)}
    with pytest.raises(QueryRefused) as refusal:
        releaser(version, policy(licensed=tier(KEYS, public=False, risk=below))).release(question)
    assert refusal.value.record.verdict == "RISK"


def test_the_reason_of_a_refusal_is_for_the_custodian_alone(version: Version) -> None:
    for rules, verdict in (
        (public(counts=LENIENT | {"minimum_population": 5_000}), "MIN_POPULATION"),  # of 4,000
        (public(risk={"maximum": 0.0}), "RISK"),
    ):
        with pytest.raises(QueryRefused) as refusal:
            releaser(version, rules).release(ask(version, "a,b,c"))
        assert refusal.value.code == "NOT_AVAILABLE"
        assert refusal.value.record.verdict == verdict


def test_a_refused_table_leaves_no_figures(version: Version) -> None:
    answers = releaser(version, public(risk={"maximum": 0.0}))
    with pytest.raises(QueryRefused):
        answers.release(ask(version, "a,b,c"))
    of = QuestionClass.of(ask(version, "a,b,c"))
    kept = answers._table(answers.policy.default_tier, of, None)
    assert kept.refused
    assert kept.figures.size == 0
    assert kept.withheld is None


# What is told


def test_the_largest_change_is_told_only_where_the_method_is(version: Version) -> None:
    """Of figures, of sums of figures, and where the chances of a method are not known."""
    part = ask(version, "a", "g0=g00|g03")  # sums of two figures each
    for method in (ROUNDED, WHOLE):
        for published in (False, True):
            rules = policy(licensed=tier(method | {"published": published}, public=False))
            answers = releaser(version, rules)
            for question in (ask(version, "a,b"), part):
                told = answers.release(question).public_quality
                assert (told.largest_change is not None) == published, (method, question)
                assert ("up to" in " ".join(told.sentences)) == published
            found = answers.release(part)
            assert found.public_quality.sentences[0].endswith("altered, and added up.")
            assert (found.table.off_at_most is not None) == published
            assert (found.table.low is not None) == published
    unknown = {"method": "controlled-rounding", "options": {"base": 3}, "margins": "none"}
    # Of three variables a figure may move by up to 2·3 − 1, not 2: there may be no nearer rounding.
    for published, change in ((False, None), (True, 5)):
        rules = policy(licensed=tier(unknown | {"published": published}, public=False))
        found = releaser(version, rules).release(ask(version, "a,b,c"))
        assert rules.default_tier.protection.effect(3).transition is None
        assert found.public_quality.largest_change == change


def test_no_range_is_told_of_altered_records(version: Version) -> None:
    altered = replace(
        version, manifest=version.manifest | {"protected_beforehand": ["record-swapping"]}
    )
    rules = public(ROUNDED | {"published": True, "place": "both"})
    release = releaser(altered, rules).release(ask(altered, "a,b"))
    assert release.table.low is None
    assert release.public_quality.largest_change is None
    assert release.public_quality.score is None


# Questions


def test_the_time_to_count_is_estimated_from_the_population(version: Version) -> None:
    """4,000 people and one variable at 20 million a second: 0.2 ms."""
    for seconds, allowed in ((0.00021, True), (0.00019, False)):
        answers = releaser(version, public(space=FREE | {"max_seconds": seconds}))
        assert _released(answers, ask(version, "a")) == allowed


def test_tables_that_a_method_cannot_protect_or_measure_are_refused(version: Version) -> None:
    """Margins cannot be kept of one variable; of three, the chances of rounding are not known."""
    same = {"method": "same-margins", "margins": "none"}
    rounded = {"method": "controlled-rounding", "options": {"base": 3}, "margins": "none"}
    exact = {"gate": "transition", "maximum": 1}
    for method, risk, by, code in (
        (same, {"maximum": 1, "multiplier": 1}, "a", "NO_METHOD"),
        (rounded, exact, "a,b,c", "NOT_MEASURED"),
    ):
        rules = policy(licensed=tier(method, public=False, risk=risk))
        with pytest.raises(QueryRefused) as refusal:
            releaser(version, rules).check(ask(version, by))
        assert refusal.value.code == code


def test_unguarded_detail_is_of_a_protected_base_alone(version: Version) -> None:
    """Swapped records are not one: without a guard all tables together tell who is who."""
    steps = [{"method": "record-swapping", "rates": {"g0": 0.1}}]
    swapped = replace(
        version, manifest=version.manifest | {"protected_beforehand": ["record-swapping"]}
    )
    swapped.__dict__["steps_beforehand"] = steps
    for guard, allowed in ((50, True), (0, False)):
        rules = public(
            {"method": "none", "place": "input", "margins": "none"}, space={"guard_below": guard}
        )
        assert prepared(swapped, rules, rules.default_tier) == allowed


def test_no_figure_of_a_protected_base_is_certain() -> None:
    """Figures up to 5 were never off in what was measured, larger ones by −3 to 4."""
    found = Beforehand(("protected-base",), (5,), ((0, 0), (-3, 4))).around(np.array([0, 2, 9]))
    assert found is not None
    assert [ends.tolist() for ends in found] == [[0, 1, 6], [1, 3, 13]]


def test_a_swap_and_a_method_take_off_both() -> None:
    """A cell keeps its concentration through both: at a rate of 0.5 half of the entropy term."""
    rules = public(ROUNDED, risk={"maximum": 1, "weights": [0.0, 1.0, 0.0]}).default_tier
    true, released = np.array([[40, 2], [0, 58]]), np.array([[39, 3], [0, 57]])
    alone, both = (measures.risk_after(true, released, rules, rate) for rate in (0.0, 0.5))
    assert alone is not None
    assert both == pytest.approx(alone / 2)


def test_zeros_move_by_the_secret_and_by_the_table() -> None:
    counts = CountTable(
        (Dimension("a", "a", "A", *[tuple(map(str, range(400)))] * 2),),
        np.zeros(400, np.uint32), np.zeros(400, np.uint32), 2**32,
    )  # fmt: skip
    rules = public(ROUNDED | {"zeros": 0.5}).default_tier.protection
    found = {
        (secret.value, name): protect(counts, rules, secret, name).tolist()
        for secret in (SECRET, OTHER)
        for name in ("one", "two")
    }
    assert all(any(figures) for figures in found.values())
    assert len({tuple(figures) for figures in found.values()}) == 4


# Hints and totals


def test_hints_are_checked_by_the_rules_of_their_tier(version: Version) -> None:
    """Halves are a way out that one tier is refused; the other tier is the first of the policy."""
    coarse = {"counts": LENIENT | {"minimum_population": 5_000}}
    halves = {"question": {"levels_refused": ["a_half", "b_half", "c_half"]}}
    rules = policy(
        public=tier(KEYS, **coarse), licensed=tier(KEYS, public=False, **coarse, **halves)
    )
    found = {}
    for name in ("public", "licensed"):
        with pytest.raises(QueryRefused) as refusal:
            releaser(version, rules).release(ask(version, "a,b,c"), tier=name)
        found[name] = [hint.question.by for hint in refusal.value.hints]
    assert any("half" in by for by in found["public"])
    assert found["licensed"]
    assert not any("half" in by for by in found["licensed"])
    assert not releaser(version, public()).release(ask(version, "a,b,c")).hints  # nothing missing


def test_hints_are_asked_of_the_rules_and_keep_the_filters(version: Version) -> None:
    """Of its own tier: fewer variables would pass here, but for a level that is refused."""
    question = ask(version, "a,b,c", "g1=g11")
    refusing = {"counts": LENIENT | {"minimum_population": 5_000}}
    strict = {"question": {"levels_refused": ["b", "b_half"]}}
    rules = policy(public=tier(KEYS, **refusing), licensed=tier(KEYS, public=False, **refusing))
    with pytest.raises(QueryRefused) as refusal:
        releaser(version, rules).release(question)
    hints = refusal.value.hints
    assert hints
    for hint in hints:
        dropped = "filter" in hint.text
        assert (hint.question.where == "g1=g11") != dropped, hint.text
    rules = policy(
        public=tier(KEYS, **refusing),
        licensed=tier(KEYS, public=False, **refusing, question={"max_cells": 12}),
    )
    with pytest.raises(QueryRefused) as refusal:
        releaser(version, rules).release(ask(version, "a,b", "g0=g01"), tier="licensed")
    assert all(hint.question.cells <= 12 for hint in refusal.value.hints)
    forbidden = policy(public=tier(KEYS, **refusing, **strict))
    with pytest.raises(QueryRefused) as refusal:
        releaser(version, forbidden).release(ask(version, "a,c", "g0=g01"))
    assert not any("b" in hint.question.by.split(",") for hint in refusal.value.hints)


def test_totals_that_are_published_are_written_down(version: Version) -> None:
    rules = public(KEYS | {"margins": "protected"})
    answers = releaser(version, rules)
    answers.release(ask(version, "a,b"), "protected")
    ledger = answers.ledgers.of(rules.default_tier)
    assert {entry.route.asked.name for entry in ledger.entries()} == {"a,b", "a", "b", "everybody"}


def test_what_was_refused_is_not_hinted_at(version: Version) -> None:
    """A table that was made and refused is no way out.

    4,000 people in 60 cells have 67 in each. With `a` halved, of three categories two are joined
    and one is left as it was; with `b` halved, of four, every cell has 133.
    """
    rules = public(counts=LENIENT | {"small": 100, "max_small": 0.1})
    answers = releaser(version, rules)
    with pytest.raises(QueryRefused) as first:
        answers.release(ask(version, "a,b,c"))
    refused = [h for h in first.value.hints if not _released(answers, h.question)]
    assert {h.question.by for h in refused} == {"a_half,b,c", "a,b,c_half"}
    with pytest.raises(QueryRefused) as again:
        answers.release(ask(version, "a,b,c"))
    asked = {hint.question.canonical for hint in again.value.hints}
    assert asked.isdisjoint(h.question.canonical for h in refused)
    assert "a,b_half,c" in {hint.question.by for hint in again.value.hints}


def _released(answers: Releaser, question: Any) -> bool:
    try:
        answers.release(question)
    except QueryRefused:
        return False
    return True


# The ledger


def test_damage_is_seen_before_an_answer_that_is_kept(version: Version) -> None:
    made = replace(version, guard=type(version.guard)())
    answers = releaser(made, public())
    answers.release(ask(made, "a"))
    made.guard.condemn(made.path)
    with pytest.raises(Damaged):
        answers.release(ask(made, "a"))


def test_without_claims_guarded_detail_is_not_shown(version: Version) -> None:
    """720 cells of 4,000 people: guarded below 50, and nothing of it is released yet."""
    rules = public(space={"guard_below": 50})
    answers = releaser(version, rules)
    fine = ask(version, "a,b,c,g0")
    with pytest.raises(QueryRefused) as refusal:
        answers.quiet.release(fine)
    assert refusal.value.code == "USED_UP"
    assert answers.release(fine)
    assert answers.quiet.release(fine)


def test_a_table_left_unjudged_is_judged_before_it_is_summed(version: Version) -> None:
    """A process that was killed has claimed the finer table: its looks are used."""
    rules = public(space={"guard_below": 50, "sums_up_to": 100})
    answers = releaser(version, rules)
    fine, coarse = (QuestionClass.of(ask(version, by)) for by in ("a,b,c,g0", "a,b,g0"))
    answers.ledgers.of(rules.default_tier).claim(fine)
    found = answers.release(ask(version, "a,b,g0"))
    assert answers.ledgers.of(rules.default_tier).route(coarse).source == fine  # type: ignore[union-attr]
    whole = answers.release(ask(version, "a,b,c,g0")).table.values
    for again in (found, answers.release(ask(version, "a,b,g0"))):  # and so it stays
        assert again.table.values.tolist() == whole.sum(axis=2).tolist()


def test_a_table_is_recorded_once(version: Version, tmp_path: Path) -> None:
    answers = replace(releaser(version, public()), log=tmp_path / "records")
    for _ in range(3):
        answers.release(ask(version, "a,b"))
    assert len((tmp_path / "records").read_text().splitlines()) == 1


def test_figures_as_counted_have_no_range(version: Version) -> None:
    protection = ROUNDED | {"published": True}
    rules = policy(public=tier(protection), top={"benchmark_totals": ["g1"]})
    answers = releaser(version, rules)
    assert answers.release(ask(version, "g1")).table.low is None
    assert answers.release(ask(version, "a")).table.low is not None


@pytest.mark.parametrize(
    "changed",
    [
        KEYS | {"options": {"bound": 3, "variance": 1}},
        ROUNDED,
        KEYS | {"plain_keys": True},
        KEYS | {"zeros": 0.1},
    ],
)
def test_other_figures_are_another_look(version: Version, changed: dict[str, Any]) -> None:
    """One look at guarded detail: figures drawn otherwise would be a second."""
    database = Database.of("sqlite://")
    guarded = {"space": {"guard_below": 50, "looks": 1, "office_looks": 1}}
    found = []
    for protection in (KEYS, changed):
        rules = public(protection, **guarded)
        ledgers = Ledgers(version, rules, SECRET, database)
        answers = Releaser(version, ScanEngine(version, threads=1), rules, SECRET, ledgers)
        found.append(_released(answers, ask(version, "a,b,c,g0")))
    assert found == [True, False]


@pytest.mark.parametrize("which", ["secret", "edition"])
def test_another_secret_or_edition_is_another_look(version: Version, which: str) -> None:
    database, rules = Database.of("sqlite://"), public(space={"guard_below": 50, "looks": 1})
    later = replace(version, manifest=version.manifest | {"edition": 2})
    second = (version, OTHER) if which == "secret" else (later, SECRET)
    found = []
    for of, secret in ((version, SECRET), second):
        ledgers = Ledgers(of, rules, secret, database)
        answers = Releaser(of, ScanEngine(of, threads=1), rules, secret, ledgers)
        found.append(_released(answers, ask(of, "a,b,c,g0")))
    assert found == [True, False]


def test_all_that_figures_depend_on_names_an_edition(version: Version) -> None:
    """Methods with the same options too: their figures are other figures."""
    later = replace(version, manifest=version.manifest | {"edition": 2})
    base = {"options": {"base": 3}, "margins": "none"}
    rounded = base | {"method": "random-rounding"}
    cases = [
        (version, SECRET, rounded),
        (version, OTHER, rounded),
        (later, SECRET, rounded),
        (version, SECRET, base | {"method": "small-cell-adjustment"}),
        (version, SECRET, rounded | {"options": {"base": 5}}),
        (version, SECRET, rounded | {"plain_keys": True}),
        (version, SECRET, rounded | {"zeros": 0.1}),
    ]
    editions = set()
    for of, secret, protection in cases:
        rules = policy(licensed=tier(protection, public=False))
        ledgers = Ledgers(of, rules, secret, Database.of("sqlite://"))
        editions.add(ledgers.edition(rules.default_tier))
    assert len(editions) == len(cases)


def test_official_detail_uses_its_look(version: Version) -> None:
    """720 cells of 4,000 people, published as counted: nothing else may show this detail."""
    rules = policy(
        public=tier(KEYS, space={"guard_below": 50, "looks": 1}),
        top={"benchmark_totals": ["a,b,c,g0"]},
    )
    ledger = releaser(version, rules).ledgers.of(rules.default_tier)
    assert [(e.route.asked.name, e.origin.value) for e in ledger.entries()] == [
        ("a,b,c,g0", "official")
    ]
    assert {look.left for look in ledger.looks()} == {0}


def test_each_tier_has_a_ledger_of_its_own(version: Version) -> None:
    guarded = {"space": {"guard_below": 50, "looks": 1}}
    rules = policy(public=tier(KEYS, **guarded), licensed=tier(KEYS, public=False, **guarded))
    answers = releaser(version, rules)
    fine = ask(version, "a,b,c,g0")
    answers.release(fine, tier="public")
    names = {t.id: answers.ledgers.of(t).entries() for t in rules.tiers.values()}
    assert len(names["public"]) == 1
    assert names["licensed"] == []
    assert answers.release(fine, tier="licensed")  # its own look
