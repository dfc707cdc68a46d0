"""A protected base: errors by level and order, what attackers learn, and what it costs.

Two populations, of other seeds than the one that the search was tuned on; `base.py 1500000 21`
makes the section of another one, `base.py 60000 21 households` one with households as donors, and
`base.py 10000000 21 build` that of a whole build; with `short` after it, of one whose search has
few sweeps, which takes as much memory. `base.py 30000 21 leavers` says what two editions must tell.
"""

from __future__ import annotations

import resource
import sys

import numpy as np
from base_build import built
from numpy.typing import NDArray
from report import table, timed, write_section

from discreet.compiling import njit
from discreet.protect import KeyMix, ProtectedBase
from discreet.protect.records.protected_base import Areas, Column, Design, Fitted, Records
from discreet.protect.records.protected_base.errors import (
    Compared,
    Errors,
    Side,
    chosen_tables,
    compare_tables,
)
from discreet.protect.records.protected_base.home import at_home
from discreet.synth.geography import lay_out
from discreet.synth.variables import IDS
from discreet.synth.writer import draw

SEEDS = (21, 22)
SECRET = bytes(range(32))
LEVELS = ("output area", "ward", "authority", "nation")
# Mean absolute errors and roots of mean squares that were to be reached, by level and order.
WANTED = {
    "nation": ((2.1, 2.7), (4.0, 5.2), (6.6, 11.8), (4.6, 9.9)),
    "authority": ((1.6, 2.1), (2.9, 3.8), (3.1, 5.1), (2.6, 4.6)),
    "ward": ((1.9, 2.4), (2.4, 3.3), (2.0, 3.1), (1.8, 2.9)),
    "output area": ((1.8, 2.3), (1.6, 2.2), (1.4, 1.9), (1.3, 1.9)),
}
TABLES = (15, 105, 100, 60)
"""Tables of each order."""
ATTACKED = "religion"
AREAS = 30
FEW = 100
"""Small cells below which a share of them says little."""


class People:
    """The synthetic census in memory, with ages in five-year bands."""

    def __init__(self, persons: int, seed: int, households: bool = False) -> None:
        geography = lay_out(persons, seed)
        block = draw(geography, seed, 0, geography.size)
        codes = []
        for name, column in zip(IDS, block.columns, strict=True):
            own = column // 5 if name == "age" else column
            codes.append((own - own.min()).astype(np.uint8))
        self.sizes = [int(column.max()) + 1 for column in codes]
        words = KeyMix(SECRET, "people").words(np.arange(len(codes[0]), dtype=np.uint64))
        home = block.household.astype(np.int64) if households else None
        self.records = Records(codes, block.oa.astype(np.int64) - 1, words, home)
        ward = geography.ward_of_oa
        levels = [np.arange(geography.size), ward, geography.la_of_ward[ward]]
        self.areas = Areas.nested(levels, 2)
        self.design = Design.of([Column(size) for size in self.sizes])

    def fit(self, method: ProtectedBase) -> Fitted:
        return method.apply(self.records, self.areas, self.design, SECRET)

    def sides(self, fitted: Fitted) -> tuple[Side, Side]:
        codes = self.records.codes
        base = Side([column[fitted.donor] for column in codes], fitted.area)
        return Side(codes, self.records.area), base


def compared(
    people: People, true: Side, base: Side, method: ProtectedBase, most: tuple[int, ...]
) -> Compared:
    noises = [method.noise(level, SECRET) for level in range(4)]
    tables = chosen_tables(people.sizes, most, 7)
    keys = people.records.keys
    return compare_tables(true, base, keys, people.sizes, people.areas, tables, noises)


def error_rows(found: Compared, plain: Compared) -> list[list[str]]:
    rows = []
    for level in (3, 2, 1, 0):
        for order in (1, 2, 3, 4):
            own, keys = (c.errors(level, order).as_dict() for c in (found, plain))
            wanted = WANTED[LEVELS[level]][order - 1]
            rows.append(
                [
                    f"{LEVELS[level]}, {order}",
                    f"{own['mean_count']:,.1f}",
                    f"{keys['mean_absolute']:.1f} / {keys['rmse']:.1f}",
                    f"{own['mean_absolute']:.2f} / {own['rmse']:.2f}",
                    f"{wanted[0]} / {wanted[1]}",
                    f"{own['bias_above_5']:+.2f}",
                    exact(plain.errors(level, order)),
                    exact(found.errors(level, order)),
                ]
            )
    return rows


