"""Hierarchy files: what is a sum of what."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from discreet.errors import ParameterError
from discreet.table.hierarchy import (
    Hierarchy,
    read_hrc,
    refuse_strange_members,
    tree,
)

TEXT = "North\n@Northport\n@Northfield\n@@West field\n@@East field\nSouth\n"
GROUPS = {"North": ["Northport", "Northfield"], "Northfield": ["West field", "East field"]}


def test_every_sum_has_its_parts(tmp_path: Path) -> None:
    (tmp_path / "region.hrc").write_text(TEXT, encoding="utf-8")
    assert read_hrc(tmp_path / "region.hrc") == GROUPS


def test_another_leading_mark(tmp_path: Path) -> None:
    (tmp_path / "a.hrc").write_text("A\r\n!B\r\n\r\n!C\r\n", encoding="utf-8")
    assert read_hrc(tmp_path / "a.hrc", "!") == {"A": ["B", "C"]}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "at least one code"),
        ("@A\n", "at most 0 '@'. Got 1"),
        ("A\n@B\n@@@C\n", "line 3 of 'a.hrc' must be at most one level below"),
        ("A\n@B\n@A\n", "'A' is in lines 1 and 3"),
        ("A\n@\n", "line 2 of 'a.hrc' must have a code"),
    ],
)
def test_mistakes_are_explained(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "a.hrc").write_text(text, encoding="utf-8")
    with pytest.raises(ParameterError, match=message):
        read_hrc(tmp_path / "a.hrc")


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="there is no file"):
        read_hrc(tmp_path / "none.hrc")
    with pytest.raises(ParameterError, match="one visible character"):
        read_hrc(tmp_path / "none.hrc", "@@")


def test_a_code_has_a_path_upwards_and_codes_have_levels() -> None:
    # 0 and 1 are parts of 2, which with 3 is part of the total 4.
    tree = Hierarchy((2, 2, 4, 4, -1))
    assert tree.path(0) == [0, 2, 4]
    levels = [level.tolist() for level in tree.levels(np.array([1, 3]))]
    assert levels == [[1, 3], [2, 4], [4, -1]]
    with pytest.raises(ParameterError, match="must not be part of itself"):
        Hierarchy((1, 0))


@pytest.mark.parametrize("name", ["_T", "Total"])
def test_a_group_is_not_named_as_the_total(name: str) -> None:
    # It became a code beside the total, of which an audit proved nonsense.
    with pytest.raises(ParameterError, match="must not be named as its total"):
        tree(["a", "b", "_T"], {name: ["a", "b"]}, "sex")


def test_a_member_that_is_not_there_is_refused_with_the_nearest_code() -> None:
    refuse_strange_members(
        ["R1", "R2", "R3", "Total"], {"G": ["R1", "R2"], "H": ["G", "R3"]}, "area"
    )
    with pytest.raises(
        ParameterError, match="'G' must be made of codes of area: no code 'R22'; did "
    ):
        refuse_strange_members(["R2", "R3"], {"G": ["R3", "R22"]}, "area")


def test_a_code_of_a_file_that_no_row_has_is_an_empty_category(tmp_path: Path) -> None:
    (tmp_path / "a.hrc").write_text("G\n@R1\n@R9\nR8\n")
    groups = read_hrc(tmp_path / "a.hrc")
    refuse_strange_members(["R1"], groups, "area")
    groups["H"] = ["G", "R8"]  # typed: made of what the file has
    refuse_strange_members(["R1"], groups, "area")
    groups["I"] = ["R7"]
    with pytest.raises(ParameterError, match="no code 'R7'"):
        refuse_strange_members(["R1"], groups, "area")


def test_a_published_group_may_have_no_member_that_is_published() -> None:
    refuse_strange_members(["G", "R3"], {"G": ["R1", "R2"]}, "area", unpublished=True)
    for used, group in ((["G", "R1"], "G"), (["R3"], "G")):
        with pytest.raises(ParameterError, match="no code 'R"):
            refuse_strange_members(used, {group: ["R1", "R2"]}, "area", unpublished=True)
