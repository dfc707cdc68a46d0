"""Two published studies of protection, repeated on synthetic people; writes into docs/pretabular.md.

Longhurst, Tromans and Young (2007) compare rounding, random and targeted swapping and cell keys
on two tables of one estimation area. Shlomo (2010) compares stochastic perturbation, rounding and
swapping on a hypercube. Their data are not public, so what can be compared is the order of the
methods on each measure, and the size of each figure.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet import protect, risk, utility
from discreet.build.synth.geography import Geography, lay_out
from discreet.build.synth.variables import IDS
from discreet.build.synth.writer import draw
from discreet.protect import RecordSwapping, lookup
from discreet.protect.swapping import (
    combined,
    composition,
    in_small_cells,
    numbered,
    of_households,
)

ROOT = Path(__file__).parents[1]
PUBLISHED = ROOT / "tests" / "published"
PAGE = ROOT / "docs" / "pretabular.md"
SEED = 2007
PERSONS, AREAS, WARDS, AUTHORITIES = 437_744, 1_487, 70, 3
RATE = 0.1
# In print 0.651 of the records in small cells are neither swapped nor imputed after a random swap
# of a tenth, so 0.651/0.9 = 0.72 were not imputed; after the targeted one 0.506, so 0.30 of those
# were swapped. With some 7% of households flagged, 0.085 of the others then move, and
# ln(1 − 0.30)/ln(1 − 0.085) = 4.0 is the ratio of the chances of having a turn.
ODDS = 4.0
METHODS = ("rounding", "random swap", "targeted swap", "cell keys")
OURS = "at risk first"
Table = NDArray[np.int64]


@dataclass(frozen=True)
class Town:
    """The people of the synthetic estimation area."""

    codes: dict[str, NDArray[np.uint8]]  # from 0
    household: NDArray[np.int32]
    households: int
    home: NDArray[np.int64]  # output area of each household
    ward: NDArray[np.int64]  # of each output area
    authority: NDArray[np.int64]  # of each output area
    hard_to_count: NDArray[np.uint8]  # of each output area
    keys: NDArray[np.uint64]

    @property
    def persons(self) -> int:
        return len(self.household)

    def columns_a(self) -> list[tuple[NDArray[Any], int]]:
        return [(self.codes["religion"], 9), (self.codes["sex"], 2), (self.codes["broad"], 3)]

    def columns_b(self) -> list[tuple[NDArray[Any], int]]:
        return [(self.codes["activity"], 9), (self.codes["sex"], 2), (self.codes["illness"], 2)]

    @property
    def working(self) -> NDArray[np.bool_]:
        """Those of 16 to 74, the people of table B."""
        return (self.codes["age"] >= 16) & (self.codes["age"] <= 74)

    def tables(self, home: NDArray[np.int64]) -> tuple[Table, Table]:
        """Tables A and B if households live in these output areas."""
        area = home[self.household]
        a = _count([(area, AREAS), *self.columns_a()]).reshape(AREAS, 9, 6)
        there = self.working
        columns = [(self.ward[area][there], WARDS), *((c[there], n) for c, n in self.columns_b())]
        return a, _count(columns).reshape(WARDS, 9, 2, 2)


def _count(columns: list[tuple[NDArray[Any], int]]) -> Table:
    cells, size = combined(columns, len(columns[0][0]))
    return np.bincount(cells, minlength=size)


def people(geography: Geography, seed: int) -> tuple[Any, dict[str, NDArray[np.uint8]]]:
    """The block of all people, and their codes from 0."""
    block = draw(geography, seed, 0, geography.size)
    codes = dict(zip(IDS, block.columns, strict=True))
    return block, {name: c if name == "age" else c - np.uint8(1) for name, c in codes.items()}


def town(seed: int = SEED) -> Town:
    """1,487 output areas in 70 wards and 3 authorities, as many people as in print."""
    geography = lay_out(PERSONS, seed)
    if geography.size != AREAS:
        raise SystemExit(f"{AREAS} output areas are needed. There are {geography.size}.")
    block, codes = people(geography, seed)
    age, work = codes["age"], codes["activity"]
    codes["broad"] = (age >= 16).astype(np.uint8) + (age >= 65)
    # Nine kinds of activity: those in work by six groups of occupations, and three others.
    codes["activity"] = np.where(work == 0, codes["occupation"] // 2, work + 5).astype(np.uint8)
    household, ids = numbered(block.household)
    home = np.zeros(len(ids), np.int64)
    home[household] = block.oa - 1
    ward = np.arange(AREAS) * WARDS // AREAS
    keys = np.random.default_rng(seed).integers(2**64, size=len(ids), dtype=np.uint64)
    return Town(
        codes,
        household,
        len(ids),
        home,
        ward,
        ward * AUTHORITIES // WARDS,
        geography.deprived,
        keys,
    )


def flagged(people: Town) -> NDArray[np.bool_]:
    """Households with a member in a cell of 1 or 2 of table A or B."""
    area = people.home[people.household]
    small = in_small_cells([(area, AREAS), *people.columns_a()], people.persons, 3)
    there = np.flatnonzero(people.working)
    columns = [(people.ward[area][there], WARDS)]
    columns += [(c[there], n) for c, n in people.columns_b()]
    small[there] |= in_small_cells(columns, len(there), 3)
    return of_households(people.household, people.households, small)


def swaps(people: Town) -> dict[str, protect.swapping.Swapped]:
    """The swaps of the study: a tenth of the households, within authorities."""
    members = composition(
        people.household, people.households, [(people.codes["sex"], 2), (people.codes["broad"], 3)]
    )
    control, _ = combined(
        [(members, int(members.max()) + 1), (people.hard_to_count[people.home], 5)],
        people.households,
    )
    risky = flagged(people)
    methods = {
        "random swap": RecordSwapping(RATE, odds=1),
        "targeted swap": RecordSwapping(RATE, odds=ODDS, match_risk=True),
        OURS: RecordSwapping(RATE, match_risk=True),
    }
    return {
        name: method.apply(
            people.home, people.authority[people.home], [control], people.keys, at_risk=risky
        )
        for name, method in methods.items()
    }


def longhurst(seed: int = SEED) -> dict[str, Any]:
    """Every measure of the paper for every method, on synthetic people of the same number."""
    here = town(seed)
    rng = np.random.default_rng(seed)
    true = dict(zip("AB", here.tables(here.home), strict=True))
    noise = protect.CellKeyPerturbation(lookup.normal())
    released: dict[str, dict[str, Table]] = {
        "rounding": {k: protect.SemiControlledRounding(3).apply(t, rng) for k, t in true.items()},
        "cell keys": {k: noise.apply(t, rng.random(t.shape)) for k, t in true.items()},
    }
    kept: dict[str, dict[str, Table]] = {}
    unmatched = {}
    for name, swapped in swaps(here).items():
        released[name] = dict(zip("AB", here.tables(swapped.exchange(here.home)), strict=True))
        stays = ~swapped.swapped[here.household]
        kept[name] = dict(zip("AB", _only(here, stays), strict=True))
        unmatched[name] = float((swapped.alone + swapped.taken).sum() / swapped.moved.sum())
    figures: dict[str, Any] = {
        "small_cells": {k: _facts(t) for k, t in true.items()},
        "unmatched": unmatched,
        "flagged": float(flagged(here).mean()),
    }
    for k, level in (("A", "output_area"), ("B", "ward")):
        figures[level] = {}
        for name in (*METHODS, OURS):
            F, G = true[k], released[name][k]
            if name in kept:
                left = risk.unchanged_small_records_swapped(F, kept[name][k])
            else:
                left = risk.unchanged_small_records(F, G)
            figures[level][name] = {
                "risk": left,
                "hellinger": utility.hellinger_rows(F, G).mean,
                "relative_absolute": utility.relative_absolute_rows(F, G).mean,
                "average_absolute": utility.average_absolute_rows(F, G).mean,
                "variance_ratio": utility.variance_ratio(F, G).mean,
                "deciles": 100 * utility.rank_change(F, G).mean,
            }
    margins = {"sex_age": ("A", 2), "religion": ("A", 1), "activity": ("B", 1)}
    figures["margins"] = {
        label: {
            name: _margin(true[k], released[name][k], axis) for name in (*METHODS, OURS)
        }
        for label, (k, axis) in margins.items()
    }
    return figures


def _only(here: Town, stays: NDArray[np.bool_]) -> tuple[Table, Table]:
    """Tables A and B of those who were not touched."""
    area = here.home[here.household]
    a = _count([(area[stays], AREAS), *((c[stays], n) for c, n in here.columns_a())])
    there = stays & here.working
    columns = [(here.ward[area][there], WARDS), *((c[there], n) for c, n in here.columns_b())]
    return a.reshape(AREAS, 9, 6), _count(columns).reshape(WARDS, 9, 2, 2)


def _facts(table: Table) -> dict[str, float]:
    return {
        "persons": int(table.sum()),
        "cells": table.size,
        "zeros_percent": 100 * float((table == 0).mean()),
        "small_percent": 100 * float(((table == 1) | (table == 2)).mean()),
    }


def _margin(true: Table, released: Table, axis: int) -> float:
    """The mean relative difference of a margin's totals, in percent."""
    others = tuple(i for i in range(true.ndim) if i != axis)
    F, G = true.sum(axis=others), released.sum(axis=others)
    return float(100 * (np.abs(G - F) / F).mean())


