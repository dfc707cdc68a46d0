"""Official figures are as counted; all others have noise that only the secret draws."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from discreet.policy import Policy
from discreet.population import Version
from discreet.query import QuestionClass
from discreet.release.protection import protect
from discreet.release.steps import Making
from discreet.table import CountTable, Dimension
from populations import ask
from wirings import (
    KEYS,
    OTHER,
    ROUNDED,
    SECRET,
    WHOLE,
    counts,
    policy,
    public,
    releaser,
    tier,
)


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
    for by in ("a,b,c", "b", "a", "g1"):  # more than it, beside it, and its two parts
        got = releaser(version, rules).release(ask(version, by)).table.values
        assert (got != counts(version, by)).any()


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