def exact(errors: Errors) -> str:
    """Return the share of small cells that are true, or their number and the cells, if few."""
    if errors.small < FEW:
        return f"{errors.exact} of {errors.small}" if errors.small else "–"
    return f"{errors.exact / errors.small:.2f}"


def of_few(found: Compared) -> str:
    """Say what the numbers of rows with few small cells tell: the 95% interval of their share."""
    told = []
    for level in (3, 2, 1, 0):
        for order in (1, 2, 3, 4):
            errors = found.errors(level, order)
            if 0 < errors.small < FEW:
                low, high = interval(errors.exact, errors.small)
                told.append(f"{LEVELS[level]}, {order}: {low:.2f} to {high:.2f}")
    if not told:
        return ""
    return (
        f"\n- Where there are fewer than {FEW} small cells, how many are true is told in place of "
        f"a share. 95% intervals of the base's shares: {'; '.join(told)}."
    )


def interval(hits: int, tries: int) -> tuple[float, float]:
    """Return Wilson's 95% interval of a share."""
    z, share = 1.96, hits / tries
    middle = (share + z**2 / (2 * tries)) / (1 + z**2 / tries)
    half = z / (1 + z**2 / tries) * (share * (1 - share) / tries + (z / (2 * tries)) ** 2) ** 0.5
    return max(middle - half, 0.0), min(middle + half, 1.0)


def plain_keys(people: People, true: Side, most: tuple[int, ...]) -> Compared:
    """Compare true counts with cell keys as they are today: noise of variance 3, table by table.

    A figure of the look-up stands in the place of the base's, so that errors are those of keys.
    """
    method = ProtectedBase(variance=3.0, variance_smallest=3.0)
    noise = method.noise(1, SECRET)
    sums = np.zeros((4, 4, 10))
    for chosen in chosen_tables(people.sizes, most, 7):
        cells = true.cells(chosen, people.sizes)
        size = int(np.prod([people.sizes[i] for i in chosen]))
        for level in range(4):
            here = people.areas.of[level][true.area] * size + cells
            held, inverse = np.unique(here, return_inverse=True)
            counts = np.bincount(inverse)
            keys = np.bincount(inverse, people.records.keys.astype(float)) % 2**32
            shown = noise.figures(counts[None].astype(np.int32), keys[None].astype(np.uint32))[0]
            error, small = shown - counts, counts <= 5
            sums[level, len(chosen) - 1] += [
                len(held), counts.sum(), np.abs(error).sum(), (error**2).sum(), (~small).sum(),
                error[~small].sum(), small.sum(), (small & (error == 0)).sum(), 0, 0,
            ]  # fmt: skip
    none = np.zeros((4, 4, 1, 1), np.int64)
    return Compared(sums, none, none)


@njit(cache=True, nogil=True)
def reconstruct(
    cells: NDArray[np.int64], counts: NDArray[np.int64], cost: NDArray[np.float64], sweeps: int
) -> NDArray[np.int64]:
    """Return the category of each person that fits published tables best, by coordinate descent.

    cells[p, c, t] is the cell of table t that person p is in with category c; counts are those
    published, of which people are taken off as they are placed.
    """
    persons, categories, tables = cells.shape
    left = counts.copy()
    chosen = np.empty(persons, np.int64)
    for p in range(persons):
        chosen[p] = np.argmin(cost[p])
        for t in range(tables):
            left[cells[p, chosen[p], t]] -= 1
    for _ in range(sweeps):
        for p in range(persons):
            for t in range(tables):
                left[cells[p, chosen[p], t]] += 1
            best, least = 0, np.inf
            for c in range(categories):
                loss = cost[p, c]
                for t in range(tables):
                    loss -= 2.0 * left[cells[p, c, t]]
                if loss < least:
                    best, least = c, loss
            chosen[p] = best
            for t in range(tables):
                left[cells[p, best, t]] -= 1
    return chosen


