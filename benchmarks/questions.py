"""What the rule on lines refuses: 200 ordinary questions on the synthetic census.

    python benchmarks/questions.py [--persons 1500000] [--folder var/bench]

Every question goes through the whole release under each public preset, once with each form of
the rule in the place of the one in use: none, by planes (everything at one category of a variable,
as it was before), by the share of lines alone, by the share of people alone, and by both.
Questions, people and keys are those of fixed seeds, so the figures can be had again.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from unittest.mock import patch

import numpy as np
from asking import VARIABLES
from numpy.typing import NDArray
from report import BENCH, table, write_section

from discreet.build import build
from discreet.errors import QueryRefused
from discreet.policy import Place, Policy, read_preset
from discreet.population import Schema, Store
from discreet.population.keys import Secret
from discreet.query import Query, Question
from discreet.release import Releaser
from discreet.risk.attribute import near_empty_lines
from discreet.rules import counts
from discreet.synth import write
from discreet.tabulate import ScanEngine

NUMBER, SEED = 200, 2015
PRESETS = ("rounding-3", "cell-keys", "swapping-and-light-keys")
NAMES = (*VARIABLES, "age", "country_of_birth")
WIDTHS, OFTEN = (1, 2, 3, 4), (2, 4, 3, 1)
AREAS = ("", "", "region", "la", "ward")
# The output tables of the paper: the question and what it is limited to.
OUTPUT = {
    "1": ("age_band,education,occupation", "nuts2=1"),
    "2": ("sex,age_band,citizenship", "nuts2=2"),
    "3": ("activity,occupation,education", "sex=1"),
    "4": ("nuts2,occupation,education", "age_band=10"),
}

Tables = NDArray[np.int64]
Shares = NDArray[np.float64]


def planes(tables: Tables) -> Shares:
    """Return the share of planes with one populated cell: the rule before there were lines."""
    worst = np.zeros(len(tables))
    for axis in range(1, tables.ndim):
        others = tuple(a for a in range(1, tables.ndim) if a != axis)
        if others and tables[0].size > tables.shape[axis]:
            held = (tables > 0).sum(axis=others)
            worst = np.maximum(worst, (held == 1).sum(1) / np.maximum((held > 0).sum(1), 1))
    return worst


def largest(which: int) -> Callable[[Tables], Shares]:
    """Return the rule by the share of lines (0) or of people (1) alone."""

    def worst(tables: Tables) -> Shares:
        found = [shares[which] for shares in near_empty_lines(tables).values()]
        return np.max([np.zeros(len(tables)), *found], axis=0)

    return worst


FORMS = {
    "no rule": lambda tables: np.zeros(len(tables)),
    "planes": planes,
    "lines": largest(0),
    "people": largest(1),
    "in use": counts._single_lines,
}


@dataclass(frozen=True)
class Answer:
    """Whether a question is answered, and for how many of its areas (none without areas)."""

    code: str | None
    free: int
    areas: int


def questions(schema: Schema) -> list[tuple[str, str | None]]:
    """Return ordinary questions: some variables, often areas, sometimes a filter."""
    rng = random.Random(SEED)
    found: dict[tuple[str, str | None], None] = {}
    while len(found) < NUMBER:
        names = rng.sample(NAMES, rng.choices(WIDTHS, OFTEN)[0])
        if "age" in names and "age_band" in names:
            continue
        area, where = rng.choice(AREAS), None
        if rng.random() < 1 / 3:
            other = rng.choice([name for name in VARIABLES if name not in names])
            if other == "age_band" and "age" in names:
                continue
            where = f"{other}={rng.choice(schema.find(other)[1].codes)}"
        found[",".join([area] * bool(area) + names), where] = None
    return list(found)


def policy(name: str) -> Policy:
    """Return a preset whose protection happens on output: the store here was not swapped."""
    preset = read_preset(name)
    tier = preset.default_tier
    tier = replace(tier, protection=replace(tier.protection, place=Place.OUTPUT))
    return replace(preset, tiers={tier.id: tier})


def answer(releaser: Releaser, by: str, where: str | None) -> Answer:
    """Return what becomes of a question."""
    try:
        release = releaser.release(Question.of(Query.parse(by, where), releaser.version.schema))
    except QueryRefused as refusal:
        return Answer(str(refusal.code), 0, 0)
    return Answer(None, release.areas - len(release.withheld), release.areas)


def prepare(persons: int, folder: Path) -> Store:
    """Return a store of a synthetic census with a known secret, made once."""
    place = folder / f"questions-{persons}"
    store = Store(place / "store")
    if store.current() is None:
        store.path.mkdir(parents=True, exist_ok=True)
        Secret(bytes(32)).write(store.secret)
        write(persons, place / "census", 1, None, lambda more: None)
        build(place / "census" / "dataset.toml", store.path)
    return store


Found = dict[str, dict[str, list[Answer]]]


def measured(store: Store, asked: list[tuple[str, str | None]]) -> Found:
    """Return the answers by preset and form of the rule."""
    version = store.open()
    engine = ScanEngine(version)
    found: Found = {}
    for preset in PRESETS:
        releaser = Releaser(version, engine, policy(preset), Secret.read(store.secret), None)
        found[preset] = {}
        for form, rule in FORMS.items():
            with (
                patch.object(counts, "_single_lines", rule),
                patch.object(Releaser, "_hints", lambda *given: ()),
            ):
                found[preset][form] = [answer(releaser, by, where) for by, where in asked]
    return found


def output_lines(store: Store) -> list[list[str]]:
    """Return the four output tables: their shares before protection, and what becomes of them."""
    version = store.open()
    engine = ScanEngine(version)
    rows = []
    for name, (by, where) in OUTPUT.items():
        question = Question.of(Query.parse(by, where), version.schema)
        true = np.asarray(engine.tabulate(question).dense().counts, np.int64)
        tables = true if question.axes[0].variable.is_geography else true[None]
        shares = [float(largest(which)(tables).max()) for which in (0, 1)]
        told = []
        for preset in PRESETS:
            releaser = Releaser(version, engine, policy(preset), Secret.read(store.secret), None)
            told.append(answer(releaser, by, where).code or "answered")
        rows.append([f"{name}: `{by}`, {where}", *(f"{share:.2f}" for share in shares), *told])
    return rows


def report(store: Store, asked: list[tuple[str, str | None]]) -> str:
    """Return the section of the page."""
    found = measured(store, asked)
    forms = list(FORMS)
    return f"""## What the rule on lines refuses

