"""The tables that other programs were run on: no more cells withheld than by the best of them."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from discreet.desk.cells import read_cells
from discreet.desk.suppress import Objective
from discreet.desk.suppress.method import Suppression
from discreet.desk.suppress.solver import Mark

PEERS = Path(
    os.environ.get("DISCREET_PEERS", Path(__file__).resolve().parents[5] / "shared" / "peers")
)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "most"), [("tab_1k", 12), ("tab_1ks", 194), ("tab_2k", 222), ("tab_10k", 1452)]
)
@pytest.mark.parametrize("singletons", [False, True])
def test_no_more_cells_than_the_best_of_other_programs(
    name: str, most: int, singletons: bool
) -> None:
    # GaussSuppression 1.2.3, and sdcTable 0.32.7 for tab_1k; neither protects from singletons.
    path = PEERS / f"{name}.csv"
    if not path.exists():
        pytest.skip(f"{path.name} is not there: set DISCREET_PEERS to the folder of these tables")
    method = Suppression(objective=Objective.NUMBER, singletons=singletons)
    found = method.apply(read_cells(path))
    assert found.number(Mark.PRIMARY) + found.number(Mark.SECONDARY) <= most
    assert np.array_equal(
        found.marks == Mark.PRIMARY, (found.cells.values > 0) & (found.cells.values <= 2)
    )
