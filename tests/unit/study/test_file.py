"""A study file: what it may say, and that every mistake in it is told before anything runs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from discreet.errors import ParameterError
from discreet.study.file import read
from discreet.study.model import On
from studies import write_cube

STUDY = """
title = "Three ways to protect"
draws = 4
[data]
cube = "cube.csv"
[[tables]]
name = "A"
by = "age,area"
[[tables]]
by = "work,age"
where = "area=a1|a2"
[[methods]]
method = "random-rounding"
base = [3, 5]
[[methods]]
method = "cell-key-perturbation"
variance = [2, 3]
forbid = "1,2"
[[methods]]
method = "individual-swapping"
axis = "area"
rate = 0.1
label = "{rate_percent}"
"""


def written(folder: Path, text: str) -> Path:
    write_cube(folder / "cube.csv")
    path = folder / "study.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_lists_are_swept_and_nothing_is_the_first_setting(tmp_path: Path) -> None:
    study = read(written(tmp_path, STUDY))
    assert [setting.full for setting in study.settings] == [
        "None",
        "Random rounding, base 3",
        "Random rounding, base 5",
        "Cell key perturbation, variance 2",
        "Cell key perturbation, variance 3",
        "Individual swapping, 10%",
    ]
    assert study.settings[-1].on is On.CUBE


def test_a_table_is_a_sum_of_the_hypercube_in_the_order_asked(tmp_path: Path) -> None:
    study = read(written(tmp_path, STUDY))
    cube = study.cubes[0].counts  # area × age × work
    first, second = study.tables
    np.testing.assert_array_equal(first.counts, cube.sum(axis=2).T)
    np.testing.assert_array_equal(second.counts, cube[1:3].sum(axis=0).T)
    assert first.codes[1] == ("a0", "a1", "a2", "a3")
    assert second.name == "work × age, area a1|a2"


def test_every_mistake_is_told_at_once(tmp_path: Path) -> None:
    bad = STUDY.replace("draws = 4", "draws = 1\nlimit = 3").replace("age,area", "agee,area")
    bad = bad.replace("area=a1|a2", "area=a9").replace("random-rounding", "random-roundin")
    bad = bad.replace('forbid = "1,2"', "bund = 3").replace('axis = "area"', 'axis = "place"')
    bad += '\n[measures]\nrisk = "entropi"\nalso = ["hellingr"]\n'
    with pytest.raises(ParameterError) as error:
        read(written(tmp_path, bad))
    told = str(error.value)
    for words in (
        "draws must be an integer from 2",
        "no variable 'agee'; did you mean 'age'?",
        "no category of area 'a9'",
        "method 1: no method 'random-roundin'; did you mean 'random-rounding'?",
        "method 2: no option of cell-key-perturbation 'bund'; did you mean 'bound'?",
        "method 3: individual-swapping: axis must be a variable",
        "no measure 'entropi'",
        "no measure 'hellingr'; did you mean 'hellinger'?",
        "limit must be a number from 0 to 1",
    ):
        assert words in told, words


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('cube = "cube.csv"', 'cube = "no.csv"', "there is no"),
        ('cube = "cube.csv"', "", "data must name one of store, dataset, cube, tables. Got none"),
        ('title = "Three ways to protect"', "", "must have 'title'"),
        ('name = "A"', 'name = "A"\nsize = 3', "no setting 'size'"),
        ('axis = "area"', 'on = "moon"', "'on' must be table, cube, records"),
        ('axis = "area"', 'on = "records"', "individual-swapping does not act on records"),
        ("rate = 0.1", "rate = 3", "rate must be above 0"),
        ("rate = 0.1", "rate = 0.1\nmultiplier = 2", "multiplier must be a number from 0 to 1"),
        ("{rate_percent}", "{base}", "label must be a text with options in braces"),
        ("base = [3, 5]", "base = [3, 3]", "every setting needs a name of its own"),
        ("base = [3, 5]", "base = []", "a list of values to sweep must not be empty"),
    ],
)
def test_a_mistake_is_told_in_a_sentence(tmp_path: Path, old: str, new: str, words: str) -> None:
    assert old in STUDY
    with pytest.raises(ParameterError, match=words):
        read(written(tmp_path, STUDY.replace(old, new)))


def test_records_are_needed_for_methods_on_records(tmp_path: Path) -> None:
    more = STUDY + '\n[[methods]]\nmethod = "over-imputation"\nvariables = ["age"]\nrate = 0.1\n'
    more += 'donors = ["work"]\n'
    with pytest.raises(ParameterError, match="these data are counts: data must name a 'dataset'"):
        read(written(tmp_path, more))


def test_a_method_on_records_is_told_with_all_else_that_is_wrong(tmp_path: Path) -> None:
    """Whatever its own options: what would act on counts is named, beside the other mistakes."""
    more = STUDY.replace("age,area", "agee,area") + '\n[[methods]]\nmethod = "record-swapping"\n'
    more = more.replace("base = [3, 5]", "base = [3, 3]")
    with pytest.raises(ParameterError) as error:
        read(written(tmp_path, more))
    for words in (
        "method 4: record-swapping acts on records",
        "Without records, individual-swapping acts on counts.",
        "no variable 'agee'",
        "every setting needs a name of its own",
    ):
        assert words in str(error.value)


def with_total(name: str, last: int = 15) -> str:
    """Counts of two areas by four ages, and their sums under a name; the last may be off."""
    rows = {"a": (13, 1, 2, 3), "b": (21, 4, 0, 12), name: (34, 5, 2, last)}
    lines = [f"{area},{age},{n}" for area, held in rows.items() for age, n in enumerate(held)]
    return "\n".join(["area,age,count", *lines]) + "\n"


SUMS = """
title = "t"
[data]
cube = "sums.csv"
[[methods]]
method = "random-rounding"
"""


@pytest.mark.parametrize("name", ["All", "TOT", "c"])
def test_totals_under_another_name_are_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "sums.csv").write_text(with_total(name), encoding="utf-8")
    path = tmp_path / "study.toml"
    path.write_text(SUMS, encoding="utf-8")
    with pytest.raises(ParameterError, match=f"'{name}' of area is the sum of the other"):
        read(path)
    path.write_text(SUMS.replace("[data]", "[data]\nsums_are_cells = true"), encoding="utf-8")
    assert read(path).tables[0].counts.shape == (3, 4)
    # One figure off, and it is a category like the others.
    (tmp_path / "sums.csv").write_text(with_total(name, 14), encoding="utf-8")
    path.write_text(SUMS, encoding="utf-8")
    assert read(path).tables[0].counts.shape == (3, 4)


def test_totals_that_are_called_so_are_set_aside_and_must_be_sums(tmp_path: Path) -> None:
    (tmp_path / "sums.csv").write_text(with_total("Total"), encoding="utf-8")
    path = tmp_path / "study.toml"
    path.write_text(SUMS, encoding="utf-8")
    assert read(path).tables[0].counts.sum() == 19 + 37
    (tmp_path / "sums.csv").write_text(with_total("Total", 14), encoding="utf-8")
    with pytest.raises(ParameterError, match="the table must add up"):
        read(path)


def test_a_table_of_nobody_is_a_mistake(tmp_path: Path) -> None:
    path = written(tmp_path, STUDY.replace("area=a1|a2", "area=a3"))
    with pytest.raises(ParameterError, match=r"table 'work × age, area a3' holds nobody"):
        read(path)


def test_several_tables_each_in_a_file(tmp_path: Path) -> None:
    for name in ("one", "two"):
        write_cube(tmp_path / f"{name}.csv")
    text = (
        'title = "t"\n[data]\ntables = ["one.csv", "two.csv"]\n[[methods]]\nmethod = "sampling"\n'
    )
    path = tmp_path / "study.toml"
    path.write_text(text + "fraction = [0.5]\n", encoding="utf-8")
    study = read(path)
    assert [table.name for table in study.tables] == ["one", "two"]
    assert len(study.cubes) == 2
