"""The study of [Shlomo2010] on synthetic people; see source.md and docs/pretabular.md."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from discreet import utility
from discreet.protect import IndividualSwapping

ROOT = Path(__file__).parents[3]
PRINTED = json.loads((Path(__file__).parent / "figures.json").read_text(encoding="utf-8"))
REGIONS = np.array([854_539, 645_461])


@pytest.fixture(scope="module")
def study() -> ModuleType:
    path = ROOT / "scripts" / "study_pretabular.py"
    spec = importlib.util.spec_from_file_location("study_pretabular", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["study_pretabular"] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def figures(study: ModuleType) -> dict[str, Any]:
    found: dict[str, Any] = study.shlomo()
    return found


@pytest.mark.slow
def test_the_hypercube_is_about_as_sparse_as_the_printed_one(figures: dict[str, Any]) -> None:
    assert figures["cells"]["all"] == 245_700
    assert figures["cells"]["zeros"] == pytest.approx(226_939, rel=0.02)
    assert figures["cells"]["small"] == pytest.approx(6_140, rel=0.25)


@pytest.mark.slow
def test_small_cells_changed(figures: dict[str, Any]) -> None:
    """The stochastic share is the matrix's, the order of the methods that of the paper."""
    changed = figures["all"]["changed"]
    printed = PRINTED["small_cells_changed_percent"]
    assert changed["stochastic"] == pytest.approx(printed["stochastic"], abs=2)
    assert changed["rounding"] == 100
    assert changed["swapping"] < changed["stochastic"] < changed["rounding"]
    # A tenth and a twentieth moved lie on either side of the printed figure.
    assert changed["half"] < printed["swapping"] < changed["swapping"]


@pytest.mark.slow
def test_distances_by_swapping(figures: dict[str, Any]) -> None:
    """Without the region nothing changes; by region swapping is the worst for most variables."""
    for name, here in figures["RAD"].items():
        printed = PRINTED["RAD"][name]
        if printed[2] == 0 and name != "gender*nuts2":
            assert here["swapping"] == 0, name
    for name in ("activity*nuts2", "occupation*nuts2", "education*nuts2"):
        here = figures["RAD"][name]
        assert here["swapping"] > max(here["stochastic"], here["rounding"]), name
        assert PRINTED["RAD"][name][2] > max(PRINTED["RAD"][name][:2]), name
    here = figures["RAD"]["citizenship*nuts2"]
    assert here["swapping"] < here["stochastic"]
    assert PRINTED["RAD"]["citizenship*nuts2"][2] < PRINTED["RAD"]["citizenship*nuts2"][0]


@pytest.mark.slow
def test_cramers_v_falls_as_arithmetic_says_not_as_printed(figures: dict[str, Any]) -> None:
    """k of each region change places: differences shrink by k/N₁ + k/N₂ (see source.md)."""
    for rate, method in ((0.1, "swapping"), (0.05, "half")):
        k = rate / 2 * REGIONS.sum()
        expected = -100 * float((k / REGIONS).sum())
        mean = np.mean([found[method] for found in figures["cramers_v"].values()])
        assert mean == pytest.approx(expected, abs=2)
    printed = PRINTED["cramers_v_change_percent_under_swapping"]
    assert abs(printed - -10) < abs(printed - -20)
    for found in figures["cramers_v"].values():
        assert abs(found["rounding"]) < 2


def test_the_shrinking_by_hand() -> None:
    """Region 0 all of one kind, region 1 all of the other: V is 1, and 1 − k/N₁ − k/N₂ after.

    N = (6,000, 4,000) and k = 500: 5,500/500 and 500/3,500, a difference of shares of
    5500/6000 − 500/4000 = 0.79167 = 1 − 500/6000 − 500/4000. V of a two by two table is that times
    √(N₁N₂/(C₁C₂)), and the columns are as large as the rows.
    """
    cube = np.array([[6000, 0], [0, 4000]])
    swapped = IndividualSwapping(0.1).apply(cube, np.random.default_rng(1))
    assert utility.cramers_v(swapped) == pytest.approx(1 - 500 / 6000 - 500 / 4000)
