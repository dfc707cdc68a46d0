"""Areas in areas: learnt, checked, and put in an order in which each is one stretch."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from discreet.build.categories import Areas, Categories
from discreet.build.geography import Nesting

if TYPE_CHECKING:
    from conftest import Folder

SOURCE = 'source = { files = "p.csv", record_id = "id" }\n[variables]\na = { range = [0, 9] }\n'
WARD = '[[geography]]\nid = "ward"\ncolumn = "ward"\n'
TOWN = '[[geography]]\nid = "town"\ncolumn = "town"\n'
LAND = '[[geography]]\nid = "land"\ncolumn = "land"\n'


def people(folder: Folder, *rows: str, levels: str = WARD + TOWN) -> Folder:
    """Records with a = 0, 1, …, and the areas of each as 'ward,town'."""
    head = "id,a,ward,town" + (",land" if LAND in levels else "")
    lines = [f"p{i},{i % 10},{row}" for i, row in enumerate(rows)]
    folder.write("p.csv", "\n".join([head, *lines]) + "\n")
    return folder.describe(SOURCE + levels)


def test_records_are_sorted_by_the_smallest_area(folder: Folder) -> None:
    version = people(folder, "w3,t1", "w1,t2", "w2,t1", "w1,t2", "w3,t1").version()
    geography = version.schema.geography
    assert geography is not None
    ward, town = geography.levels
    # In the order of towns, then of wards: t1 has w2 and w3, t2 has w1.
    assert ward.codes == ("w2", "w3", "w1")
    assert town.codes == ("t1", "t2")
    assert town.of.tolist() == [0, 0, 1]
    assert version.areas is not None
    assert version.areas.tolist() == [0, 1, 3, 5]
    # Records 2 | 0, 4 | 1, 3: within an area as they were in the file.
    assert version.codes8[0].tolist() == [2, 0, 4, 1, 3]
    assert version.area_starts(town).tolist() == [0, 3, 5]


def test_rows_in_order_stay_as_they_are(folder: Folder) -> None:
    version = people(folder, "w1,t1", "w1,t1", "w2,t1").version()
    assert version.codes8[0].tolist() == [0, 1, 2]


def test_keys_and_counts_move_with_their_rows(folder: Folder) -> None:
    folder.write("p.csv", "a,ward,town,n,k\n0,w2,t1,10,100\n1,w1,t1,11,101\n2,w2,t1,12,102\n")
    folder.describe(
        'source = { files = "p.csv", count = "n", key = { column = "k", modulus = 256 } }\n'
        "[variables]\na = { range = [0, 9] }\n" + WARD + TOWN
    )
    version = folder.version()
    assert version.counts is not None
    assert version.codes8[0].tolist() == [1, 0, 2]
    assert version.counts.tolist() == [11, 10, 12]
    assert version.keys.tolist() == [101, 100, 102]


def test_an_area_in_two_areas_is_told(folder: Folder) -> None:
    told = people(folder, "w1,t1", "w2,t2", "w1,t1", "w1,t2", "w1,t1").refused()
    assert told == (
        "the data do not fit their description: p.csv, column 'town': not the 'town' in which "
        "the 'ward' of the row lies elsewhere: row 4 't2'"
    )


def test_nesting_is_checked_at_every_level(folder: Folder) -> None:
    rows = ["w1,t1,l1", "w2,t2,l1", "w3,t1,l2", "w2,t2,l1"]
    told = people(folder, *rows, levels=WARD + TOWN + LAND).refused()
    assert told == (
        "the data do not fit their description: p.csv, column 'land': not the 'land' in which "
        "the 'town' of the row lies elsewhere: row 3 'l2'"
    )


def test_an_unknown_area_is_told(folder: Folder) -> None:
    folder.write("w.csv", "code\nw1\nw2\n")
    levels = WARD + 'categories = "w.csv"\n' + TOWN
    told = people(folder, "w1,t1", "w9,t1", "w2,t1", levels=levels).refused()
    assert told == (
        "the data do not fit their description: p.csv, column 'ward': not a category of 'ward' "
        "(w1, w2): row 2 'w9'"
    )


def test_a_missing_area_is_told(folder: Folder) -> None:
    assert people(folder, "w1,t1", ",t1").refused() == (
        "the data do not fit their description: p.csv, column 'ward': missing values: row 2"
    )


def test_parents_from_a_file(folder: Folder) -> None:
    folder.write("w.csv", "code,label,parent\nw1,One,t2\nw2,Two,t1\nw3,Empty,t1\n")
    levels = WARD + 'categories = "w.csv"\n[[geography]]\nid = "town"\n'
    version = people(folder, "w1,-", "w2,-", levels=levels).version()
    geography = version.schema.geography
    assert geography is not None
    ward, town = geography.levels
    assert town.codes == ("t2", "t1")
    assert ward.codes == ("w1", "w2", "w3")
    assert version.area_starts(town).tolist() == [0, 1, 2]
    assert version.area_starts(ward).tolist() == [0, 1, 2, 2]


def test_a_file_and_the_data_must_agree(folder: Folder) -> None:
    folder.write("w.csv", "code,parent\nw1,t1\nw2,t2\n")
    levels = WARD + 'categories = "w.csv"\n' + TOWN
    told = people(folder, "w1,t1", "w2,t2", "w2,t1", levels=levels).refused()
    assert told == (
        "the data do not fit their description: p.csv, column 'town': not the 'town' in which "
        "the 'ward' of the row lies elsewhere: row 3 't1'"
    )


def test_a_parent_that_is_no_area_is_told(folder: Folder) -> None:
    folder.write("w.csv", "code,parent\nw1,t1\n").write("t.csv", "code\nt2\n")
    levels = WARD + 'categories = "w.csv"\n[[geography]]\nid = "town"\ncategories = "t.csv"\n'
    told = people(folder, "w1,-", levels=levels).refused()
    assert told == "area 'w1' of 'ward' lies in 't1', which is not an area of 'town'."


def test_an_area_of_which_nothing_is_known_is_told(folder: Folder) -> None:
    folder.write("w.csv", "code\nw1\nw2\n")
    told = people(folder, "w1,t1", levels=WARD + 'categories = "w.csv"\n' + TOWN).refused()
    assert told == (
        "what area 'w2' of 'ward' lies in is not known: it has no record. Give the areas a "
        "'parent' column in their categories file."
    )


@pytest.mark.parametrize(
    ("levels", "told"),
    [
        (
            '[[geography]]\nid = "ward"\n',
            "dataset.toml: geography 'ward', the smallest, must have a 'column'.",
        ),
        (
            WARD + '[[geography]]\nid = "town"\n',
            "dataset.toml: geography 'ward' must say what each area lies in: a 'parent' column in "
            "its categories file, or a 'column' of the data for 'town'.",
        ),
        (WARD + WARD, "dataset.toml: ids must be unique in a data set. Given twice: ward."),
        (
            '[[geography]]\ncolumn = "ward"\n',
            "dataset.toml: geography 1 of 1 must have 'id'.",
        ),
    ],
)
def test_bad_descriptions_are_told(folder: Folder, levels: str, told: str) -> None:
    assert people(folder, "w1,t1", levels=levels).refused() == told


def test_a_geography_alone_is_a_data_set(folder: Folder) -> None:
    people(folder, "w1,t1", "w2,t1")
    text = (folder.path / "dataset.toml").read_text().replace("a = { range = [0, 9] }\n", "")
    folder.write("dataset.toml", text)
    assert folder.version().rows == 2


@given(st.data())
@settings(suppress_health_check=[HealthCheck.too_slow])
def test_every_area_of_every_level_is_one_stretch(data: st.DataObject) -> None:
    sizes = [data.draw(st.integers(1, 12)) for _ in range(3)]
    codes = [tuple(f"{i}-{j}" for j in range(size)) for i, size in enumerate(sizes)]
    levels = []
    for i, found in enumerate(codes):
        parents = None
        if i < 2:
            parents = tuple(data.draw(st.sampled_from(codes[i + 1])) for _ in found)
        levels.append(Areas(f"l{i}", f"L{i}", "c", Categories(found, found), parents))
    categories = tuple(Categories(found, found) for found in codes)
    variable, places = Nesting(tuple(levels), categories).variable()
    assert sorted(places.tolist()) == list(range(sizes[0]))
    finest = variable.finest
    for j, code in enumerate(codes[0]):
        assert finest.codes[places[j]] == code
        above = levels[0].parents[j]  # type: ignore[index]
        for i in (1, 2):
            level = variable.levels[i]
            assert level.codes[level.of[places[j]]] == above
            if i == 1:
                above = levels[1].parents[codes[1].index(above)]  # type: ignore[index]
    for level in variable.levels:
        assert (np.diff(level.of.astype(np.int64)) >= 0).all()
