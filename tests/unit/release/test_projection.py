"""Answers are slices and sums of complete tables; brute force over the records is the judge."""

from __future__ import annotations

from collections import Counter
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet.errors import QueryRefused
from discreet.policy import Policy, parse_policy
from discreet.policy.read import policy_values
from discreet.population import Version
from discreet.population.keys import Secret
from discreet.release import Releaser
from discreet.tabulate import ScanEngine
from discreet.tabulate.engine import Places
from populations import ask, make_version, records

SECRET = Secret(bytes(range(32)))
LENIENT = {
    "minimum_population": 1, "minimum_mean": 0, "max_small": 1, "max_ones_of_populated": 1,
    "max_small_of_populated": 1, "max_single_lines": 1,
}  # fmt: skip
QUESTIONS = [
    ("a", None),
    ("b,a", "c=c1|c3"),
    ("g1,a", "g0=g00|g03|g07"),  # larger areas, of which only parts are picked
    ("c", "g0=g00|g05|g011"),  # areas chosen by hand
    ("a_half,c", "a=a0|a2"),
    ("g0,b", "g1=g11"),
    ("b", "b=b1|b2,a_half=a_half0"),
]


@pytest.fixture(scope="module")
def version() -> Version:
    made = make_version(np.random.default_rng(5), 3000, [5, 4, 5], [12, 3])
    made.manifest["created"] = "2026-01-05T10:15:00+00:00"
    return made


def keyed(published: bool = True, **more: Any) -> Policy:
    """Every figure of a count above 2 moves by up to 2."""
    protection = {
        "method": "cell-key-perturbation", "options": {"bound": 2, "variance": 1},
        "published": published, **more,
    }  # fmt: skip
    tier = {"counts": LENIENT, "protection": protection, "risk": {"maximum": 1},
            "space": {"guard_below": 100, "looks": 2}}  # fmt: skip
    return parse_policy({"version": "t", "tiers": {"public": tier}}, "policy", "policy")


def alone(version: Version, rules: Policy) -> Releaser:
    return Releaser.alone(version, ScanEngine(version), rules, SECRET)


@pytest.mark.parametrize("totals", ["none", "summed"])
@pytest.mark.parametrize(("by", "where"), QUESTIONS)
def test_without_noise_every_answer_is_the_count(
    version: Version, by: str, where: str | None, totals: str
) -> None:
    rules = parse_policy(policy_values("preset:synthetic-only", Path()), "p", "p")
    table = alone(version, rules).release(ask(version, by, where), totals).table
    names = by.split(",")
    picked = [part.split("=") for part in (where or "").split(",") if part]
    counted: Counter[tuple[str, ...]] = Counter()
    for record in records(version):
        if all(record[name] in codes.split("|") for name, codes in picked):
            choices = [(record[name], "_T") if totals == "summed" else (record[name],)
                       for name in names]  # fmt: skip
            counted.update(product(*choices))
    for index in np.ndindex(table.shape):
        codes = tuple(d.codes[i] for d, i in zip(table.dimensions, index, strict=True))
        assert table.values[index] == counted[codes]


@pytest.mark.parametrize(("by", "where"), QUESTIONS)
def test_every_figure_is_the_sum_of_published_ones(
    version: Version, by: str, where: str | None
) -> None:
    answers = alone(version, keyed())
    release = answers.release(ask(version, by, where))
    source = answers.release(ask(version, release.provenance.table))
    assert source.table.parts is None
    levels = release.provenance.table.split(",")
    sums: Counter[tuple[str, ...]] = Counter()
    parts: Counter[tuple[str, ...]] = Counter()
    for index in np.ndindex(source.table.shape):
        shown = (d.codes[i] for d, i in zip(source.table.dimensions, index, strict=True))
        codes = dict(zip(levels, shown, strict=True))
        place = _place(version, codes, by.split(","), where)
        if place is not None:
            sums[place] += int(source.table.values[index])
            parts[place] += 1
    for index in np.ndindex(release.table.shape):
        codes_at = tuple(d.codes[i] for d, i in zip(release.table.dimensions, index, strict=True))
        assert release.table.values[index] == sums[codes_at]
        if release.table.parts is not None:
            assert release.table.parts[index] == parts[codes_at]
        else:
            assert parts[codes_at] == 1


def _place(
    version: Version, codes: dict[str, str], names: list[str], where: str | None
) -> tuple[str, ...] | None:
    """Where a cell of the complete table goes in the answer, None for nowhere."""
    finest = {}
    for name, code in codes.items():
        variable, level = version.schema.find(name)
        finest[variable.id] = (variable, int(level.member[level.index(code)]))

    def said(name: str) -> str:
        variable, i = finest[version.schema.find(name)[0].id]
        level = variable.level(name)
        return level.codes[int(level.of[i])]

    picked = [part.split("=") for part in (where or "").split(",") if part]
    if not all(said(name) in texts.split("|") for name, texts in picked):
        return None
    return tuple(map(said, names))


