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
    ("name", "singletons", "most"),
    [
        # gconfid 2.0.4.
        ("tab_1k", False, 12), ("tab_1ks", False, 136), ("tab_2k", False, 184),
        ("tab_10k", False, 1385),
        # With what none of them gives, no more than GaussSuppression 1.2.3 or sdcTable 0.32.7.
        ("tab_1k", True, 12), ("tab_1ks", True, 194), ("tab_2k", True, 222),
        ("tab_10k", True, 1452),
    ],
)  # fmt: skip
def test_no_more_cells_than_the_best_of_other_programs(
    name: str, singletons: bool, most: int
) -> None:
    path = PEERS / f"{name}.csv"
    if not path.exists():
        pytest.skip(f"{path.name} is not there: set DISCREET_PEERS to the folder of these tables")
    method = Suppression(objective=Objective.NUMBER, singletons=singletons)
    found = method.apply(read_cells(path))
    assert found.number(Mark.PRIMARY) + found.number(Mark.SECONDARY) <= most
    assert np.array_equal(
        found.marks == Mark.PRIMARY, (found.cells.values > 0) & (found.cells.values <= 2)
    )