def reconstruction(people: People, true: Side, published: Side) -> tuple[float, float, float]:
    """Return how often an attacker is right: by the prior; of those it gets wrong; in all.

    The attacker knows everything but one variable of everybody in an output area, and all
    three-way tables of the area with that variable. The prior is what is usual in the authority.
    """
    hidden = IDS.index(ATTACKED)
    known = [i for i in range(len(IDS)) if i != hidden]
    categories = people.sizes[hidden]
    usual = [IDS.index(name) for name in ("ethnic_group", "country_of_birth")]
    right = np.zeros(3)
    number = 0
    for oa in np.random.default_rng(5).choice(people.areas.smallest, AREAS, replace=False):
        la = people.areas.of[2] == people.areas.of[2][oa]
        here, there = true.area == oa, la[true.area]
        prior = np.full((people.sizes[usual[0]], people.sizes[usual[1]], categories), 0.01)
        np.add.at(prior, tuple(true.codes[i][there] for i in (*usual, hidden)), 1)
        prior /= prior.sum(axis=2, keepdims=True)
        chances = prior[tuple(true.codes[i][here] for i in usual)]
        truth, first = true.codes[hidden][here], chances.argmax(axis=1)
        theirs = published.area == oa
        cells, counts, start = [], [], 0
        for a in range(len(known)):
            for b in range(a + 1, len(known)):
                i, j = known[a], known[b]
                size = people.sizes[i] * people.sizes[j]
                own = published.codes[i][theirs].astype(int) * people.sizes[j]
                own = (own + published.codes[j][theirs]) * categories
                counts.append(np.bincount(own + published.codes[hidden][theirs],
                                          minlength=size * categories))  # fmt: skip
                at = true.codes[i][here].astype(int) * people.sizes[j] + true.codes[j][here]
                cells.append(start + at[:, None] * categories + np.arange(categories))
                start += size * categories
        placed = np.ascontiguousarray(np.stack(cells, axis=2))
        figures = np.concatenate(counts)
        # How much the prior weighs beside the tables, the attacker tries out: the best counts.
        best = max(
            (
                reconstruct(placed, figures, -weight * np.log(chances), 30)
                for weight in (5, 30, 100)
            ),
            key=lambda guess: (guess == truth).sum(),
        )
        wrong = first != truth
        right += (first == truth).sum(), (best == truth)[wrong].sum(), (best == truth).sum()
        number += len(truth)
    wrong = number - right[0]
    return right[0] / number, right[1] / max(wrong, 1), right[2] / number


def attacks(people: People, true: Side, base: Side) -> str:
    prior, wrong, right = reconstruction(people, true, base)
    _, wrong_plain, right_plain = reconstruction(people, true, true)
    return (
        f"- Reconstruction: who knows 14 attributes of everybody in an output area and its "
        f"three-way tables names the {ATTACKED} of {right:.3f} of them, by what is usual alone of "
        f"{prior:.3f}. Of those whom the usual gets wrong: {wrong:.2f}. From true tables: "
        f"{right_plain:.3f} and {wrong_plain:.2f}."
    )


def homes(people: People, fitted: Fitted) -> str:
    """Say how often copies are at home."""
    told = [
        f"{name} {found.share:.1%} (by chance {found.by_chance:.1%})"
        for name, found in zip(LEVELS, at_home(people.records, people.areas, fitted), strict=False)
    ]
    return f"Copies of people whose pattern nobody shares, in their own {', '.join(told)}."


def by_size(found: Compared, method: ProtectedBase, level: int) -> str:
    """Say how many of small, middle and large figures of a level the ranges hold."""
    orders = range(1, found.sums.shape[1] + 1)
    every = np.array([found.held_by_class(level, n, method.noise(level, SECRET)) for n in orders])
    told = []
    for name, classes in (
        ("to 10", slice(1, 11)),
        ("to 100", slice(11, 14)),
        ("more", slice(14, None)),
    ):
        inside, number = every[:, classes].sum(axis=(0, 1))
        told.append(f"{name} {inside / max(number, 1):.1%}")
    return ", ".join(told)