@pytest.mark.parametrize(("by", "where"), QUESTIONS)
@pytest.mark.parametrize("totals", ["none", "protected"])
def test_ranges_of_sums_hold_the_true_counts(
    version: Version, by: str, where: str | None, totals: str
) -> None:
    table = alone(version, keyed()).release(ask(version, by, where), totals).table
    true = np.asarray(ScanEngine(version).tabulate(ask(version, by, where)).counts, np.int64)
    assert table.low is not None
    assert table.high is not None
    inner = table.inner
    assert (table.low[inner] <= true).all()
    assert (true <= table.high[inner]).all()
    if table.off_at_most is not None:
        assert table.parts is not None
        assert np.array_equal(table.off_at_most, 2 * table.parts)
        assert (np.abs(table.values[inner] - true) <= table.off_at_most[inner]).all()
        assert table.off_90 is not None
        assert (table.off_90 <= table.off_at_most).all()


def test_what_is_not_published_is_not_told_of_sums(version: Version) -> None:
    table = alone(version, keyed(published=False)).release(ask(version, "c", "g0=g00|g05")).table
    assert table.parts is not None
    assert table.off_at_most is None
    assert table.off_90 is None
    assert table.low is None


def test_a_union_has_no_noise_of_its_own(version: Version) -> None:
    """All pairs of areas: each is the sum of the two, so that asking more tells nothing more."""
    answers = alone(version, keyed())
    single = answers.release(ask(version, "g0,a")).table.values
    for i in range(12):
        for j in range(i):
            union = answers.release(ask(version, "a", f"g0=g0{i}|g0{j}")).table
            assert np.array_equal(union.values, single[i] + single[j])


def test_a_sum_over_a_withheld_area_is_withheld(version: Version) -> None:
    people = np.diff(version.area_starts(version.schema.find("g0")[1]))
    limit = int(np.median(people))
    tier = {"counts": LENIENT | {"minimum_population": limit}, "risk": {"maximum": 1}}
    rules = parse_policy({"version": "t", "tiers": {"public": tier}}, "policy", "policy")
    answers = alone(version, rules)
    whole = answers.release(ask(version, "g0,a"))
    gone = {area.code for area in whole.withheld}
    assert gone
    for i in range(12):
        code = f"g0{i}"
        other = "g011" if code != "g011" else "g010"
        question = ask(version, "a", f"g0={code}|{other}")
        if code in gone or other in gone:
            with pytest.raises(QueryRefused) as refusal:
                answers.release(question)
            assert refusal.value.code == "NOT_AVAILABLE"
        else:
            assert answers.release(question)


def test_totals_of_guarded_detail_are_sums_and_others_are_their_own(version: Version) -> None:
    """3,000 people: g0 by a is 50 a cell, g0 is 250, a is 600: totals are not guarded."""
    answers = alone(version, keyed())
    table = answers.release(ask(version, "g0,a"), "protected").table
    assert table.parts is None
    # g0 by a by c is 10 a cell; g0 by a (50), g0 by c (50) are guarded, a by c (120) is not.
    deep = answers.release(ask(version, "g0,a,c"), "protected").table
    assert deep.parts is not None
    assert deep.parts[0, 0, -1] == 5
    assert deep.parts[0, -1, 0] == 5
    assert deep.parts[-1, 0, 0] == 1
    assert deep.values[0, 0, -1] == deep.values[0, 0, :-1].sum()
    assert deep.parts[0, -1, -1] == 1


def test_the_total_of_all_people_is_a_figure_of_its_own(version: Version) -> None:
    """Under the limit on the risk of a preset: one cell holds everybody, which is no risk."""
    rules = parse_policy(policy_values("preset:rounding-3", Path()), "p", "p")
    table = alone(version, rules).release(ask(version, "a,b"), "protected").table
    assert table.parts is None
    assert abs(int(table.values[-1, -1]) - 3000) <= 2


@pytest.mark.parametrize(
    ("place", "length", "wanted"),
    [
        ([0, 1, 2], 3, [1, 2, 3]),
        ([2, 1, 0], 3, [3, 2, 1]),
        ([-1, 0, -1], 1, [2]),
        ([0, 0, 1], 2, [3, 3]),
        ([1, -1, 1], 3, [0, 4, 0]),
    ],
)
def test_adding_up_along_an_axis(place: list[int], length: int, wanted: list[int]) -> None:
    values = np.array([1, 2, 3])
    assert Places(np.array(place), length).added_up(values, 0).tolist() == wanted
    both = Places(np.array(place), length).added_up(np.stack([values, 10 * values], axis=1), 0)
    assert both[:, 1].tolist() == [10 * n for n in wanted]
