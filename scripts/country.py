"""Writes a hypercube of invented people in two regions, as sparse as that of [Shlomo2015, §5].

    python scripts/country.py country.parquet

For `discreet study shlomo2015 --data country.parquet` and `shlomo2010`. Who can be what is fixed,
as by law and custom: nobody works below 15 or above 70, students have no occupation yet, most
occupations ask for an education, and the few who lack it are rarer the further they are off. Of
most who do not work the last occupation is known, as a census asks for it.
Regions differ by education and by citizenship. Chance, by the seed, is in the counts alone.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from math import factorial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

SEED = 2015
NAMES = ("nuts2", "sex", "age_band", "activity", "occupation", "education", "citizenship")
SHAPE = (2, 2, 21, 5, 13, 9, 5)
TOTALS = (854_539, 645_461)
MEN, AGED_45 = 736_355, 96_656
Floats = NDArray[np.float64]
SIZES = ((0, 0), (1, 1), (2, 2), (3, 5))
TABLES = {
    "1": "age_band,education,occupation where nuts2=1",
    "2": "sex,age_band,citizenship where nuts2=2",
    "3": "activity,occupation,education where sex=1",
    "4": "nuts2,occupation,education where age_band=10",
}


@dataclass(frozen=True)
class Country:
    """What the shares of people depend on."""

    spread: float = 0.122  # how far occupations reach over educations
    reach: float = 0.485  # beyond it nobody has the occupation
    tail: float = 0.0027  # of those within reach who have an education of no use to them
    better: float = 0.42  # how much more schooled region 1 is
    out: tuple[float, float] = (0.12, 0.15)  # unemployed of those who could work, by region
    older: float = 0.015  # how much older region 2 is, for each band
    steep: float = 4.1  # how rare the rare occupations are
    foreign: tuple[float, float] = (0.19, 0.034)  # with another citizenship, by region
    few: float = 0.22  # people of a rare citizenship by sex and band, in the smaller region
    some: float = 6.0  # of the less rare one at working age
    pensioners: float = 0.55  # of the retired below 70 whose last occupation is known
    others: float = 0.9  # of others who do not work
    old: float = 18.0  # how many reach a great age
    fewer: float = 0.05  # foreigners, for each band away from 30 to 34
    more: float = 12.0  # times as many of them in region 1
    far: float = 0.3  # of the foreigners, from further away
    width: float = 2.5  # how much people of an age differ by education

    def shares(self) -> Floats:
        """Return the share of every cell in the people of its region."""
        found = np.einsum(
            "ra,sa,rasb,raboe,rac->rsaboec",
            self._ages_by_region(),
            self._sexes(),
            self._activities(),
            self._work(),
            self._citizens(),
        )
        return np.asarray(found / found.sum(axis=(1, 2, 3, 4, 5, 6), keepdims=True))

    def _ages(self) -> Floats:
        bands = np.arange(21)
        shape = np.where(bands < 13, 1.0, np.exp(-((bands - 12.5) ** 2) / self.old))
        shape[9] = 0
        shape *= (1_500_000 - AGED_45) / shape.sum()
        shape[9] = AGED_45
        return np.asarray(shape / 1_500_000)

    def _ages_by_region(self) -> Floats:
        """Ages in the two regions: together they are as they must be."""
        tilt = self.older * (np.arange(21) - 8.0)
        weight = np.array(TOTALS) / sum(TOTALS)
        both = np.stack([1 - tilt * weight[1], 1 + tilt * weight[0]])
        return np.asarray(self._ages() * both)

    def _sexes(self) -> Floats:
        men = np.linspace(0.515, 0.44, 21)
        men *= MEN / 1_500_000 / float(men @ self._ages())
        return np.stack([men, 1 - men])

    def _activities(self) -> Floats:
        """Employed, unemployed, student, retired, other: by age and sex."""
        found = np.zeros((2, 21, 2, 5))
        for region, band, sex in np.ndindex(2, 21, 2):
            student = {3: 0.8, 4: 0.3, 5: 0.06}.get(band, 0.0) if band >= 3 else 0.0
            retired = min(max((band - 9.5) / 4, 0.0), 1.0) if band >= 10 else 0.0
            other = 1.0 if band < 3 else (0.04 + 0.12 * sex) * (1 - student) * (1 - retired)
            left = max(1 - student - retired - other, 0.0)
            works = band < 14
            out = self.out[region]
            found[region, band, sex] = (
                left * (1 - out) * works,
                left * out * works,
                student,
                retired + left * (not works),
                other,
            )
        return found / found.sum(axis=3, keepdims=True)

    def _work(self) -> Floats:
        """Education, and occupation by activity and education: by region and age."""
        found = np.zeros((2, 21, 5, 13, 9))
        for region in range(2):
            for band in range(21):
                school = self._education(region, band)
                known = self._occupation(school)
                plain = np.zeros((13, 9))
                plain[12] = school
                found[region, band] = plain
                if 3 <= band < 14:
                    found[region, band, 0] = known
                    found[region, band, 1] = 0.75 * known + 0.25 * plain
                    retired = self.pensioners
                    found[region, band, 3] = retired * known + (1 - retired) * plain
                    found[region, band, 4] = self.others * known + (1 - self.others) * plain
        return found

    def _education(self, region: int, band: int) -> Floats:
        place = np.arange(9)
        if band < 3:
            return np.asarray(place == 0, float) if band < 2 else np.array([0.9, 0.1] + [0.0] * 7)
        top = {3: 4, 4: 6, 5: 7}.get(band, 8)
        middle = min(5.0 - 0.12 * band + self.better * (0.5 - region), top - 0.5)
        share = np.exp(-((place - middle) ** 2) / self.width) * (place <= top)
        return np.asarray(share / share.sum())

    def _occupation(self, school: Floats) -> Floats:
        place, needed = np.arange(9) / 8, np.linspace(0, 1, 12)
        off = np.abs(needed[:, None] - place[None, :])
        fits = np.exp(-((off / self.spread) ** 2) / 2) + self.tail
        fits *= off <= self.reach
        common = np.exp(-self.steep * np.abs(np.sin(2.4 * np.arange(12))))
        fits *= common[:, None]
        fits /= fits.sum(axis=0, keepdims=True)
        return np.concatenate([fits * school, np.zeros((1, 9))])

    def _citizens(self) -> Floats:
        found = np.zeros((2, 21, 5))
        bands = np.arange(21)
        for region in range(2):
            foreign = self.foreign[region] * np.exp(-self.fewer * np.abs(bands - 6))
            everybody = TOTALS[1] * self._ages() / 2
            works = (bands >= 4) & (bands < 14)
            some = self.some * (1 if region else self.more)
            rare = np.where(works, some, self.few) / everybody, self.few / everybody
            found[region, :, 1] = (1 - self.far) * foreign
            found[region, :, 2] = self.far * foreign
            found[region, :, 3], found[region, :, 4] = rare
            found[region, :, 0] = 1 - found[region, :, 1:].sum(axis=1)
        return found


def hypercube(seed: int = SEED, country: Country | None = None) -> NDArray[np.int64]:
    """Return how many people each cell has, with the printed totals of the regions."""
    shares = (country or Country()).shares().reshape(2, -1)
    rng = np.random.default_rng(seed)
    found = [rng.multinomial(n, p) for n, p in zip(TOTALS, shares, strict=True)]
    return np.stack(found).reshape(SHAPE).astype(np.int64)


def table(cube: NDArray[Any], name: str) -> NDArray[Any]:
    """Return one of the four output tables of a hypercube, of counts or of shares."""
    by, _, where = TABLES[name].partition(" where ")
    variable, code = where.split("=")
    picked = cube.take([int(code) - 1], axis=NAMES.index(variable))
    lost = tuple(axis for axis, name_ in enumerate(NAMES) if name_ not in by.split(","))
    return np.asarray(picked.sum(axis=lost))


def small(counts: NDArray[Any]) -> list[float]:
    """Return how many cells are 0, 1, 2, and 3 to 5."""
    return [float(((low <= counts) & (counts <= high)).sum()) for low, high in SIZES]


def small_expected(name: str | None = None) -> list[float]:
    """Return how many cells of a table, or of the hypercube, are small on average over seeds."""
    cube = Country().shares() * np.reshape(TOTALS, (2, *[1] * 6))
    means = (cube if name is None else table(cube, name)).ravel()
    each = [means**k * np.exp(-means) / factorial(k) for k in range(6)]
    return [float(sum(each[low : high + 1]).sum()) for low, high in SIZES]  # type: ignore[union-attr]


def write(path: Path, seed: int = SEED) -> Path:
    """Write the hypercube as a long file, a row for each cell."""
    counts = hypercube(seed)
    codes = np.indices(SHAPE).reshape(len(SHAPE), -1) + 1
    columns = {name: pa.array(map(str, c.tolist())) for name, c in zip(NAMES, codes, strict=True)}
    pq.write_table(pa.table({**columns, "count": counts.ravel()}), path)
    return path


if __name__ == "__main__":
    write(Path(sys.argv[1]))