{len(asked)} ordinary questions on a synthetic census of {store.open().rows:,} people: one to four
variables, three in five by region, local authority or ward, a third with a filter; drawn by a fixed
seed. Each goes through the whole release of the public tier with one form of the rule: none; by
*planes* (everything at one category of a variable), as it was before; by the share of *lines* with
one populated cell alone; by the share of *people* in them alone; and by the larger of both, which
is *in use*. The limit is 0.50. `swapping-and-light-keys` ran on data that were not swapped.

Questions answered:

{table(["preset", *forms], [[p, *(_answered(found[p][f]) for f in forms)] for p in PRESETS])}

Areas shown, of the areas of those questions that are answered without the rule:

{table(["preset", *forms], [[p, *(_areas(found[p], f) for f in forms)] for p in PRESETS])}

Answered by planes and refused now, or with fewer areas:

{_changed(asked, found)}

Many of them have travel to work in them: people who do not work do not travel to work. The
rule does not know that such cells are impossible.

The output tables of [Shlomo2015, §5]: the largest share of lines with one populated cell and of
people in them, in the true table, and the answer:

{table(["table", "lines", "people", *PRESETS], output_lines(store))}
"""


def _answered(answers: list[Answer]) -> str:
    return f"{sum(a.code is None for a in answers)}"


def _areas(by_form: dict[str, list[Answer]], form: str) -> str:
    every = sum(a.areas for a in by_form["no rule"])
    return f"{sum(a.free for a in by_form[form]):,} of {every:,}"


def _changed(asked: list[tuple[str, str | None]], found: Found) -> str:
    """Return a table of the questions for which the rule in use refuses more than planes did."""
    rows = []
    for i, (by, where) in enumerate(asked):
        cells = [_change(found[p]["planes"][i], found[p]["in use"][i]) for p in PRESETS]
        if any(cells):
            rows.append([f"`{by}`" + (f", {where}" if where else ""), *cells])
    return table(["question", *PRESETS], rows)


def _change(old: Answer, new: Answer) -> str:
    if old.code is None and new.code is not None:
        return "refused"
    return f"{old.free:,} → {new.free:,} areas" if old.free != new.free else ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--persons", type=int, default=1_500_000)
    parser.add_argument("--folder", type=Path, default=BENCH)
    options = parser.parse_args()
    store = prepare(options.persons, options.folder)
    write_section("questions", report(store, questions(store.open().schema)))


if __name__ == "__main__":
    main()
