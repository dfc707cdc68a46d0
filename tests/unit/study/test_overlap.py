from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from discreet.query import QuestionClass
from discreet.study.overlap import meet, overlaps, place, summed
from ledgers import SCHEMA, of


def test_tables_meet_in_the_finest_that_both_show() -> None:
    assert meet(of("sex,age"), of("band,oa")).name == "band"
    assert meet(of("sex,age,la"), of("sex,oa")).name == "sex,la"
    assert meet(of("sex"), of("la")).levels == ()


def test_a_cell_lies_in_the_cell_of_the_coarser_table() -> None:
    # sex has 2 categories; 8 ages lie in 4 bands, two in each: cell (sex s, age a) is number
    # 8 s + a, and lies in (s, a // 2), number 4 s + a // 2.
    expected = [4 * s + a // 2 for s in range(2) for a in range(8)]
    assert place(of("sex,age"), of("sex,band")).tolist() == expected
    assert place(of("sex,age"), of("sex")).tolist() == [0] * 8 + [1] * 8
    assert place(of("sex"), QuestionClass(SCHEMA, (0, 0, 0))).tolist() == [0, 0]


def test_figures_are_added_up() -> None:
    values = np.arange(16.0).reshape(2, 8)
    sums, parts = summed(values, of("sex,age"), of("band"))
    # Band 0 holds ages 0 and 1 of both sexes: 0 + 1 + 8 + 9; the next ones 8 more each.
    assert sums.tolist() == [18.0, 26.0, 34.0, 42.0]
    assert parts == 4.0


class Fixed:
    """Releases that are given, of a population that is known."""

    def __init__(self, truth: dict[str, list[int]], released: dict[str, list[int]]) -> None:
        self.truth, self.released = truth, released
        self.engine = self

    def tabulate(self, question: Any) -> Any:
        return SimpleNamespace(counts=np.array(self.truth[QuestionClass.of(question).name]))

    def release(self, question: Any, tier: str) -> Any:
        values = np.array(self.released[QuestionClass.of(question).name])
        return SimpleNamespace(
            table=SimpleNamespace(values=values, withheld=np.zeros(values.shape, bool))
        )


def test_what_two_tables_tell_together_is_more_than_one() -> None:
    # Sex has true counts 3 and 4, released as 2 and 4: reading is right in 1 of 2. Another table,
    # sex by area, adds up to exactly 3 and 4. Weighing 2 (one figure) and 3 (a sum of 4 figures,
    # weight 1/2 by its standard deviation, 1/4 by its variance) gives (2 + 3/4) / (1 + 1/4) = 2.2:
    # still 2. With the area table as sharp as this one, (2 + 3) / 2 = 2.5 would be a tie.
    few = {"sex": [3, 4], "sex,oa": [1, 1, 1, 0, 1, 1, 1, 1]}
    released = {"sex": [2, 4], "sex,oa": [1, 1, 1, 0, 1, 1, 1, 1]}
    found = overlaps(Fixed(few, released), "licensed", [of("sex"), of("sex,oa")])  # type: ignore[arg-type]
    by_table = {one.table: one for one in found}
    assert by_table["sex"].reading == 0.5
    assert by_table["sex"].together == 0.5
    assert by_table["sex"].others == ("sex,oa",)
    # Two further tables of two figures each say 3 as well, weight 1/2 each by variance:
    # (2 + 3/4 + 3/2) / (1 + 1/4 + 1/2) = 4.25 / 1.75 = 2.43; with sex by half and by la it is
    # (2 + 3/4 + 3/2 + 3/2) / (1 + 1/4 + 1/2 + 1/2) = 5.75 / 2.25 = 2.56, which is nearest to 3.
    more = {"sex,half": [1, 2, 2, 2], "sex,la": [2, 1, 2, 2]}
    found = overlaps(
        Fixed(few | more, released | more), "licensed",  # type: ignore[arg-type]
        [of(name) for name in ("sex", "sex,oa", "sex,half", "sex,la")],
    )  # fmt: skip
    # sex,la and sex,oa meet in sex,la, and sex,half adds to sex: the equations of 'sex' itself.
    assert {one.table: one for one in found}["sex"].together == 1.0
    assert found[0].table == "sex"
    assert found[0].gain == 0.5
