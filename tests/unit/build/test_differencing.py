"""Groupings that can be subtracted: found, refused by name, or accepted on the record."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.build.categories import Categories, Grouping
from discreet.build.dataset import Column
from discreet.build.differencing import Difference, differences

if TYPE_CHECKING:
    from conftest import Folder


def column(*groupings: list[int]) -> Column:
    """A variable with codes 0, 1, …; grouping g puts them into groups g0, g1, …"""
    size = len(groupings[0])
    codes = tuple(str(i) for i in range(size))
    made = []
    for name, of in zip("abc", groupings, strict=False):
        groups = tuple(f"{name}{i}" for i in range(max(of) + 1))
        made.append(Grouping(name, name, Categories(groups, groups), tuple(of)))
    return Column("v", "V", "", "v", Categories(codes, codes), tuple(made))


def people(*counts: int) -> np.ndarray:
    return np.array(counts, np.int64)


def test_ages_16_and_17_stand_out() -> None:
    # a: 0–15, 16+. b: 0–17, 18+. Here 0 is 0–15, 1 is 16–17, 2 is 18+.
    crossed = column([0, 1, 1], [0, 0, 1])
    assert differences(crossed, people(100, 9, 100), 10) == (Difference("v", "a", "b", "a1", "b0"),)


def test_the_minimum_itself_is_enough() -> None:
    crossed = column([0, 1, 1], [0, 0, 1])
    assert differences(crossed, people(100, 10, 100), 10) == ()


def test_nobody_is_fewer_than_the_minimum() -> None:
    assert len(differences(column([0, 1, 1], [0, 0, 1]), people(100, 0, 100), 1)) == 1


def test_nested_groupings_give_nothing_away() -> None:
    nested = column([0, 0, 1, 1], [0, 1, 2, 3], [0, 0, 0, 0])
    assert differences(nested, people(1, 1, 1, 1), 10) == ()


def test_whole_categories_are_not_differences() -> None:
    # b splits a1 only, so every cell is all of a category of b.
    assert differences(column([0, 1, 1], [0, 1, 2]), people(1, 1, 1), 10) == ()


def test_every_pair_is_looked_at() -> None:
    three = column([0, 1, 1, 1], [0, 0, 1, 1], [0, 0, 0, 1])
    found = differences(three, people(50, 1, 1, 50), 10)
    assert {(d.first, d.second) for d in found} == {("a", "b"), ("a", "c"), ("b", "c")}


def test_large_groupings_need_no_large_table() -> None:
    """Two groupings into 30,000 each: their full cross would be 7 GB."""
    n = 60_000
    pairs, shifted = np.arange(n) // 2, (np.arange(n) + 1) // 2
    crossed = column(pairs.tolist(), shifted.tolist())
    found = differences(crossed, np.full(n, 10), 11)
    # The first and the last code are groups of b by themselves; all others are differences.
    assert len(found) == n - 2


@given(
    st.integers(2, 7).flatmap(
        lambda n: st.tuples(
            st.lists(st.integers(0, 3), min_size=n, max_size=n),
            st.lists(st.integers(0, 3), min_size=n, max_size=n),
            st.lists(st.integers(0, 3), min_size=n, max_size=n),
        )
    )
)
def test_against_sets(drawn: tuple[list[int], list[int], list[int]]) -> None:
    """The naive twin: intersections of member sets that are not a whole group of either."""
    first, second, counts = drawn
    expected = set()
    for i in set(first):
        for j in set(second):
            a = {k for k, g in enumerate(first) if g == i}
            b = {k for k, g in enumerate(second) if g == j}
            both = a & b
            if both and both != a and both != b and sum(counts[k] for k in both) < 4:
                expected.add((f"a{i}", f"b{j}"))
    found = differences(column(first, second), people(*counts), 4)
    assert {(d.a, d.b) for d in found} == expected


TOML = """
source = {{ files = "p.csv", record_id = "id" }}
{accept}
[variables.age]
range = [0, 99]
[variables.age.levels]
school.groups = {{ pupil = "0..15", other = "16..99" }}
adult.groups = {{ minor = "0..17", adult = "18..99" }}
"""


def ages(folder: Folder, of_16: int, accept: str = "") -> Folder:
    """A hundred people aged 5, a hundred aged 40, and some aged 16."""
    held = [5] * 100 + [40] * 100 + [16] * of_16
    folder.write("p.csv", "id,age\n" + "".join(f"{i},{age}\n" for i, age in enumerate(held)))
    return folder.describe(TOML.format(accept=accept))


def test_a_failing_grouping_is_refused_by_name(folder: Folder) -> None:
    assert ages(folder, 9).refused() == (
        "groupings that can be subtracted from each other leave groups below the minimum "
        "population of 10:\n"
        "  - 'adult' subtracted from 'school' gives away 'other' ∩ 'minor'\n"
        "Take adult out, or accept the risk with accept_differencing = ['adult'], which is "
        "recorded."
    )


def test_at_the_minimum_it_is_built(folder: Folder) -> None:
    assert ages(folder, 10).version().manifest["accepted_differencing"] == []


def test_the_policy_sets_the_minimum(folder: Folder) -> None:
    folder.write("policy.toml", "minimum_population = 5\n")
    assert ages(folder, 5, 'policy = "policy.toml"').version().rows == 205
    assert "minimum population of 5:" in ages(folder, 4, 'policy = "policy.toml"').refused()


def test_an_override_is_recorded(folder: Folder) -> None:
    built = ages(folder, 9, 'accept_differencing = ["adult"]').build()
    recorded = {"variable": "age", "grouping": "adult", "against": "school"}
    assert folder.store.open().manifest["accepted_differencing"] == [recorded]
    assert built.notes == ("Accepted: 'adult' can be subtracted from 'school'.",)


def test_an_override_of_another_grouping_does_not_help(folder: Folder) -> None:
    assert "gives away" in ages(folder, 9, 'accept_differencing = ["school"]').refused()


@pytest.mark.parametrize("count", [9, 10])
def test_a_hypercube_is_judged_by_its_counts(folder: Folder, count: int) -> None:
    folder.write("p.csv", f"age,n\n5,100\n40,100\n16,{count}\n")
    folder.describe(TOML.format(accept="").replace('record_id = "id"', 'count = "n"'))
    if count < 10:
        assert "gives away 'other' ∩ 'minor'" in folder.refused()
    else:
        assert folder.version().rows == 3
