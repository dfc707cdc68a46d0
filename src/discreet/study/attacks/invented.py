"""Invented people of a schema: what is learnt of them may be told, for they are nobody.

Nothing here depends on a record or a count of the store, but on the schema and the size of the
population as the policy publishes it. People are of a few kinds; a kind has its own shares of every
variable, and areas have their own shares of kinds. So variables and areas are related, as they are
among real people, and small counts are as frequent.
"""

from __future__ import annotations

import hashlib
from dataclasses import astuple, dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError
from discreet.ledger.space import public_population
from discreet.policy import Place, Policy
from discreet.population import Schema, Version
from discreet.population.keys import Secret
from discreet.population.schema import Variable
from discreet.population.store import is_narrow
from discreet.release import Releaser
from discreet.study.attacks.target import Target
from discreet.tabulate import ScanEngine
from discreet.types import Floats, Integers

KINDS = 12


@dataclass(frozen=True)
class Spread:
    """How unlike each other invented people are: standard deviations, in logarithms.

    Of the shares of categories, of their differences between kinds, of those of kinds between
    areas, and of the sizes of areas. By these the largest category of a variable holds about half
    of the people, as in a census; benchmarks/spreads.py measures what depends on them.
    """

    categories: float = 2.0
    between: float = 0.6
    areas: float = 0.35
    sizes: float = 0.25

    def times(self, factor: float) -> Spread:
        """Return people who are more alike, or less."""
        return Spread(*(factor * deviation for deviation in astuple(self)))


USUAL = Spread()


def invented_target(version: Version, policy: Policy, seed: int, spread: Spread = USUAL) -> Target:
    """Return a target of invented people under a policy, with its next edition."""
    tier = policy.default_tier
    if tier.protection.place is not Place.OUTPUT:
        raise ParameterError(
            'population must be "own" in [attack] where records are protected before any table: '
            "invented ones are not."
        )
    people = public_population(tier.space, version.people)
    first = invent(version.schema, people, seed, version.modulus, spread)
    found, later = (
        Target.of(Releaser.alone(one, ScanEngine(one), policy, _secret(seed)))
        for one in (first, without_leavers(first, seed))
    )
    found.edition = later
    return found


def invent(
    schema: Schema, people: int, seed: int, modulus: int = 2**32, spread: Spread = USUAL
) -> Version:
    """Return a version of invented people, in memory alone; the same for the same seed."""
    rng = np.random.default_rng([seed, people])
    areas, starts, mixes = _areas(schema, people, spread, rng)
    kinds = _drawn(mixes, areas, rng)
    codes = [_drawn(_shares(v, spread, rng), kinds, rng) for v in schema.columns]
    narrow = [is_narrow(variable) for variable in schema.columns]
    keys = rng.integers(0, modulus, people, np.uint64).astype(np.uint32)
    manifest = {
        "modulus": modulus, "edition": 1, "files": {}, "created": "1970-01-01T00:00:00+00:00",
    }  # fmt: skip
    return Version(
        Path("invented"),
        manifest,
        schema,
        _stacked([c for c, small in zip(codes, narrow, strict=True) if small], people, np.uint8),
        _stacked([c for c, s in zip(codes, narrow, strict=True) if not s], people, np.uint16),
        _fixed(keys),
        None,
        starts,
    )


def without_leavers(version: Version, seed: int) -> Version:
    """Return the next edition: one person of every larger area has left."""
    geography = version.schema.geography
    version.held()
    if geography is None or version.areas is None:
        return version
    finest = geography.finest
    level = (geography.above(finest) or [finest])[0]
    starts, rng = version.area_starts(level), np.random.default_rng([seed, version.rows, 2])
    gone = [int(rng.integers(a, b)) for a, b in pairwise(starts) if b > a]
    before = np.searchsorted(np.sort(gone), version.areas)
    return replace(
        version,
        manifest={**version.manifest, "edition": 2},
        codes8=_fixed(np.delete(version.codes8, gone, axis=1)),
        codes16=_fixed(np.delete(version.codes16, gone, axis=1)),
        keys=_fixed(np.delete(version.keys, gone)),
        areas=version.areas - before,
    )


def _secret(seed: int) -> Secret:
    """Return a secret that everybody may know: it protects nobody."""
    return Secret(hashlib.blake2b(f"invented {seed}".encode(), digest_size=32).digest())


def _areas(
    schema: Schema, people: int, spread: Spread, rng: np.random.Generator
) -> tuple[Integers, NDArray[np.int64] | None, Floats]:
    """Return the area of each person, where each area begins, and the shares of kinds in areas."""
    national = rng.normal(0, 1, KINDS)
    geography = schema.geography
    if geography is None:
        return np.zeros(people, np.int64), None, _softmax(national[None, :])
    finest, mixes = geography.finest, np.tile(national, (len(geography.finest), 1))
    for level in geography.levels:
        mixes = mixes + rng.normal(0, spread.areas, (len(level), KINDS))[level.of]
    logs = rng.normal(0, spread.sizes, len(finest))
    sizes = rng.multinomial(people, _softmax(logs[None, :])[0])
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    return np.repeat(np.arange(len(finest)), sizes), starts, _softmax(mixes)


def _shares(variable: Variable, spread: Spread, rng: np.random.Generator) -> Floats:
    """Return the shares of the categories of a variable in each kind.

    Categories of one coarser category are alike, as the ages of a band are.
    """
    finest = variable.finest
    logs = np.zeros((KINDS, len(finest)))
    for level in variable.levels:
        part = 1 / np.sqrt(len(variable.levels))
        logs += part * rng.normal(0, spread.categories, len(level))[level.of]
        logs += part * rng.normal(0, spread.between, (KINDS, len(level)))[:, level.of]
    return _softmax(logs)


def _drawn(shares: Floats, rows: Integers, rng: np.random.Generator) -> Integers:
    """Return a category for each person, by the row of shares that holds for them."""
    ends = np.cumsum(shares, axis=1)
    ends[:, -1] = 1.0
    # One sorted list of all rows, each moved by its number: one search for all people.
    places = np.searchsorted(
        (ends + np.arange(len(ends))[:, None]).ravel(), rng.random(len(rows)) + rows, "right"
    )
    return np.asarray(np.minimum(places - rows * shares.shape[1], shares.shape[1] - 1), np.int64)


def _softmax(logs: Floats) -> Floats:
    found = np.exp(logs - logs.max(axis=1, keepdims=True))
    return np.asarray(found / found.sum(axis=1, keepdims=True))


def _stacked(columns: list[Integers], people: int, kind: type) -> NDArray[Any]:
    return _fixed(np.array(columns, kind).reshape(len(columns), people))


def _fixed(values: NDArray[Any]) -> NDArray[Any]:
    """Return values of one type with mapped columns, for the kernels."""
    held = np.ascontiguousarray(values)
    held.setflags(write=False)
    return held