def section(persons: int, seed: int, households: bool = False) -> str:
    method, few = ProtectedBase(), persons <= 300_000
    people = People(persons, seed, households)
    cpu, wall, fitted = timed(lambda: people.fit(method))
    print(f"{persons:,} people, seed {seed}: {cpu:.1f} s of CPU, {wall:.1f} s", flush=True)
    true, base = people.sides(fitted)
    found = compared(people, true, base, method, TABLES)
    header = [
        "level, variables", "mean count", "cell keys", "base", "wanted", "bias above 5",
        "small exact: keys", "base",
    ]  # fmt: skip
    keys = plain_keys(people, true, (15, 30, 10, 4) if few else (5, 3, 2, 1))
    rows = error_rows(found, keys)
    print(table(header, rows), flush=True)
    shares = [found.held(level, method.noise(level, SECRET)) or 0.0 for level in range(4)]
    held = ", ".join(f"{name} {share:.1%}" for name, share in zip(LEVELS, shares, strict=True))
    empty = found.errors(0, 2).as_dict()["empty_filled"]
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return (
        f"### {persons:,} people, seed {seed}{', whole households' * households}\n\n"
        f"{table(header, rows)}\n\n"
        f"- {cpu:.0f} s of CPU for the base, {wall:.0f} s on a machine that others used as well; "
        f"peak memory of the benchmark, the people included: {peak:.1f} GiB.\n"
        f"- The range told holds the true count: {held} (figures above 0); in the nation by size: "
        f"{by_size(found, method, 3)}.\n"
        f"- {homes(people, fitted)}\n"
        f"- Of empty two-way cells of output areas {empty:.1%} are filled.{of_few(found)}\n"
        f"{attacks(people, true, base)}"
    )


def leavers(persons: int, seed: int) -> str:
    """Say how often a leaver's category is named, if both editions have errors of their own.

    The attacker knows how frequent categories are, and by how much each figure of the leaver's
    output area and ward changed. Errors are normal and independent: the least that can be learnt.
    """
    people, rng = People(persons, seed), np.random.default_rng(seed)
    rows = []
    for variances in ((5.0, 4.6), (10.0, 10.0), (20.0, 20.0), (40.0, 40.0)):
        right = largest = tries = 0
        for column in people.records.codes:
            shares = np.bincount(column) / len(column)
            shares = shares[shares > 0]
            left = rng.choice(len(shares), 4_000, p=shares)
            evidence = np.tile(np.log(shares), (len(left), 1))
            for variance in variances:
                change = rng.normal(0, (2 * variance) ** 0.5, evidence.shape)
                change[np.arange(len(left)), left] -= 1
                evidence -= (change + 0.5) / (2 * variance)
            right += int((evidence.argmax(axis=1) == left).sum())
            largest += int((shares.argmax() == left).sum())
            tries += len(left)
        named = f"{variances[0]:g} and {variances[1]:g}"
        rows.append([named, f"{largest / tries:.2f}", f"{right / tries:.2f}"])
    header = ["variance: output area and ward", "largest category", "attacker"]
    return (
        "### What two editions must tell of a leaver\n\n"
        "Who leaves makes a figure of the output area and one of the ward fall by one. Share of "
        "categories that are named, if errors are normal and wholly independent in both editions; "
        f"the first row has errors of the size of the base's.\n\n{table(header, rows)}"
    )


INTRO = """## A protected base

Errors of cells that have people: mean absolute error / root of the mean square. Cell keys are those
of today, with noise of variance 3. Wanted is what a first construction reached with 300,000 people.
Bias is of cells above 5, small exact the share of cells of 1 to 5 people whose figure is true.
Tables of one and two variables are all there are; those of three and four variables are chosen by
chance. What the red team finds is on the page of the [base](base.md#what-attackers-learn).
"""


def main(given: list[str]) -> None:
    if not given:
        write_section("base", INTRO)
    runs = [(300_000, seed) for seed in SEEDS]
    if given:
        runs = [(int(given[0]), int(given[1]))]
    if given[2:] == ["leavers"]:
        write_section("base-leavers", leavers(*runs[0]))
        return
    if given[2:3] == ["build"]:
        persons, seed = runs[0]
        write_section(f"base-{persons}-{seed}-build", built(persons, seed, given[3:] == ["short"]))
        return
    households = given[2:] == ["households"]
    for persons, seed in runs:
        name = f"base-{persons}-{seed}" + "-households" * households
        write_section(name, section(persons, seed, households))


if __name__ == "__main__":
    main(sys.argv[1:])
