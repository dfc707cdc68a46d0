from __future__ import annotations

import pytest

from discreet.errors import ParameterError
from discreet.page.actions import edited, is_edit
from discreet.page.areas import chosen, find
from discreet.page.early import warning
from discreet.page.fixes import advice
from discreet.page.foresight import Foresight
from discreet.page.state import State, address
from discreet.page.texts import texts
from discreet.page.tree import tree
from discreet.page.verdict import judge
from discreet.population import Schema


def _read(schema: Schema, **values: str) -> State:
    return State.read(values, schema)


def test_an_address_is_read_and_written_again(schema: Schema) -> None:
    state = _read(
        schema, by="age_band,sex,ward", columns="sex", layers="age_band", where="district=1"
    )
    assert (state.layers, state.rows, state.columns) == (("age_band",), ("ward",), ("sex",))
    assert state.values() == {
        "by": "age_band,ward,sex",
        "columns": "sex",
        "layers": "age_band",
        "where": "district=1",
    }
    again = State.read({k: v for k, v in state.values().items() if v is not None}, schema)
    assert again.values() == state.values()


def test_without_a_layout_the_smallest_variable_makes_the_columns(schema: Schema) -> None:
    assert _read(schema, by="sex,health").columns == ("sex",)
    assert _read(schema, by="sex,health", columns="").rows == ("sex", "health")
    assert _read(schema, by="sex").rows == ("sex",)


def test_an_area_stays_at_the_level_it_was_named_at(schema: Schema) -> None:
    wards = "|".join(map(str, range(10)))  # all wards of district 0
    state = _read(schema, by="sex", where=f"ward={wards}")
    assert state.where == f"ward={wards}"
    assert {area.kind for area in chosen(state)} == {"Ward"}


@pytest.mark.parametrize(
    ("by", "match"),
    [("agee", "no variable 'agee'"), ("age,age_band", "must stand in a table once")],
)
def test_a_wrong_address_is_complained_about(schema: Schema, by: str, match: str) -> None:
    with pytest.raises(ParameterError, match=match):
        _read(schema, by=by)


@pytest.mark.parametrize(
    ("action", "layers", "rows", "columns"),
    [
        ("add:health", (), ("age_band", "health"), ("sex",)),
        ("move:sex:rows", (), ("age_band", "sex"), ()),
        ("move:sex:layers", ("sex",), ("age_band",), ()),
        ("swap:", (), ("sex",), ("age_band",)),
        ("remove:sex", (), ("age_band",), ()),
        ("filter:sex", (), ("age_band",), ()),
        ("earlier:sex", (), ("age_band",), ("sex",)),
        ("update:", (), ("age_band",), ("sex",)),
    ],
)
def test_a_button_does_one_thing(
    schema: Schema, action: str, layers: object, rows: object, columns: object
) -> None:
    state, opened = edited(_read(schema, by="age_band,sex", columns="sex"), [("do", action)])
    assert (state.layers, state.rows, state.columns) == (layers, rows, columns)
    assert opened == ("sex" if action.startswith("filter") else None)


def test_the_order_in_a_zone_changes(schema: Schema) -> None:
    state = _read(schema, by="age_band,sex,health", columns="")
    assert edited(state, [("do", "later:age")])[0].rows == ("sex", "age_band", "health")
    assert edited(state, [("do", "earlier:health")])[0].rows == ("age_band", "health", "sex")


def test_a_level_and_ticked_categories_are_taken_from_the_form(schema: Schema) -> None:
    state = _read(schema, by="age_band,sex")
    assert edited(state, [("level.age", "age")])[0].by == ("age", "sex")
    ticked, _ = edited(state, [("tree.sex", "sex"), ("keep.sex", "2")])
    assert ticked.where == "sex=2"
    assert (
        edited(ticked, [("tree.sex", "sex"), ("keep.sex", "1"), ("keep.sex", "2")])[0].where == ""
    )
    # All ages of a band are said as the band.
    ages = [("keep.age", str(age)) for age in range(20)]
    assert edited(state, [("tree.age", "age"), *ages])[0].where == "age_band=young"


def test_branches_and_areas_are_picked(schema: Schema) -> None:
    state = _read(schema, by="age")
    assert edited(state, [("do", "untick:age:age_band:young")])[0].where == "age_band=adult|old"
    one = edited(state, [("do", "only:geography:district:1")])[0]
    two = edited(one, [("do", "also:geography:ward:3")])[0]
    assert [area.label for area in chosen(one)] == ["1"]
    assert len(chosen(two)) == 11  # the ten wards of district 1 and ward 3
    assert edited(one, [("do", "untick:geography:district:1")])[0].where == ""
    part = edited(one, [("do", "also:geography:ward:12")])[0]  # a part of district 1: only that
    assert part.where == "ward=12"


