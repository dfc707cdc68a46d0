"""Two published studies of protection, repeated on synthetic people, for docs/pretabular.md.

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
from discreet.protect import RecordSwapping, lookup
from discreet.protect.records.swapping import (
    combined,
    composition,
    in_small_cells,
    numbered,
    of_households,
)
from discreet.synth.geography import Geography, lay_out
from discreet.synth.variables import IDS
from discreet.synth.writer import draw

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "benchmarks"))
from report import table, write_section  # noqa: E402

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
WARD_SPREAD = 0.7  # of the logarithm: most have 1,500 to 16,000 people
WIDER = "cell keys, sd 2"
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
    # Uneven wards, as those of Southampton, Eastleigh and Test Valley are.
    sizes = np.exp(WARD_SPREAD * np.random.default_rng(seed).standard_normal(WARDS))
    ends = np.rint(np.cumsum(sizes) / sizes.sum() * (AREAS - WARDS)).astype(np.int64)
    ward = np.repeat(np.arange(WARDS), np.diff(ends, prepend=0) + 1)
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
    wider = protect.CellKeyPerturbation(lookup.normal(variance=4))
    released: dict[str, dict[str, Table]] = {
        "rounding": {k: protect.SemiControlledRounding(3).apply(t, rng) for k, t in true.items()},
        "cell keys": {k: noise.apply(t, rng.random(t.shape)) for k, t in true.items()},
    }
    released[WIDER] = {k: wider.apply(t, rng.random(t.shape)) for k, t in true.items()}
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
        for name in (*METHODS, WIDER, OURS):
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
                "deciles_of_table": 100 * utility.rank_change(F.ravel(), G.ravel()).mean,
            }
    margins = {
        "sex_age": ("A", (2,)),
        "religion": ("A", (1,)),
        "sex_illness": ("B", (2, 3)),
        "activity": ("B", (1,)),
    }
    figures["margins"] = {
        label: {name: _margin(true[k], released[name][k], axes) for name in (*METHODS, WIDER, OURS)}
        for label, (k, axes) in margins.items()
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


def _margin(true: Table, released: Table, axes: tuple[int, ...]) -> float:
    """The mean relative difference of a margin's totals, in percent."""
    others = tuple(i for i in range(true.ndim) if i not in axes)
    F, G = true.sum(axis=others), released.sum(axis=others)
    return float(100 * (np.abs(G - F) / F).mean())


NAMES = ("nuts2", "gender", "age_band", "activity", "occupation", "education", "citizenship")
SHAPE = (2, 2, 21, 5, 13, 9, 5)


SUBGROUPS = (0, 1, 2)
RAD_TABLES = (
    *NAMES,
    *(f"{name}*nuts2" for name in NAMES[1:]),
    *(f"{name}*age_band" for name in ("gender", "activity", "occupation", "education")),
    "citizenship*age_band",
)


