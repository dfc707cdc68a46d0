"""The description of the census: sizes, unique labels, nested levels of age."""

from __future__ import annotations

import tomllib

from discreet.synth.variables import AREAS, CATEGORIES, DESCRIBED, OLDEST

VARIABLES = tomllib.loads(DESCRIBED)["variables"]


def test_the_variables_have_the_promised_sizes():
    # sex 2, marital status 6, … as in the interface; age has years instead.
    assert [len(labels) for labels in CATEGORIES.values()] == [
        2, 0, 6, 5, 13, 9, 5, 17, 9, 19, 11, 5, 2, 4, 8,
    ]  # fmt: skip
    assert OLDEST == 100
    assert AREAS == ("oa", "ward", "la", "region", "nuts2")


def test_labels_are_unique_within_a_variable_and_codes_run_from_1():
    for name, labels in CATEGORIES.items():
        assert len(set(labels)) == len(labels)
        assert VARIABLES[name]["label"]
        assert VARIABLES[name]["definition"].endswith(".")
        codes = list(VARIABLES[name].get("categories", {}))
        assert codes == [str(code) for code in range(1, len(labels) + 1)]


def test_age_levels_cover_every_age_once_and_are_nested():
    levels = VARIABLES["age"]["levels"]
    bands, broad = (
        [tuple(map(int, group["of"].split(".."))) for group in levels[name]["groups"].values()]
        for name in ("age_band", "age_broad")
    )
    assert (len(bands), len(broad)) == (21, 6)
    for level in (bands, broad):
        ages = [age for low, high in level for age in range(low, high + 1)]
        assert ages == list(range(OLDEST + 1))
    for low, high in bands:
        assert sum(a <= low and high <= b for a, b in broad) == 1
