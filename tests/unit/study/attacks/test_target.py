from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet.errors import QueryRefused
from discreet.study.attacks.target import Ask, Target, by, where


def test_a_store_is_a_target(census_store: Path) -> None:
    target = Target.open(census_store)
    assert target.people == 20_000
    assert (target.area.id, target.parent.id) == ("oa", "ward")
    figures = target.figures("la,sex")
    assert figures is not None
    assert figures.shape == (10, 2)
    assert abs(float(figures.sum()) - 20_000) < 60
    assert target.truth("la,sex", None).sum() == 20_000
    assert (target.questions, target.refused) == (1, 0)


def test_nothing_that_is_asked_is_recorded(census_store: Path) -> None:
    records = census_store / "records"
    before = records.read_bytes() if records.exists() else b""  # of other tests of this store
    Target.open(census_store).figures("la,health")
    assert (records.read_bytes() if records.exists() else b"") == before


def test_a_refusal_is_no_figures_and_is_counted(census_store: Path) -> None:
    target = Target.open(census_store)
    assert target.figures("oa,age,country_of_birth,occupation,ethnic_group") is None
    assert (target.questions, target.refused) == (1, 1)
    assert target.fresh().questions == 0


def test_a_fault_stands_between_the_attacker_and_the_answers(census_store: Path) -> None:
    def closed(ask: Ask) -> Ask:
        def refuse(by: str, where: str | None, totals: str) -> Any:
            raise QueryRefused("CLOSED", "closed")

        return refuse

    target = Target.open(census_store).through(closed)
    for one in (target, target.fresh()):
        with pytest.raises(QueryRefused, match="closed"):
            one.ask("sex")


def test_filters_are_written_as_they_are_asked(census_store: Path) -> None:
    target = Target.open(census_store)
    sex, ward = (target.schema.find(name)[1] for name in ("sex", "ward"))
    assert by(ward, sex) == "ward,sex"
    assert where({"sex": ["1"], "ward": ["3", "a|b"]}) == "sex=1,ward=3|a%7Cb"
    assert where({}) is None
    one = target.truth("sex", where({"ward": ["3"]}))
    assert np.array_equal(one, target.truth("ward,sex", None)[ward.index("3")])


def test_one_level_of_each_variable_is_attacked(census_store: Path) -> None:
    # Age has 101 years, 21 bands and 6 broad groups: the finest within the limits is taken.
    target = Target.open(census_store)
    assert [lv.id for lv in target.levels(2, 24) if lv.id.startswith("age")] == ["age_band"]
    assert [lv.id for lv in target.levels(2, 6) if lv.id.startswith("age")] == ["age_broad"]
    # 20,000 people in 10 local authorities by sex are 1,000 in a cell.
    la, sex = (target.schema.find(name)[1] for name in ("la", "sex"))
    assert target.mean(la, sex) == 1_000
