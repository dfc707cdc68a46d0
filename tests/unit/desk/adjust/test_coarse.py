"""Rounded figures of an adjusted table: which, to what, and what is said of them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from discreet.desk.adjust import adjust
from discreet.desk.adjust.coarse import coarse_cells, rounded, sums_off, with_room
from discreet.desk.adjust.method import ControlledAdjustment
from discreet.desk.cells import CellTable
from discreet.desk.sensitivity import Given, Required
from discreet.errors import ParameterError
from discreet.table.hierarchy import Hierarchy


def _table(inner: np.ndarray, flags: np.ndarray) -> CellTable:
    values = np.pad(inner, (0, 1))
    values[-1] = values.sum(axis=0)
    values[:, -1] = values.sum(axis=1)
    codes = (("r0", "r1", "_T"), ("c0", "c1", "_T"))
    parents = ((2, 2, -1),) * 2
    return CellTable(
        ("row", "column"), codes, parents, values, False, sensitive=np.pad(flags, (0, 1))
    )


def test_figures_that_change_much_are_rounded_whichever_way_they_went() -> None:
    # 20% of 1,300 is 260: the least step is 500. 20% of 84 is 16.8: 20. Halves go up.
    np.testing.assert_array_equal(rounded(np.array([1300.0, 84, 250]), 0.2), [1500, 80, 250])
    table = _table(np.array([[1000.0, 2000], [3000, 900]]), np.array([[True, False]] * 2))
    found = ControlledAdjustment().adjust(table, [Given(25)], np.random.default_rng(1))
    # The cell of 1,000 needs 250: of a released 1,250 that is 20%, of 750 it is 33%. What is told
    # depends on the need and the released figure, not on which of the two is the case.
    needed = np.where(found.sensitive, 0.25 * table.values, np.abs(found.values - table.values))
    for share in (0.05, 0.24, 0.3):
        expected = needed > share * found.values + 1e-9
        np.testing.assert_array_equal(
            coarse_cells(table.values, found.values, found.required, share), expected
        )


def test_rounded_figures_are_told_and_not_counted_as_changes() -> None:
    frame = pd.DataFrame(
        {"r": list("aabb"), "c": list("xyxy"), "value": [100, 4000, 5000, 300],
         "sensitive": [1, 0, 0, 0], "lower": [60, 0, 0, 0], "upper": [60, 0, 0, 0]}
    )  # fmt: skip
    # 100 − 60 or 100 + 60 will be rounded, to at most 10 or 20: half of it more must be moved.
    room = frame.assign(lower=[65, 0, 0, 0], upper=[70, 0, 0, 0])
    plain = adjust(room, seed=1)
    found = adjust(frame, coarse=10, seed=1)
    sheet, true = found.to_pandas(), plain.to_pandas()
    assert found.facts["rounded"] == (sheet["status"] == "rounded").sum() > 0
    assert found.facts["quality"]["largest_change"] <= 0.1 / 0.9
    shown = sheet["status"] == "published"
    np.testing.assert_array_equal(sheet["value"][shown], true["value"][shown])
    with pytest.raises(ParameterError, match="coarse must be"):
        adjust(frame, coarse=60)


def test_sensitive_figures_have_room_to_be_rounded() -> None:
    # 1,005 must move by 100. 5% of it is 50.25, and of up to 2,000 at most 100: a step of 100, so
    # half of it more on either side.
    flags, need = np.array([True, False]), np.array([100.0, 0])
    needed = Required(flags, need, need)
    true = np.array([1005.0, 2550])
    lower, upper = with_room(true, needed, need, need, 0.05)
    assert lower.tolist() == upper.tolist() == [150, 0]
    assert rounded(true + upper, 0.05)[0] >= 1105
    assert rounded(true - lower, 0.05)[0] <= 905
    # 100 is less than 15% of 855 and more: what is not rounded needs no room.
    assert with_room(true, needed, need, need, 0.15)[1].tolist() == [100, 0]


def test_sums_with_a_gap_are_left_out() -> None:
    trees = [Hierarchy((2, 2, -1)), Hierarchy((2, 2, -1))]
    figures = np.array([[10.0, 20, 33], [5, 5, 10], [15, 25, 43]])
    assert sums_off(figures, trees) == 3
    figures[0, 0] = np.nan
    # Of what is whole 43 is the sum of 33 and 10, and 40 the sum of 15 and 25.
    assert sums_off(figures, trees) == 3
    figures[2, 2] = np.nan
    assert sums_off(figures, trees) == 0


@pytest.mark.parametrize("share", [3, 5, 9, 20])
@pytest.mark.parametrize("seed", range(3))
def test_what_is_said_is_true_of_the_figures_that_are_written(share: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    values = np.round(rng.lognormal(6, 1, 20)) + 10
    frame = pd.DataFrame(
        {
            "r": np.repeat(list("abcd"), 5),
            "c": np.tile(list("vwxyz"), 4),
            "value": values,
            "sensitive": (rng.random(20) < 0.3).astype(int),
        }
    )
    found = adjust(frame, coarse=share, seed=1)
    assert found.released == (not found.facts["short"])
    if not found.released:
        return
    sheet, true = found.to_pandas(), found.custodian.to_pandas()
    moved = (sheet["value"] - true["true"]).abs()
    assert (moved >= true["lower"] - 1e-9)[true["sensitive"] == 1].all()
    inner = sheet[(sheet["r"] != "_T") & (sheet["c"] != "_T")]
    off = [0.0]
    for name in "rc":
        total = sheet[(sheet["c" if name == "r" else "r"] == "_T") & (sheet[name] != "_T")]
        off += (inner.groupby(name)["value"].sum() - total.set_index(name)["value"]).abs().tolist()
        top = sheet[(sheet["r"] == "_T") & (sheet["c"] == "_T")]["value"].iloc[0]
        off.append(abs(total["value"].sum() - top))
    assert found.facts["sums_off"] == max(off)
    assert ("sums are off by up to" in str(found)) == (max(off) > 0)
