"""Each attacker against a server that keeps its promises, and against planted faults."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import discreet as dc
from attacked import (
    ExactMargins,
    FilteredAreas,
    FreshNoise,
    LeakingRefusal,
    LittleNoise,
    Server,
    Sets,
)
from discreet.policy import BOUNDS
from discreet.study.attacks import ATTACKS, Attack, Finding
from discreet.study.attacks.differencing import Differencing
from discreet.study.attacks.editions import Leaver
from discreet.study.attacks.finding import Verdict, tried
from discreet.study.attacks.known import Membership, Reconstruction
from discreet.study.attacks.margins import Margins
from discreet.study.attacks.person import Unique
from discreet.study.attacks.presence import Equality, Somebody
from discreet.study.attacks.reading import Reading
from discreet.study.attacks.refusals import Refusals
from discreet.study.attacks.search import Search
from discreet.study.attacks.splits import Splits
from discreet.study.attacks.unions import AreaUnions, Unions
from discreet.study.attacks.withheld import WithheldAreas

# Never the limit: what is found must not depend on speed.
SECONDS = 600


def found(attack: Attack, server: Server, later: Server | None = None) -> Finding:
    target = server.target()
    if later is not None:
        target.edition = later.target()
    return tried(attack, target, np.random.default_rng(5), SECONDS)


SMALL = {
    Reading: Reading(),
    Unions: Unions("religion", unions=100, areas=60),
    AreaUnions: AreaUnions("religion", unions=60, cells=200),
    Margins: Margins(tables=1, areas=12),
    Splits: Splits("health", splits=30),
    Equality: Equality(tries=24, pairs=4),
    Unique: Unique(people=40, pairs=4),
    Somebody: Somebody(tries=25, pairs=3),
    Refusals: Refusals(tries=40, questions=3),
    WithheldAreas: WithheldAreas(tables=2, areas=5, pairs=3),
    Differencing: Differencing(categories=3, pairs=6),
    Leaver: Leaver(),
    Reconstruction: Reconstruction(people=20, questions=8),
    Membership: Membership(records=20, questions=8),
}


def test_every_attack_has_a_bound_in_the_policy() -> None:
    assert [attack.id for attack in ATTACKS] == list(BOUNDS)


def test_every_attack_is_tried_here() -> None:
    # The search needs more areas than there are here, and has a test of its own.
    assert {type(attack) for attack in ATTACKS} - {Search} == set(SMALL)


@pytest.mark.parametrize("kind", SMALL, ids=lambda kind: kind.__name__)
def test_nothing_is_learnt_beyond_the_bound_from_one_look_at_each_detail(
    kind: type, census: dc.Population, next_census: dc.Population
) -> None:
    # One table for each detail, and new keys with each edition. The interval may reach beyond the
    # bound, as there are few tries; it must not lie beyond it.
    finding = found(SMALL[kind], Server(census, looks=1), Server(next_census, looks=1, salt=9))
    assert finding.tries > 0
    assert finding.bound is None or finding.attack.low <= finding.bound
    if kind is Unique:
        assert finding.certain == 0


# Each fault, and the attack that finds it.
FAULTS = [
    (Sets, Unions), (Sets, AreaUnions), (Sets, Margins), (Sets, Equality), (Sets, Unique),
    (Sets, Differencing), (Sets, Leaver), (FreshNoise, Unions), (FreshNoise, AreaUnions),
    (ExactMargins, Margins), (LittleNoise, Reading), (FilteredAreas, WithheldAreas),
    (LeakingRefusal, Refusals),
]  # fmt: skip


@pytest.mark.parametrize(("fault", "kind"), FAULTS, ids=lambda it: it.__name__)
def test_a_planted_fault_is_found(
    fault: type[Server], kind: type, census: dc.Population, next_census: dc.Population
) -> None:
    finding = found(SMALL[kind], fault(census), fault(next_census))
    assert finding.verdict is Verdict.BEYOND, finding


def test_a_secret_that_is_reused_shows_who_left(
    census: dc.Population, next_census: dc.Population
) -> None:
    again = found(Leaver(), Server(census), Server(next_census))
    anew = found(Leaver(), Server(census), Server(next_census, salt=1))
    assert again.verdict is Verdict.BEYOND
    assert again.attack.low > anew.attack.high


def test_splits_sharpen_a_total_where_every_set_has_noise_of_its_own(
    census: dc.Population,
) -> None:
    finding = found(SMALL[Splits], Sets(census))
    assert finding.reading is not None
    assert finding.attack.value > finding.reading.value + 0.2
    assert finding.verdict is Verdict.TOLD  # nothing is held against it


def test_whoever_knows_all_others_learns_the_last_where_anything_may_be_asked(
    census: dc.Population,
) -> None:
    finding = found(SMALL[Reconstruction], Sets(census))
    assert finding.prior is not None
    assert finding.attack.value > finding.prior.value
    assert finding.certain_right == finding.certain > 0
    assert found(SMALL[Membership], Sets(census)).attack.value > 0.85


def test_a_certain_statement_about_a_person_is_beyond_any_bound(census: dc.Population) -> None:
    finding = found(SMALL[Unique], Sets(census))
    assert finding.certain == finding.certain_right > 0
    assert replace(finding, most=1.0).verdict is Verdict.BEYOND


def test_the_same_seed_finds_the_same(census: dc.Population) -> None:
    first, second = (found(SMALL[Unions], Sets(census)) for _ in range(2))
    assert first == second
