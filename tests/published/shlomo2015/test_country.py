"""The people of scripts/country.py against Table 2 of [Shlomo2015] and §4 of [Shlomo2010]."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet import risk, utility
from discreet.protect import IndividualSwapping
from studies import script

FIGURES = json.loads((Path(__file__).parent / "figures.json").read_text(encoding="utf-8"))
SEEDS = (1, 2)  # searched for were averages; seeds were looked at besides


@pytest.fixture(scope="module")
def made() -> Any:
    return script("country")


def printed(name: str) -> list[int]:
    """The cells of 0, 1, 2, and 3 to 5 in Table 2."""
    table = FIGURES["output_tables"][name]
    few = table["threes"] + table["fours"] + table["fives"]
    return [table["zeros"], table["ones"], table["twos"], few]


@pytest.mark.parametrize("name", ["1", "2", "3", "4"])
def test_small_cells_on_average_are_within_a_factor_of_1_3_of_print(made: Any, name: str) -> None:
    for here, there in zip(made.small_expected(name), printed(name), strict=True):
        assert 1 / 1.3 < here / there < 1.3


def test_small_cells_of_the_hypercube_are_within_a_factor_of_1_3_of_print(made: Any) -> None:
    """On average, and for every seed too: chance hardly matters among so many cells."""
    there = [FIGURES["hypercube"]["cells_by_value"][size] for size in ("0", "1", "2", "3-5")]
    for here in (made.small_expected(), *(made.small(made.hypercube(seed)) for seed in SEEDS)):
        for mine, printed_ in zip(here, there, strict=True):
            assert 1 / 1.3 < mine / printed_ < 1.3


@pytest.mark.parametrize("seed", SEEDS)
def test_small_cells_of_a_seed_differ_from_the_average_by_chance_alone(
    made: Any, seed: int
) -> None:
    cube = made.hypercube(seed)
    for name in made.TABLES:
        table = made.table(cube, name)
        assert table.size == FIGURES["output_tables"][name]["cells"]
        people = FIGURES["output_tables"][name]["population"]
        assert int(table.sum()) == pytest.approx(people, rel=0.01)
        for here, mean in zip(made.small(table), made.small_expected(name), strict=True):
            # A sum of zeros and ones of cells has a variance of at most its mean.
            assert abs(here - mean) < 4 * np.sqrt(mean)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_swap_of_a_tenth_has_the_printed_utility_within_a_hundredth(made: Any, seed: int) -> None:
    cube = made.hypercube(seed)
    swapped = IndividualSwapping(0.1, axis=0).apply(cube, np.random.default_rng(seed))
    for name in made.TABLES:
        score = utility.score(made.table(cube, name), made.table(swapped, name))
        printed_score = FIGURES["risk_utility"][name]["swapping"][1]
        assert score == pytest.approx(printed_score, abs=0.01), name


@pytest.mark.parametrize("seed", SEEDS)
def test_the_entropy_of_subgroups_is_near_the_printed_one(made: Any, seed: int) -> None:
    """2.36 in print; 2.97 in the synthetic census of `discreet synth`."""
    assert risk.median_entropy(made.hypercube(seed), (0, 1, 2)) == pytest.approx(2.36, abs=0.05)