def shlomo(persons: int = 1_500_000, seed: int = 2010, draws: int = 10) -> dict[str, Any]:
    """RAD, entropy and Cramér's V of the hypercube under the three methods."""
    geography = lay_out(persons, seed)
    block, codes = people(geography, seed)
    la = geography.la_of_ward[geography.ward_of_oa[block.oa - 1]]
    codes["nuts2"] = geography.nuts2_of_region[geography.region_of_la[la]].astype(np.uint8)
    codes["gender"], codes["age_band"] = codes["sex"], np.minimum(codes["age"] // 5, 20)
    F = _count([(codes[name], n) for name, n in zip(NAMES, SHAPE, strict=True)]).reshape(SHAPE)
    rng = np.random.default_rng(seed)
    invariant = protect.StochasticPerturbation.published(exact=True).invariant(
        np.bincount(F[F <= 10], minlength=11)
    )
    methods = {
        "stochastic": invariant,
        "rounding": protect.SemiControlledRounding(3, axis=0),
        "swapping": protect.IndividualSwapping(0.1, axis=0),
        "half": protect.IndividualSwapping(0.05, axis=0),
    }
    small = (F == 1) | (F == 2)
    results: dict[str, list[dict[str, dict[str, float]]]] = {m: [] for m in methods}
    for name, method in methods.items():
        for _ in range(draws):
            results[name].append(_measured(F, method.apply(F, rng), small))
    figures: dict[str, Any] = {
        "cells": {"zeros": int((F == 0).sum()), "small": int(small.sum()), "all": F.size},
        "original_entropy": risk.median_entropy(F, SUBGROUPS),
    }
    for kind in ("all", "RAD", "cramers_v"):
        figures[kind] = {
            key: {
                m: float(np.mean([result[kind][key] for result in found]))
                for m, found in results.items()
            }
            for key in results["rounding"][0][kind]
        }
    return figures


def _measured(F: Table, G: Table, small: NDArray[np.bool_]) -> dict[str, dict[str, float]]:
    """Everything that the paper measures of one released hypercube."""
    rad = {}
    for name in RAD_TABLES:
        axes = [NAMES.index(part) for part in name.split("*")]
        others = tuple(i for i in range(7) if i not in axes)
        rad[name] = utility.relative_absolute(F.sum(axis=others), G.sum(axis=others))
    return {
        "all": {
            "changed": 100 * float((G != F)[small].mean()),
            "entropy": risk.median_entropy(G, SUBGROUPS),
        },
        "RAD": rad,
        "cramers_v": {
            NAMES[i]: 100 * utility.cramers_v(_two(F, i), _two(G, i)).relative_change
            for i in range(2, 7)
        },
    }


def _two(cube: Table, axis: int) -> Table:
    return cube.sum(axis=tuple(i for i in range(7) if i not in (0, axis)))


def agreement(
    ours: list[float], printed: list[float], names: tuple[str, ...]
) -> tuple[int, int, list[str]]:
    """How many pairs of methods are in the printed order, of how many; and those that are not."""
    pairs, same, others = 0, 0, []
    for i in range(len(names)):
        for j in range(i):
            if printed[i] == printed[j]:
                continue
            pairs += 1
            if (ours[i] - ours[j]) * (printed[i] - printed[j]) > 0:
                same += 1
            else:
                others.append(f"{names[j]} / {names[i]}")
    return same, pairs, others


MEASURES = {
    "risk": "records in small cells left as they were",
    "hellinger": "Hellinger distance",
    "relative_absolute": "RAD",
    "average_absolute": "AAD",
    "variance_ratio": "variance ratio",
    "deciles": "cells that change decile, %",
}


MARGINS = {
    "sex_age": "age and sex",
    "religion": "religion",
    "sex_illness": "sex and illness",
    "activity": "activity",
}


def printed_longhurst(level: str, measure: str) -> list[float]:
    """The printed figures of the four methods."""
    held = json.loads((PUBLISHED / "longhurst2007" / "figures.json").read_text(encoding="utf-8"))
    if measure == "risk":
        found = held["risk_small_cell_record_unperturbed"][level]
    elif measure == "variance_ratio":
        found = held["variance_ratio"][level]
    elif measure == "deciles":
        found = held["cells_changing_decile_percent"][level]
    else:
        found = held[f"{level}_distance"][measure]
    return [float(x) for x in found]


def _number(x: float) -> str:
    return f"{x:.0f}" if x == 0 or x >= 100 else f"{x:.3g}" if x < 1 else f"{x:.4g}"


def write_longhurst(figures: dict[str, Any]) -> None:
    facts = figures["small_cells"]
    text = [
        f"Table A: {facts['A']['persons']:,} persons in {facts['A']['cells']:,} cells, "
        f"{facts['A']['zeros_percent']:.1f}% zeros and {facts['A']['small_percent']:.1f}% ones and "
        "twos (in print 59.1% and 12.6%). "
        f"Table B: {facts['B']['persons']:,} persons in {facts['B']['cells']:,} cells, "
        f"{facts['B']['zeros_percent']:.1f}% and {facts['B']['small_percent']:.1f}% (in print "
        "317,064 persons, 16.9% and 9.0%).",
        "",
    ]
    columns = (*METHODS, WIDER, OURS)
    for level, title in (("output_area", "Table A, output areas"), ("ward", "Table B, wards")):
        rows = []
        for measure, label in MEASURES.items():
            printed = printed_longhurst(level, measure)
            ours = [figures[level][name][measure] for name in columns]
            same, pairs, _ = agreement(ours[:4], printed, METHODS)
            shown = [f"{_number(o)} ({_number(p)})" for o, p in zip(ours, printed, strict=False)]
            shown += [_number(o) for o in ours[4:]]
            wider, _, _ = agreement([*ours[:3], ours[4]], printed, METHODS)
            rows.append([label, *shown, f"{same} of {pairs}", f"{wider} of {pairs}"])
        text += [f"**{title}**: here (in print)", ""]
        text += [table(["", *columns, "pairs in the printed order", "… with sd 2"], rows), ""]
    rows = []
    held = json.loads((PUBLISHED / "longhurst2007" / "figures.json").read_text(encoding="utf-8"))
    for key, label in MARGINS.items():
        ours = [figures["margins"][key][name] for name in columns]
        printed = held["margin_relative_difference"][key]
        shown = [f"{_number(o)} ({p:g})" for o, p in zip(ours, printed, strict=False)]
        rows.append([label, *shown, *(_number(o) for o in ours[4:])])
    text += [
        "**Totals over all areas**, mean relative change in percent (in print, without a unit)",
        "",
    ]
    text += [table(["", *columns], rows), ""]
    text.append(
        f"Households with a member in a small cell: {figures['flagged']:.1%}. Without a partner, "
        "of those that were to be swapped: "
        + ", ".join(f"{name} {share:.2%}" for name, share in figures["unmatched"].items())
        + " (in print 0.15%)."
    )
    write_section("longhurst", "\n".join(text), PAGE)


def write_shlomo(figures: dict[str, Any]) -> None:
    held = json.loads((PUBLISHED / "shlomo2010" / "figures.json").read_text(encoding="utf-8"))
    names = ("stochastic", "rounding", "swapping")
    columns = ["stochastic perturbation", "rounding", "swapping, 10% move", "swapping, 5% move"]

    def row(label: str, found: dict[str, float], printed: list[float] | None) -> list[str]:
        shown = [f"{found[m]:.3f}" for m in (*names, "half")]
        if printed is not None:
            shown[:3] = [f"{s} ({p:g})" for s, p in zip(shown, printed, strict=False)]
        return [label, *shown]

    percent = held["small_cells_changed_percent"]
    entropy = held["median_subgroup_entropy"]
    rows = [
        row("ones and twos changed, %", figures["all"]["changed"], [percent[m] for m in names]),
        row("median entropy", figures["all"]["entropy"], [entropy[m] for m in names]),
    ]
    for key, name in (("age_band", "age band"), *((n, n) for n in NAMES[3:])):
        found = figures["cramers_v"][key]
        rows.append(row(f"Cramér's V, NUTS2 by {name}, % change", found, None))
    for key in RAD_TABLES:
        label = "RAD " + key.replace("age_band", "age band").replace("*", " by ")
        rows.append(row(label.replace("nuts2", "NUTS2"), figures["RAD"][key], held["RAD"][key]))
    facts = figures["cells"]
    text = [
        f"Of {facts['all']:,} cells {facts['zeros']:,} are zeros and {facts['small']:,} ones or "
        "twos (in print 226,939 and 6,140); the median entropy of the original is "
        f"{figures['original_entropy']:.2f} (in print 2.36). Means of ten draws, here (in print):",
        "",
        table(["", *columns], rows),
    ]
    write_section("shlomo", "\n".join(text), PAGE)


if __name__ == "__main__":
    write_longhurst(longhurst())
    write_shlomo(shlomo())
