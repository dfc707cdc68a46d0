"""The study files of the papers: they are there, and print and study name the same things."""

from __future__ import annotations

import csv
import tomllib

import pytest

from discreet.study.file import read
from discreet.study.measures import MEASURES
from discreet.study.papers import FOLDER, NAMES


def test_four_papers_are_shipped() -> None:
    assert NAMES == ("antal2014", "longhurst2007", "shlomo2010", "shlomo2015")


@pytest.mark.parametrize("name", NAMES)
def test_figures_in_print_are_of_tables_methods_and_measures_of_the_study(name: str) -> None:
    study = tomllib.loads((FOLDER / f"{name}.toml").read_text(encoding="utf-8"))
    with (FOLDER / study["printed"]).open(encoding="utf-8", newline="") as file:
        printed = list(csv.DictReader(file))
    tables = [table["name"] for table in study.get("tables", [])]
    tables += [file.removesuffix(".csv") for file in study["data"].get("tables", [])]
    methods = {
        method.get("name", method["method"].replace("-", " ").capitalize())
        for method in study["methods"]
    }
    asked = study["measures"]
    taken = {asked["risk"], asked["utility"], *asked["also"], "before"}
    for row in printed:
        # Table 4 of Shlomo2015 has a column for the hypercube, which is no table of its study.
        assert row["table"] in tables or (name, row["table"]) == ("shlomo2015", "hypercube")
        assert row["setting"].split(",")[0] in {*methods, "None"}
        assert row["measure"] in taken
        assert row["measure"] in {*MEASURES, "before"}


def test_the_tables_of_antal_need_no_other_data() -> None:
    study = read(FOLDER / "antal2014.toml")
    assert [table.counts.shape[0] for table in study.tables] == [10, 10, 10, 10]
    assert len(study.printed) == 249
