"""Few records are put in order by NumPy, many by the kernels, and both the same."""

from __future__ import annotations

import io

import numpy as np
import pytest

from discreet.build import columns


@pytest.mark.parametrize("small", [-1, 2**40], ids=["compiled", "plain"])
@pytest.mark.parametrize("kind", [np.uint8, np.uint16, np.uint32])
def test_records_go_to_their_areas_in_the_order_they_came(
    small: int, kind: type, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(columns, "SMALL", small)
    areas = np.array([2, 0, 1, 2, 0], np.uint32)
    starts = np.array([0, 2, 3, 5], np.int64)
    places = columns._places(areas, starts)
    # Area 0 has the records 1 and 4, area 1 has 2, area 2 has 0 and 3.
    assert places is not None
    assert places.tolist() == [3, 0, 2, 4, 1]
    written = io.BytesIO()
    columns._put(np.array([10, 11, 12, 13, 14], kind), places, written)
    assert np.frombuffer(written.getvalue(), kind).tolist() == [11, 14, 12, 10, 13]


def test_records_in_order_stay_where_they_are() -> None:
    assert columns._places(np.array([0, 0, 1], np.uint32), np.array([0, 2, 3])) is None
