from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from numpy.typing import NDArray

from discreet.synth.geography import Geography, lay_out
from discreet.synth.variables import IDS
from discreet.synth.writer import draw

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Census:
    """A synthetic census in memory: a column a variable, and each person's areas from 0."""

    geography: Geography
    columns: dict[str, Ints]
    household: Ints
    oa: Ints

    def __getitem__(self, name: str) -> Ints:
        return self.columns[name]

    @property
    def nuts2(self) -> Ints:
        g = self.geography
        return g.nuts2_of_region[g.region_of_la[g.la_of_ward[g.ward_of_oa[self.oa]]]]


def make(persons: int, seed: int = 1) -> Census:
    geography = lay_out(persons, seed)
    block = draw(geography, seed, 0, geography.size)
    columns = {name: row.astype(np.int64) for name, row in zip(IDS, block.columns, strict=True)}
    return Census(
        geography, columns, block.household.astype(np.int64), block.oa.astype(np.int64) - 1
    )


@pytest.fixture(scope="session")
def town() -> Census:
    """120,000 people: enough for every structure, drawn in a moment."""
    return make(120_000)


@pytest.fixture(scope="session")
def country() -> Census:
    """The 1,500,000 people of the published hypercube."""
    return make(1_500_000)


@pytest.fixture(scope="session")
def estimation_area() -> Census:
    """The 437,744 people of the published table by output area."""
    return make(437_744)
