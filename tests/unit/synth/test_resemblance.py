"""The synthetic census against the published tables; the bounds are explained in source.md."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

PUBLISHED = json.loads((Path(__file__).parent / "published.json").read_text(encoding="utf-8"))
HYPERCUBE = PUBLISHED["hypercube"]
SHAPE = (2, 2, 21, 5, 13, 9, 5)


@pytest.fixture(scope="module")
def hypercube(country):
    names = ("activity", "occupation", "education", "citizenship")
    index = (
        country.nuts2,
        country["sex"] - 1,
        country["age"] // 5,
        *(country[name] - 1 for name in names),
    )
    cells = np.bincount(np.ravel_multi_index(index, SHAPE), minlength=int(np.prod(SHAPE)))
    return cells.reshape(SHAPE)


def test_the_hypercube_has_the_published_size_and_nuts2_totals(hypercube):
    assert hypercube.size == HYPERCUBE["cells"]
    assert hypercube.sum(axis=(1, 2, 3, 4, 5, 6)).tolist() == HYPERCUBE["nuts2"]


def test_zeros_ones_and_twos_resemble_the_published_hypercube(hypercube):
    assert abs((hypercube == 0).mean() - 0.92) <= 0.02
    for value in (1, 2):
        published = HYPERCUBE["cells_by_value"][str(value)]
        assert published / 1.5 <= (hypercube == value).sum() <= published * 1.5


@pytest.mark.parametrize("number", ["1", "2", "3", "4"])
def test_zero_shares_of_the_output_tables_are_within_ten_points(hypercube, number):
    # Axes: 0 nuts2, 1 sex, 2 age band, 3 activity, 4 occupation, 5 education, 6 citizenship.
    table = {
        "1": hypercube[0].sum(axis=(0, 2, 5)),
        "2": hypercube[1].sum(axis=(2, 3, 4)),
        "3": hypercube[:, 0].sum(axis=(0, 1, 5)),
        "4": hypercube[:, :, 9].sum(axis=(1, 2, 5)),
    }[number]
    published = PUBLISHED["output_tables"][number]
    assert table.size == published["cells"]
    assert abs((table == 0).mean() - published["zeros"] / published["cells"]) <= 0.10


def test_output_area_by_religion_by_age_and_sex_resembles_the_published_table(estimation_area):
    published = PUBLISHED["output_areas"]
    areas = estimation_area.geography.size
    assert areas == published["areas"]
    age_sex = np.digitize(estimation_area["age"], [16, 65]) * 2 + estimation_area["sex"] - 1
    index = (estimation_area.oa, estimation_area["religion"] - 1, age_sex)
    cells = np.bincount(np.ravel_multi_index(index, (areas, 9, 6)), minlength=areas * 54)
    assert cells.size == published["cells"]
    # "About": within three points of the published shares.
    assert abs(100 * (cells == 0).mean() - published["zeros_percent"]) <= 3
    assert abs(100 * ((cells == 1) | (cells == 2)).mean() - published["small_percent"]) <= 3
