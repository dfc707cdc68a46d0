"""Ids that differ are known to; anything else is left to others."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from discreet.build import ids
from discreet.build.ids import Ids

ROWS = 1_000  # so that there are 16,000 bits


@pytest.fixture(autouse=True)
def _of_any_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ids, "SMALL", 0)


@pytest.mark.parametrize("kind", [pa.uint32(), pa.int64(), pa.uint8()], ids=str)
def test_ids_of_several_batches_that_differ(kind: pa.DataType) -> None:
    seen = Ids(ROWS)
    values = np.random.default_rng(1).permutation(200)
    for part in np.array_split(values, 3):
        seen.add(pa.array(part).cast(kind))
    assert seen.differ


@pytest.mark.parametrize(
    "second",
    [
        [7, 3],  # 3 was there
        [7, 7],
        [7, -1],
        [7, 16_000],  # the bits end at 15,999
        [7, None],
        ["7", "8"],
    ],
    ids=str,
)
def test_whatever_else_is_not_known_to_differ(second: list[object]) -> None:
    seen = Ids(ROWS)
    seen.add(pa.array([1, 2, 3, 15_999]))
    assert seen.differ
    seen.add(pa.array(second))
    seen.add(pa.array([100]))
    assert not seen.differ


def test_few_records_are_left_to_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ids, "SMALL", ROWS)
    assert not Ids(ROWS).differ
