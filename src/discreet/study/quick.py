"""The usual methods on one table at three strengths each: what a newcomer runs first."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from discreet.study.cube import Cube
from discreet.study.data import Asked, cube_of, table_of
from discreet.study.measures import USUAL
from discreet.study.methods import Untouched, settings_of
from discreet.study.model import Judged, On, Setting, Study, Told

DRAWS = 20
MOST_CONTROLLED = {2: 1_500, 3: 750}
"""Cells, by dimensions, up to which totals are rounded with their cells: else a draw takes long."""

ROUNDINGS = {"base": [3, 5, 10], "label": "base {base}"}


def usual(cube: Cube) -> list[dict[str, Any]]:
    """Return eight methods at three strengths each, as a study file would have them."""
    area = cube.names[0]
    controlled = cube.counts.size <= MOST_CONTROLLED.get(cube.counts.ndim, 0)
    found: list[dict[str, Any]] = [
        {"method": "cell-key-perturbation", "name": "Cell keys", "variance": [1, 2, 4],
         "label": "variance {variance}"},
        {"method": "random-rounding", **ROUNDINGS},
        {"method": "conventional-rounding", **ROUNDINGS},
        {"method": "small-cell-adjustment", **ROUNDINGS},
        {"method": "semi-controlled-rounding", "name": "Semi-controlled", **ROUNDINGS},
        {"method": "controlled-rounding", **ROUNDINGS} if controlled
        else {"method": "semi-controlled-rounding", "name": f"Semi-controlled by {area}",
              "axis": area, **ROUNDINGS},
        {"method": "individual-swapping", "name": "Swapping", "axis": area,
         "rate": [0.02, 0.05, 0.1], "label": "{rate_percent}"},
        {"method": "pram", "name": "PRAM", "axis": area, "stay": [0.98, 0.95, 0.9],
         "label": "{stay_percent} stay"},
    ]  # fmt: skip
    return found


def quick(
    path: Path,
    draws: int = DRAWS,
    seed: int = 1,
    absent_zero: bool = False,
    sums_are_cells: bool = False,
) -> Study:
    """Return the study of the table in a file under the usual methods."""
    cube = cube_of(path, absent_zero, sums_are_cells)
    by = " × ".join(name.replace("_", " ") for name in cube.names)
    table = table_of(Asked(path.stem, by, ()), cube, 0)
    settings = [Setting("None", "", "none", (), On.TABLE, Untouched())]
    for values in usual(cube):
        settings += settings_of(values, {On.TABLE: [cube.names], On.CUBE: [cube.names]})
    told = Told(
        f"The usual methods on {path.name}",
        f"Which of eight methods, at three strengths each, keeps the risk of {path.name} under the "
        "limit and changes it least?",
        notes=(
            f"People are swapped between the categories of {cube.names[0]}, and PRAM changes it: "
            "the first variable of the file.",
            "Strengths are the usual ones, chosen without looking at the table.",
        ),
    )
    return Study(
        (cube,), (table,), tuple(settings), Judged(measures=USUAL), draws, seed, told, path
    )
