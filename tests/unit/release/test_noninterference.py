"""The test that matters: nothing public depends on true counts but through the released figures.

Two populations have different true counts; their record keys are chosen so that every figure that
the program releases of them is equal. Then everything a reader can see must be equal too.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from discreet.errors import QueryRefused
from discreet.policy import Policy, parse_policy
from discreet.population import Schema, Variable, Version
from discreet.population.keys import Secret
from discreet.protect import KeyMix, RandomRounding
from discreet.release import Hint, Releaser
from discreet.release.complete import counted, judged, protected
from discreet.tabulate import ScanEngine
from populations import ask, level

SECRET = Secret(bytes(range(32)))
SHAPE = (4, 3, 2)  # areas, a, b
ONE = np.array(
    [
        [[40, 31], [12, 55], [28, 17]],
        [[22, 14], [61, 19], [33, 27]],
        [[1, 0], [2, 0], [0, 1]],
        [[18, 44], [25, 13], [51, 30]],
    ]
)


def population(counts: NDArray[np.int64], keys: NDArray[np.int64]) -> Version:
    """A hypercube in memory: one row a cell, rows in the order of the areas."""
    areas, a, b = np.indices(SHAPE).reshape(3, -1)
    codes = np.array([a, b], np.uint8)
    held = counts.reshape(-1).astype(np.uint32)
    row_keys = keys.reshape(-1).astype(np.uint32)
    none = np.empty((0, held.size), np.uint16)
    for array in (codes, held, row_keys, none):
        array.setflags(write=False)
    geography = Variable(
        "geography", "Geography", (level("ward", 4), level("town", 2, np.array([0, 0, 1, 1])))
    )
    schema = Schema(
        "made-up",
        "A made-up population",
        "persons",
        (
            Variable("a", "A", (level("a", 3), level("a_half", 2, np.array([0, 0, 1])))),
            Variable("b", "B", (level("b", 2),)),
            geography,
        ),
    )
    starts = np.searchsorted(areas, np.arange(5)).astype(np.int64)
    manifest = {"modulus": 2**32, "hypercube": True, "created": "2026-01-05T10:15:00+00:00"}
    return Version(Path("v1"), manifest, schema, codes, none, row_keys, held, starts)


def around(cell: tuple[int, int, int]) -> list[NDArray[np.bool_]]:
    """The cells behind every figure that a cell is part of: its areas, levels and totals."""
    ward, a, b = np.indices(SHAPE)
    areas = [ward == cell[0], ward // 2 == cell[0] // 2, np.ones(SHAPE, bool)]
    groups = [a == cell[1], a // 2 == cell[1] // 2, np.ones(SHAPE, bool)]
    sides = [b == cell[2], np.ones(SHAPE, bool)]
    return [x & y & z for x in areas for y in groups for z in sides]


def released(
    counts: NDArray[np.int64], keys: NDArray[np.int64], of: NDArray[np.bool_]
) -> NDArray[np.int64]:
    """A figure of a population under many keys: the last axis of `keys` are the trials."""
    sums = keys[of].sum(axis=0) % 2**32
    people = np.full(sums.shape, counts[of].sum())
    return np.asarray(RandomRounding(3).apply(people, KeyMix(SECRET.value).uniforms(sums)))


def another(
    counts: NDArray[np.int64], keys: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """A population with other counts in three cells, and keys under which no figure differs.

    Only figures that a changed cell is part of can change, 18 for each; a key that keeps all of
    them is found by trying a million.
    """
    rng = np.random.default_rng(1)
    counts, keys = counts.copy(), keys.copy()
    changed = 0
    for cell in np.ndindex(SHAPE):
        for step in (1, -1):
            if changed == 3 or counts[cell] + step < 1 or counts[cell] == 0:
                continue
            other = counts.copy()
            other[cell] += step
            trials = np.repeat(keys[..., None], 2**20, axis=-1)
            trials[cell] = rng.integers(0, 2**32, 2**20)
            fits = np.ones(2**20, bool)
            for of in around(cell):
                fits &= released(other, trials, of) == released(counts, keys[..., None], of)
            if fits.any():
                counts, keys = other, trials[..., int(np.argmax(fits))]
                changed += 1
                break
    assert changed == 3
    return counts, keys


@pytest.fixture(scope="module")
def versions() -> tuple[Version, Version]:
    keys = np.random.default_rng(0).integers(0, 2**32, SHAPE)
    return population(ONE, keys), population(*another(ONE, keys))


def policy(**rules: Any) -> Policy:
    counts = {
        "minimum_population": 30, "minimum_mean": 1, "one": 3, "small": 3, "max_small": 0.9,
        "max_ones_of_populated": 0.9, "max_small_of_populated": 0.9, "max_single_lines": 1,
    }  # fmt: skip
    tier = {
        "counts": counts | rules,
        "protection": {"method": "random-rounding", "options": {"base": 3}, "published": True},
        "risk": {"maximum": 0.5},
    }
    return parse_policy({"version": "t", "tiers": {"public": tier}}, "policy", "policy")


def told(hint: Hint) -> list[Any]:
    return [hint.text, hint.by, hint.where]


def seen(version: Version, rules: Policy, by: str, where: str | None, totals: str) -> str:
    """Everything a reader sees of an answer, as bytes would carry it."""
    releaser = Releaser.alone(version, ScanEngine(version), rules, SECRET, None)
    try:
        release = releaser.release(ask(version, by, where), totals)
    except QueryRefused as refusal:
        return json.dumps([refusal.code, str(refusal), list(map(told, refusal.hints))])
    return json.dumps(release.as_dict())


QUESTIONS = [
    ("ward,a,b", None, "protected"),
    ("a,b", None, "none"),
    ("town,a_half", "b=b1", "none"),
    ("b,a", "ward=ward3", "protected"),
    ("a,ward", "ward=ward2", "none"),
    ("a,ward", "ward=ward0|ward1", "protected"),
    ("a", "ward=ward2", "none"),
]


@pytest.mark.parametrize(("by", "where", "totals"), QUESTIONS)
@pytest.mark.parametrize(
    "rules", [{}, {"minimum_population": 150}, {"minimum_population": 10_000}, {"max_small": 0}]
)
def test_equal_released_figures_give_equal_bytes(
    versions: tuple[Version, Version],
    by: str,
    where: str | None,
    totals: str,
    rules: dict[str, Any],
) -> None:
    one, other = versions
    assert not np.array_equal(one.counts, other.counts)
    assert seen(one, policy(**rules), by, where, totals) == seen(
        other, policy(**rules), by, where, totals
    )


def test_the_answers_are_not_all_alike(versions: tuple[Version, Version]) -> None:
    """The cases above hold releases, refusals and withheld areas, so that equality tells."""
    kinds = set()
    for by, where, totals in QUESTIONS:
        for rules in ({}, {"minimum_population": 150}, {"minimum_population": 10_000}):
            text = seen(versions[0], policy(**rules), by, where, totals)
            refused = text.startswith("[")
            kinds.add("refused" if refused else "released")
            if not refused and json.loads(text)["withheld"]:
                kinds.add("withheld")
    assert kinds == {"refused", "released", "withheld"}


def test_the_record_differs_and_is_nowhere_in_what_is_seen(
    versions: tuple[Version, Version],
) -> None:
    records = []
    for version in versions:
        releaser = Releaser.alone(version, ScanEngine(version), policy(), SECRET, None)
        release = releaser.release(ask(version, "a,b"))
        assert release.record is not None
        records.append(release.record)
        shown = json.dumps(release.as_dict()) + repr(release)
        for figure in (release.record.risk_before, release.record.risk_after):
            assert f"{figure}"[:8] not in shown
    assert records[0].risk_before != records[1].risk_before


def test_no_step_shows_its_counts(versions: tuple[Version, Version]) -> None:
    """A value that is logged by mistake says nothing of the people in it."""
    releaser = Releaser.alone(versions[0], ScanEngine(versions[0]), policy(), SECRET, None)
    allowed = releaser.check(ask(versions[0], "a,b"))
    step = counted(allowed.making(allowed.of), releaser.engine)
    figures = protected(step, SECRET)
    for value in (step, figures, judged(figures)):
        assert "array" not in repr(value)
