"""Where people live: output areas in wards, authorities, regions and two NUTS2 areas.

Each level is a run of consecutive areas of the level below, so that the code of an area tells its
place in the file. Areas differ because every level adds a random effect of its own: neighbours
resemble each other, and there are still surprises next door.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from discreet.synth import names, origins
from discreet.synth.kernels import Areas
from discreet.synth.shares import thresholds
from discreet.synth.variables import AREAS
from discreet.types import Floats, Integers

# 437,744 people in 1,487 output areas [Longhurst2007, Table 4]: some 125 households each.
PERSONS_PER_OA = 437_744 / 1_487
OAS_PER_WARD = 15.4  # 317,064 people in 70 wards, the other table of that paper
NUTS2_SHARES = (854_539, 645_461)  # [Shlomo2015, Table 2], of 1,500,000
REGIONS_IN_NUTS2 = (6, 4)
SMALLEST_AUTHORITY, LARGEST_AUTHORITY = 40_000, 150_000  # mean persons; 400 of them in between
OA_SIZE_SPREAD = 0.12
DIVISION_SPREAD = 0.35  # of the logarithm of the sizes of the parts of an area

# Standard deviations of the effects of region, authority, ward and output area; squares sum to 1.
SPREAD = {
    "urban": (0.2, 0.8, 0.5, 0.265),
    "old": (0.15, 0.35, 0.5, 0.777),
    "deprived": (0.2, 0.4, 0.6, 0.663),
    "secular": (0.5, 0.6, 0.45, 0.433),
}
OLD_PER_URBAN = -0.45  # the young live in towns
CUTS = {
    "urban": (-0.4, 0.6),
    "old": (-1.5, -0.9, -0.3, 0.3, 0.9, 1.5),
    "deprived": (-0.84, -0.25, 0.25, 0.84),
    "secular": (-0.84, -0.25, 0.25, 0.84),
}


@dataclass(frozen=True)
class Geography:
    """The areas of one synthetic country; index 0 stands for code 1 at every level."""

    persons: Integers  # of each output area
    ward_of_oa: Integers
    la_of_ward: Integers
    region_of_la: Integers
    nuts2_of_region: Integers
    urban: NDArray[np.uint8]  # classes of each output area
    old: NDArray[np.uint8]
    deprived: NDArray[np.uint8]
    secular: NDArray[np.uint8]
    clusters: NDArray[np.float32]  # log of the share of each ethnic cluster against the country's

    @property
    def size(self) -> int:
        """The number of output areas."""
        return len(self.persons)

    @cached_property
    def starts(self) -> Integers:
        """The first person of each output area, and the number of persons at the end."""
        return np.concatenate([[0], np.cumsum(self.persons)])

    def areas(self, first: int, last: int) -> Areas:
        """Return what the kernel reads of output areas first to last, last excluded."""
        part = slice(first, last)
        logs = self.clusters[part, list(origins.ETHNIC_CLUSTER)].astype(float)
        ethnic = thresholds(np.array(origins.ETHNIC_SHARES) * np.exp(logs))
        return Areas(
            self.persons[part],
            self.old[part],
            self.deprived[part],
            self.urban[part],
            self.secular[part],
            ethnic,
        )

    def labels(self) -> dict[str, list[str]]:
        """Return the label of every area by level, in order of code."""
        authority = names.authorities()
        las = [next(authority) for _ in self.region_of_la]
        wards: list[str] = []
        for la, count in enumerate(np.bincount(self.la_of_ward, minlength=len(las))):
            name = names.wards(las[la])
            wards += [next(name) for _ in range(count)]
        oas = [
            f"{wards[ward]} {number:02d}"
            for ward, count in enumerate(np.bincount(self.ward_of_oa, minlength=len(wards)))
            for number in range(1, count + 1)
        ]
        regions = _region_names(self.nuts2_of_region)
        return dict(zip(AREAS, (oas, wards, las, regions, list(names.NUTS2)), strict=True))

    def parents(self) -> dict[str, Integers]:
        """Return the index of the area above, by level; the last level has none."""
        above = (self.ward_of_oa, self.la_of_ward, self.region_of_la, self.nuts2_of_region)
        return dict(zip(AREAS, above, strict=False))


def _region_names(nuts2_of_region: Integers) -> list[str]:
    """The names of the regions that exist: a small country has fewer than ten."""
    first, second = (int((nuts2_of_region == side).sum()) for side in (0, 1))
    offset = REGIONS_IN_NUTS2[0]
    return [*names.REGIONS[:first], *names.REGIONS[offset : offset + second]]


def _divide(total: int, parts: int, spread: float, rng: np.random.Generator) -> Integers:
    """Return sizes of uneven parts of a total, each at least 1, that sum to it."""
    weights = np.exp(spread * rng.standard_normal(parts))
    ends = np.floor(np.cumsum(weights) / weights.sum() * (total - parts) + 0.5).astype(np.int64)
    ends[-1] = total - parts
    return np.asarray(np.diff(ends, prepend=0) + 1)


def _divide_all(
    totals: Integers, parts: Integers, rng: np.random.Generator, spread: float = DIVISION_SPREAD
) -> Integers:
    """Return the sizes of the parts of every area, one after the other."""
    pairs = zip(totals.tolist(), parts.tolist(), strict=True)
    return np.concatenate([_divide(total, count, spread, rng) for total, count in pairs])


def _parts(totals: Integers, size: float) -> Integers:
    """Return into how many parts of about a size each total is divided, at least one."""
    return np.maximum(1, np.rint(totals / size).astype(np.int64))


def _index(counts: Integers) -> Integers:
    """Return the parent of each child, given how many children each parent has."""
    return np.repeat(np.arange(len(counts)), counts)


def lay_out(persons: int, seed: int) -> Geography:
    """Return the geography of a country with so many people; the same for the same seed."""
    rng = np.random.Generator(np.random.PCG64([seed, 1]))
    first = round(persons * NUTS2_SHARES[0] / sum(NUTS2_SHARES))
    people = np.array([first, persons - first])
    oas = _parts(people, PERSONS_PER_OA)
    sizes = _divide_all(people, oas, rng, OA_SIZE_SPREAD)

    regions = np.minimum(REGIONS_IN_NUTS2, oas)
    oas_of_region = _divide_all(oas, regions, rng)
    authority = min(LARGEST_AUTHORITY, max(SMALLEST_AUTHORITY, persons / 400)) / PERSONS_PER_OA
    las = _parts(oas_of_region, authority)
    oas_of_la = _divide_all(oas_of_region, las, rng)
    wards = _parts(oas_of_la, OAS_PER_WARD)
    oas_of_ward = _divide_all(oas_of_la, wards, rng)

    ward_of_oa, la_of_ward, region_of_la = _index(oas_of_ward), _index(wards), _index(las)
    la_of_oa = la_of_ward[ward_of_oa]
    latent, clusters = _differences((region_of_la[la_of_oa], la_of_oa, ward_of_oa), rng)
    classes = {name: np.searchsorted(CUTS[name], latent[name]).astype(np.uint8) for name in latent}
    return Geography(
        persons=sizes,
        ward_of_oa=ward_of_oa,
        la_of_ward=la_of_ward,
        region_of_la=region_of_la,
        nuts2_of_region=_index(regions),
        clusters=clusters,
        **classes,
    )


def _differences(
    above: tuple[Integers, ...], rng: np.random.Generator
) -> tuple[dict[str, Floats], NDArray[np.float32]]:
    """Return how output areas differ, given the region, authority and ward of each.

    First the latent variables behind the classes, then the logarithm of the share of each ethnic
    cluster against that of the country.
    """
    size = len(above[-1])

    def effect(spread: tuple[float, ...]) -> Floats:
        """One standard normal for each area of each level, summed down to the output area."""
        total = spread[3] * rng.standard_normal(size)
        for index, scale in zip(above, spread[:3], strict=True):
            total += scale * rng.standard_normal(int(index[-1]) + 1)[index]
        return np.asarray(total)

    latent = {name: effect(spread) for name, spread in SPREAD.items()}
    rest = (1 - OLD_PER_URBAN**2) ** 0.5
    latent["old"] = rest * latent["old"] + OLD_PER_URBAN * latent["urban"]
    clusters = np.empty((size, origins.CLUSTERS), dtype=np.float32)
    for cluster, spread in enumerate(origins.CLUSTER_SPREAD):
        by_urban = origins.CLUSTER_PER_URBAN[cluster]
        by_deprived = origins.CLUSTER_PER_DEPRIVATION[cluster]
        # Half the variance off, so that the mean share over areas stays near the country's.
        variance = sum(s * s for s in spread) + by_urban**2 + by_deprived**2
        log_share = effect(spread) + by_urban * latent["urban"] + by_deprived * latent["deprived"]
        clusters[:, cluster] = log_share - variance / 2
    return latent, clusters
