"""Zeros that may move, and those that may not."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from discreet.errors import ParameterError
from discreet.policy import Policy, parse_policy
from discreet.population import Version
from discreet.population.keys import Secret
from discreet.release import Releaser
from discreet.tabulate import ScanEngine
from populations import ask, make_version

SECRET = Secret(bytes(32))
LENIENT = {
    "minimum_population": 1, "minimum_mean": 0, "max_small": 1, "max_ones_of_populated": 1,
    "max_small_of_populated": 1, "max_single_lines": 1,
}  # fmt: skip


def policy(**protection: Any) -> Policy:
    tier = {"counts": LENIENT, "protection": protection, "risk": {"maximum": 1}}
    return parse_policy({"version": "t", "tiers": {"public": tier}}, "policy", "policy")


@pytest.fixture(scope="module")
def version() -> Version:
    """300 people in 20 x 30 x 12 cells: nearly all are empty."""
    made = make_version(np.random.default_rng(3), 300, [20, 30, 12])
    made.manifest["created"] = "2026-01-05T10:15:00+00:00"
    return made


def test_a_share_of_the_zeros_moves_as_a_one_would(version: Version) -> None:
    rules = policy(method="random-rounding", zeros=0.1, published=True)
    release = Releaser.alone(version, ScanEngine(version), rules, SECRET).release(
        ask(version, "a,b,c")
    )
    true = np.asarray(ScanEngine(version).tabulate(ask(version, "a,b,c")).dense().counts)
    empty = true == 0
    moved = release.table.values[empty]
    assert set(np.unique(moved).tolist()) == {0, 3}  # a one becomes 0 or 3
    # 6,900 zeros at 10%: five standard deviations are 1.8%.
    assert abs((moved > 0).mean() - 0.1) < 0.018
    assert (release.table.low == 0)[release.table.values == 3].all()
    # The same again, and in the other order of variables.
    again = Releaser.alone(version, ScanEngine(version), rules, SECRET).release(
        ask(version, "c,b,a")
    )
    assert np.array_equal(again.table.values.T, release.table.values)


def test_impossible_cells_stay_zero(version: Version) -> None:
    true = np.asarray(ScanEngine(version).tabulate(ask(version, "a,b")).dense().counts)
    a, b = (int(i[0]) for i in np.nonzero(true == 0))
    schema = replace(version.schema, impossible=(f"a=a{a},b=b{b}",))
    declared = replace(version, schema=schema)
    rules = policy(method="random-rounding", zeros=0.5)
    table = (
        Releaser.alone(declared, ScanEngine(declared), rules, SECRET)
        .release(ask(declared, "a,b,c"))
        .table
    )
    assert not table.values[a, b].any()
    other = (
        Releaser.alone(version, ScanEngine(version), rules, SECRET)
        .release(ask(version, "a,b,c"))
        .table
    )
    assert other.values[a, b].any()


def test_a_policy_says_how_many_zeros_may_move() -> None:
    with pytest.raises(ParameterError, match=r"zeros must be a number from 0 to 0\.5"):
        policy(method="random-rounding", zeros=0.7)
    tier = {"public": False, "protection": {"method": "sampling", "options": {"fraction": 0.5},
            "margins": "none", "zeros": 0.1, "published": True}}  # fmt: skip
    with pytest.raises(ParameterError, match="zeros must be 0 with the method 'sampling'"):
        parse_policy({"tiers": {"safe": tier}}, "policy", "policy")
