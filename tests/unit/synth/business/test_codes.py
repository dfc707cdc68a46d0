"""The dimensions of the businesses and their trees."""

from __future__ import annotations

from discreet.synth.business import DIMENSIONS


def test_there_are_nine_dimensions_three_of_them_trees() -> None:
    assert len(DIMENSIONS) == 9
    assert [dimension.id for dimension in DIMENSIONS if dimension.hierarchical] == [
        "region",
        "industry",
        "product",
    ]
    for dimension in DIMENSIONS:
        assert len(set(dimension.codes)) == len(dimension.codes)
        # Parents come before their parts, so that one pass down the list is enough.
        assert all(parent < place for place, parent in enumerate(dimension.parents))
