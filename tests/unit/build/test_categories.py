"""Categories, groupings and areas, inline and from CSV files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from discreet.build.categories import (
    Categories,
    Grouping,
    read_areas,
    read_categories,
    read_grouping,
    read_rows,
)
from discreet.errors import ParameterError

AGES = Categories(tuple(map(str, range(10))), tuple(map(str, range(10))))


def listed(content: object, folder: Path, span: list[Any] | None = None) -> Categories | None:
    return read_categories(content, span, folder, "variables.a")  # type: ignore[arg-type]


def grouped(groups: object, folder: Path) -> Grouping:
    return read_grouping("band", {"groups": groups}, AGES, folder, "age")


def refused(function: Any, *given: Any) -> str:
    with pytest.raises(ParameterError) as caught:
        function(*given)
    return str(caught.value).replace(f"{given[-1]}/", "")


def test_codes_and_labels_in_order(tmp_path: Path) -> None:
    found = listed({"b": "Second first", "a": ""}, tmp_path)
    assert found == Categories(("b", "a"), ("Second first", "a"))


def test_codes_from_a_file(tmp_path: Path) -> None:
    (tmp_path / "c.csv").write_bytes(
        '\ufefflabel,code\r\n"Comma, quote "" and\nline",01\r\nÅ,"x,y"\r\n\r\n'.encode()
    )
    found = listed("c.csv", tmp_path)
    assert found == Categories(("01", "x,y"), ('Comma, quote " and\nline', "Å"))


def test_a_range(tmp_path: Path) -> None:
    found = listed(None, tmp_path, [-1, 2])
    assert found is not None
    assert found.codes == ("-1", "0", "1", "2")


def test_as_many_categories_as_a_column_holds(tmp_path: Path) -> None:
    found = listed(None, tmp_path, [1, 65_535])
    assert found is not None
    assert len(found.codes) == 65_535


@pytest.mark.parametrize(
    ("content", "span", "told"),
    [
        (
            None,
            None,
            "variables.a must have 'categories' (a table of codes and labels, a CSV file, or "
            "\"from data\") or 'range' (like [0, 100]), one of the two.",
        ),
        (
            {"a": "A"},
            [0, 1],
            "variables.a must have 'categories' (a table of codes and labels, a CSV file, or "
            "\"from data\") or 'range' (like [0, 100]), one of the two.",
        ),
        (None, [1, 0], "'range' in variables.a must be two integers in order. Got [1, 0]."),
        (None, [0, True], "'range' in variables.a must be two integers in order. Got [0, True]."),
        (
            None,
            [0, 65_535],
            "variables.a must have at most 65,535 categories, the most a column can hold. "
            "Got 65,536.",
        ),
        (
            None,
            [0, 10**12],
            "variables.a must have at most 65,535 categories, the most a column can hold. "
            "Got 1,000,000,000,001.",
        ),
        ({}, None, "variables.a must list at least one category."),
        ({"a": 3}, None, "'categories' in variables.a must give a label to each code."),
        (
            {"": "Nothing"},
            None,
            "variables.a: a code must be a text without NUL, not empty. Got ''.",
        ),
        (
            {"_T": "All"},
            None,
            "variables.a: a category must not have the code of totals, _T. Got '_T'.",
        ),
        ("none.csv", None, "there is no file none.csv"),
        ("folder", None, "folder cannot be read: Is a directory"),
        ("nocode.csv", None, "nocode.csv must have a column 'code'. It has ['id', 'label']."),
        ("ragged.csv", None, "ragged.csv, line 3: 1 fields where the head has 2."),
        ("blank.csv", None, "blank.csv, line 2: empty 'code'."),
        ("twice.csv", None, "variables.a must list a code once. Twice: '1'."),
    ],
)
def test_bad_categories_are_told(
    tmp_path: Path, content: object, span: list[Any] | None, told: str
) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "nocode.csv").write_text("id,label\n1,One\n")
    (tmp_path / "ragged.csv").write_text("code,label\n1,One\n2\n")
    (tmp_path / "blank.csv").write_text("code,label\n,One\n")
    (tmp_path / "twice.csv").write_text("code\n1\n2\n1\n")
    with pytest.raises(ParameterError) as caught:
        listed(content, tmp_path, span)
    assert str(caught.value).replace(f"{tmp_path}/", "") == told


def test_a_file_that_is_no_csv_in_utf8_is_told(tmp_path: Path) -> None:
    (tmp_path / "latin.csv").write_bytes("code\né\n".encode("latin-1"))
    assert refused(listed, "latin.csv", tmp_path).startswith(
        "latin.csv is not a CSV file in UTF-8: "
    )
    (tmp_path / "quote.csv").write_text('code\n"a\n')
    assert refused(listed, "quote.csv", tmp_path) == (
        "quote.csv is not a CSV file in UTF-8: unexpected end of data"
    )


def test_optional_columns_are_empty_where_they_are_not(tmp_path: Path) -> None:
    (tmp_path / "c.csv").write_text("code\n1\n")
    assert read_rows(tmp_path / "c.csv", ("code",), ("label",)) == [["1", ""]]


def test_groups_by_span_list_number_and_table(tmp_path: Path) -> None:
    found = grouped(
        {"young": "0..4", "middle": ["5", 6, "7..8"], "old": {"label": "Old", "of": [9]}}, tmp_path
    )
    assert found.of == (0, 0, 0, 0, 0, 1, 1, 1, 1, 2)
    assert found.categories.codes == ("young", "middle", "old")
    assert found.categories.labels == ("young", "middle", "Old")


def test_groups_from_a_file(tmp_path: Path) -> None:
    rows = "".join(
        f"{age},{'x' if age < 3 else 'y'},{'The rest' * (age > 2)}\n" for age in range(10)
    )
    (tmp_path / "g.csv").write_text("code,group,label\n" + rows)
    found = grouped("g.csv", tmp_path)
    assert found.of == (0, 0, 0, 1, 1, 1, 1, 1, 1, 1)
    assert found.categories.labels == ("x", "The rest")


@pytest.mark.parametrize(
    ("groups", "told"),
    [
        (
            {"a": "0..3"},
            "variables.age.levels.band must cover every category of 'age'. Left out: '4', '5', "
            "'6', '7', '8' and 1 more.",
        ),
        (
            {"a": "0..4", "b": "4..9"},
            "variables.age.levels.band must put category '4' into one group.",
        ),
        (
            {"a": ["0..9", "x"]},
            "variables.age.levels.band: no category of age 'x'; Choices: 0, 1, 2, 3, 4, 5, 6, 7, "
            "8, 9",
        ),
        (
            {"a": "9..0"},
            "variables.age.levels.band: the span '9..0' must be two integers in order.",
        ),
        ({"a": [True]}, "variables.age.levels.band must list codes. Got True."),
        ({"a": {"label": "A"}}, "variables.age.levels.band.groups.a must have 'of'."),
        ({}, "variables.age.levels.band must list at least one category."),
        (
            {"": "0..9"},
            "variables.age.levels.band: a code must be a text without NUL, not empty. Got ''.",
        ),
        (
            "empty.csv",
            "variables.age.levels.band: a code must be a text without NUL, not empty. Got ''.",
        ),
        ("none.csv", "there is no file none.csv"),
    ],
)
def test_bad_groupings_are_told(tmp_path: Path, groups: object, told: str) -> None:
    (tmp_path / "empty.csv").write_text("code,group\n0,\n")
    assert refused(grouped, groups, tmp_path) == told


def test_a_span_too_long_to_read_is_a_code_nobody_knows(tmp_path: Path) -> None:
    told = refused(grouped, {"a": f"0..{'9' * 5000}"}, tmp_path)
    assert told.startswith("variables.age.levels.band: no category of age '0..9999")


def test_areas_with_parents(tmp_path: Path) -> None:
    (tmp_path / "w.csv").write_text("code,label,parent\nw1,Ward one,t1\nw2,,t2\n")
    areas = read_areas({"id": "ward", "column": "w", "categories": "w.csv"}, 0, 2, tmp_path)
    assert areas.categories == Categories(("w1", "w2"), ("Ward one", "w2"))
    assert areas.parents == ("t1", "t2")


def test_an_area_without_its_parent_is_told(tmp_path: Path) -> None:
    (tmp_path / "w.csv").write_text("code,parent\nw1,t1\nw2,\n")
    given = {"id": "ward", "column": "w", "categories": "w.csv"}
    assert refused(read_areas, given, 0, 2, tmp_path) == (
        "geography 'ward': area 'w2' has no parent."
    )