NAMES = ("nuts2", "gender", "age_band", "activity", "occupation", "education", "citizenship")
SHAPE = (2, 2, 21, 5, 13, 9, 5)


def shlomo(persons: int = 1_500_000, seed: int = 2010) -> dict[str, Any]:
    """RAD, entropy and Cramér's V of the hypercube under the three methods."""
    geography = lay_out(persons, seed)
    block, codes = people(geography, seed)
    la = geography.la_of_ward[geography.ward_of_oa[block.oa - 1]]
    codes["nuts2"] = geography.nuts2_of_region[geography.region_of_la[la]].astype(np.uint8)
    codes["gender"], codes["age_band"] = codes["sex"], np.minimum(codes["age"] // 5, 20)
    F = _count([(codes[name], n) for name, n in zip(NAMES, SHAPE, strict=True)]).reshape(SHAPE)
    rng = np.random.default_rng(seed)
    drawn = protect.StochasticPerturbation.published(exact=True)
    released = {
        "stochastic": drawn.invariant(np.bincount(F[F <= 10], minlength=11)).apply(F, rng),
        "rounding": protect.SemiControlledRounding(3, axis=0).apply(F, rng),
        "swapping": protect.IndividualSwapping(0.1, axis=0).apply(F, rng),
    }
    small = (F == 1) | (F == 2)
    figures: dict[str, Any] = {
        "cells": {"zeros": int((F == 0).sum()), "small": int(small.sum()), "all": F.size},
        "changed": {m: 100 * float((G != F)[small].mean()) for m, G in released.items()},
        "entropy": {
            "original": risk.median_entropy(F, (0, 1, 2)),
            **{m: risk.median_entropy(G, (0, 1, 2)) for m, G in released.items()},
        },
    }
    tables = [(i,) for i in range(7)] + [(0, i) for i in range(1, 7)]
    tables += [(i, 2) for i in (1, 3, 4, 5, 6)]
    figures["RAD"] = {}
    for axes in tables:
        others = tuple(i for i in range(7) if i not in axes)
        named = [NAMES[i] for i in axes if i != 2 or len(axes) == 1 or 0 in axes]
        name = "*".join([*(n for n in named if n != "nuts2"), *("nuts2",) * (0 in axes)])
        if 2 in axes and len(axes) == 2 and 0 not in axes:
            name += "*age_band"
        figures["RAD"][name] = {
            m: utility.relative_absolute(F.sum(axis=others), G.sum(axis=others))
            for m, G in released.items()
        }
    figures["cramers_v"] = {
        NAMES[i]: {
            m: 100 * utility.cramers_v(_two(F, i), _two(G, i)).relative_change
            for m, G in released.items()
        }
        for i in range(1, 7)
    }
    return figures


def _two(cube: Table, axis: int) -> Table:
    return cube.sum(axis=tuple(i for i in range(7) if i not in (0, axis)))


if __name__ == "__main__":
    print(json.dumps({"longhurst": longhurst(), "shlomo": shlomo()}, indent=1))
    sys.exit()
