"""Who is alone in a cell: in counts, in totals of one, and with several cells of one holding."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from discreet.desk.cells import read_cells, read_records
from discreet.desk.suppress.singletons import lone_contributors, lone_holdings


def test_a_total_of_one_has_the_owner_of_its_part(tmp_path: Path) -> None:
    # Row q has a 1 alone, so its total is 1 too, and the same person; so it is with column x.
    (tmp_path / "t.csv").write_text(",x,y\np,1,5\nq,0,1\n")
    owner = lone_contributors(read_cells(tmp_path / "t.csv"))
    assert owner[0, 0] == owner[2, 0] >= 0
    assert owner[1, 1] == owner[1, 2] >= 0
    assert owner[0, 0] != owner[1, 1]
    assert (owner >= 0).sum() == 4


def test_magnitudes_without_contributors_have_no_owners(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,value\nx,1\ny,2\n")
    assert (lone_contributors(read_cells(tmp_path / "t.csv")) == -1).all()


def test_a_holding_is_one_wherever_it_is_alone(tmp_path: Path) -> None:
    (tmp_path / "r.csv").write_text("a,b,firm,v\nx,u,1,10\ny,w,1,20\ny,u,2,5\ny,u,3,5\n")
    records = read_records(tmp_path / "r.csv", ["a", "b"], "v", "firm")
    owner = lone_holdings(records)
    codes_a, codes_b = records.codes
    alone = {
        (codes_a[i], codes_b[j]): int(owner[i, j])
        for i, j in zip(*np.nonzero(owner >= 0), strict=True)
    }
    # Firm 1 is alone in x/u, in the total of x, in y/w and in the total of w.
    assert set(alone) == {("x", "u"), ("x", "_T"), ("y", "w"), ("_T", "w")}
    assert len(set(alone.values())) == 1
