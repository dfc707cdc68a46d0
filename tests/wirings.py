"""Policies and populations for tests of a release put together.

Each test in unit/release/test_wiring_* fails on a fault that the tests of the parts cannot see. The
faults are in `scripts/mutants/faults.txt`; where noise decides, it is seen not to be zero first.
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from discreet.errors import QueryRefused
from discreet.policy import Policy, parse_policy
from discreet.population import Schema, Variable, Version
from discreet.population.keys import Secret
from discreet.population.names import GEOGRAPHY
from discreet.release import Releaser
from discreet.tabulate import ScanEngine
from populations import ask, level

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


def is_released(answers: Releaser, question: Any) -> bool:
    try:
        answers.release(question)
    except QueryRefused:
        return False
    return True