def test_areas_that_were_chosen_are_added_at_their_level(schema: Schema) -> None:
    # Forty wards are too many for a table to begin with: without a choice there are districts.
    assert edited(_read(schema, by="sex"), [("do", "add:geography")])[0].by == ("sex", "district")
    state = _read(schema, by="sex", where="ward=3|12")
    added = edited(state, [("do", "add:geography")])[0]
    assert added.level_of("geography") == "ward"
    assert [len(axis) for axis in added.axes_of(("ward",))] == [2]
    moved = edited(state, [("do", "move:geography:layers")])[0]
    assert moved.layers == ("ward",)


def test_what_the_form_cannot_do_is_an_error(schema: Schema) -> None:
    with pytest.raises(ParameterError, match="not something that the form can do"):
        edited(_read(schema, by="sex"), [("do", "drop:sex")])
    with pytest.raises(ParameterError, match="zone must be"):
        edited(_read(schema, by="sex"), [("do", "move:sex:elsewhere")])
    assert not is_edit([("by", "sex"), ("lang", "de")])


def test_the_tree_counts_its_ticks(schema: Schema) -> None:
    state = _read(schema, by="age", where="age=0|1|20")
    found = tree(state, schema.find("age")[0])
    assert found is not None
    assert (found.ticked, found.total) == (3, 80)
    assert [(b.label, b.ticked, b.total) for b in found.branches] == [
        ("0 to 19", 2, 20),
        ("20 to 59", 1, 40),
        ("60 to 79", 0, 20),
    ]


def test_areas_are_found_by_name_larger_ones_first(schema: Schema) -> None:
    found = find(schema, " 1")
    assert (found[0].kind, found[0].label) == ("District", "1")
    assert {area.kind for area in found[1:]} == {"Ward"}
    assert found[1].inside == "0"  # ward 1 lies in district 0
    assert find(schema, "") == []
    assert find(schema, "nowhere") == []


@pytest.mark.parametrize(
    ("asked", "parts"),
    [
        ({"by": "sex"}, []),
        ({"by": "sex,health"}, []),  # its one change was tried
        ({"by": "district,health"}, []),  # there is no area larger than a district
        ({"by": "sex,health,age"}, ["variables"]),
        ({"by": "ward,health"}, ["variables", "areas"]),
        ({"by": "sex", "where": "ward=1"}, ["filters", "areas"]),
        ({"by": "sex,age", "where": "health=1"}, ["variables", "filters"]),
    ],
)
def test_only_what_the_question_has_is_advised(
    schema: Schema, asked: dict[str, str], parts: list[str]
) -> None:
    t = texts("en")
    said = advice(_read(schema, **asked), t)
    found = [name for name in ("variables", "filters", "areas") if t(f"fix.try_{name}") in said]
    assert found == parts
    assert bool(said) == bool(parts)


def test_the_verdict_comes_before_anything_is_counted(schema: Schema, foresight: Foresight) -> None:
    t = texts("en")
    assert judge(_read(schema), foresight, t).kind == "start"
    # Not asked for by any other test of this store.
    new = judge(_read(schema, by="age_band,health,sex", where="district=3"), foresight, t)
    assert (new.kind, new.cells, new.met) == ("new", 30, 2)
    assert [rule.passed for rule in new.rules] == [True, True, None]
    # The class has four variables: the filter is one of them.
    assert new.rules[0].value == "4"
    # 40 wards, 200 traits, 80 ages: 640,000 cells.
    barred = judge(_read(schema, by="ward,rare,age"), foresight, t)
    assert (barred.kind, barred.cells) == ("barred", 640_000)
    assert barred.said == barred.rules[0].text == "At most 100,000 cells"


def test_a_variable_that_would_be_too_much_is_warned_of(
    schema: Schema, foresight: Foresight
) -> None:
    t = texts("en")
    state = _read(schema, by="rare,health")  # 1,000 cells: room for 100 categories
    assert warning(state, schema.find("sex")[0], foresight, t) == ""
    state = _read(schema, by="ward,rare")  # 8,000 cells: room for 12
    assert warning(state, schema.find("age")[0], foresight, t) == ""  # its usual level has 3
    state = _read(schema, by="ward,rare,health")  # 40,000 cells: room for 2
    assert warning(state, schema.find("age")[0], foresight, t) == "Would make too many cells here"


def test_addresses_stay_readable() -> None:
    made = address("/x", {"by": "age@band,sex", "where": "la=a|b", "q": "ö &", "no": None})
    assert made == "/x?by=age@band,sex&where=la=a|b&q=%C3%B6%20%26"
