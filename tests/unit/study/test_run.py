"""Running a study: the same figures whatever the workers, and going on where it was stopped."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from discreet import risk, utility
from discreet.errors import InternalError, ParameterError
from discreet.study import run as running
from discreet.study.collect import collected
from discreet.study.cube import Cube
from discreet.study.file import read
from discreet.study.model import Study
from discreet.study.quick import usual
from discreet.study.results import Results
from discreet.study.run import Block, Part, Worker, blocks, run
from stores import write_town
from studies import write_cube

STUDY = """
title = "t"
draws = 6
[data]
cube = "cube.csv"
[[tables]]
name = "A"
by = "age,area"
[[tables]]
name = "B"
by = "work,age"
[[methods]]
method = "random-rounding"
base = [3, 5]
[[methods]]
method = "individual-swapping"
axis = "area"
rate = 0.1
[[methods]]
method = "stochastic-perturbation"
on = "cube"
invariant = true
within = "area"
"""


@pytest.fixture
def study(tmp_path: Path) -> Study:
    write_cube(tmp_path / "cube.csv")
    (tmp_path / "study.toml").write_text(STUDY, encoding="utf-8")
    return read(tmp_path / "study.toml")


def found(study: Study, workers: int = 1) -> Results:
    return collected(study, run(study, workers=workers))


def test_a_method_that_finds_no_table_is_named(
    study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> None:
        raise InternalError("no such table was found; nothing is released.")

    monkeypatch.setattr(running, "drawn", fails)
    with pytest.raises(ParameterError, match=r"base 3 cannot act on these data: .* Leave it out"):
        Worker(study).part(Block(1, 0, 1))


def test_quick_leaves_out_what_takes_minutes() -> None:
    """Totals of four dimensions and more are hard to round with their cells, at any size."""
    for shape, there in (
        ((30, 40), True), ((30, 60), False), ((9, 9, 9), True), ((10, 10, 10), False),
        ((3, 3, 3, 3), False), ((50,), False),
    ):  # fmt: skip
        codes = tuple(tuple(map(str, range(n))) for n in shape)
        cube = Cube(tuple("abcd"[: len(shape)]), codes, np.ones(shape, np.int64))
        methods = [one["method"] for one in usual(cube)]
        assert len(methods) == 8
        assert ("controlled-rounding" in methods) == there


def test_nothing_changed_has_the_risk_before_and_utility_1(study: Study) -> None:
    results = found(study)
    for table in study.tables:
        here = results.value(table.name, "None", "transition")
        assert float(here) == pytest.approx(float(risk.before(table.counts)))
        assert float(results.value(table.name, "None", "score")) == 1
        assert here.draws == 1
        assert here.error == 0


def test_means_are_those_of_the_draws(study: Study) -> None:
    results, worker = found(study), Worker(study)
    setting = study.settings[1]
    drawn = [worker.released(setting, draw)[0][0] for draw in range(6)]
    F = study.tables[0].counts
    scores = np.array([utility.score(F, G) for G in drawn])
    here = results.value("A", setting.full, "score")
    assert here.mean == pytest.approx(scores.mean())
    assert here.error == pytest.approx(scores.std(ddof=1) / np.sqrt(6))
    chances = setting.made.transition()  # type: ignore[union-attr]
    risks = [float(risk.after_transition(F, G, chances, multiplier=1 / 3)) for G in drawn]
    assert results.value("A", setting.full, "transition").mean == pytest.approx(np.mean(risks))


def test_tables_of_one_draw_of_the_hypercube_agree(study: Study) -> None:
    tables, _ = Worker(study).released(study.settings[-1], 0)
    np.testing.assert_array_equal(tables[0].sum(axis=1), tables[1].sum(axis=0))  # both by age


@pytest.mark.slow
def test_any_number_of_workers_makes_the_same_figures(study: Study) -> None:
    one, three = found(study), found(study, workers=3)
    assert one.sheet.columns == three.sheet.columns


def test_another_setting_does_not_change_the_draws_of_one(study: Study) -> None:
    fewer = replace(study, settings=(study.settings[0], study.settings[3]))
    name = study.settings[3].full
    assert found(study).value("B", name, "score") == found(fewer).value("B", name, "score")


def test_a_stopped_study_goes_on_where_it_was(
    study: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "parts"
    folder.mkdir()
    whole, todo = found(study), blocks(study)
    drawn: list[Block] = []

    def part(worker: Worker, block: Block) -> Part:
        if len(drawn) == 2:
            raise KeyboardInterrupt
        drawn.append(block)
        return kept(worker, block)

    kept = Worker.part
    monkeypatch.setattr(Worker, "part", part)
    with pytest.raises(KeyboardInterrupt):
        run(study, folder)
    assert len(list(folder.iterdir())) == 2
    monkeypatch.setattr(Worker, "part", kept)
    again: list[Block] = []
    monkeypatch.setattr(
        Worker, "part", lambda worker, block: again.append(block) or kept(worker, block)
    )
    assert collected(study, run(study, folder)).sheet.columns == whole.sheet.columns
    assert drawn + again == todo


def test_parts_of_other_data_or_another_seed_are_not_taken(study: Study, tmp_path: Path) -> None:
    run(study, tmp_path)
    other = replace(study, seed=2)
    resumed, anew = collected(other, run(other, tmp_path)), collected(other, run(other))
    assert resumed.sheet.columns == anew.sheet.columns


def test_a_large_hypercube_is_drawn_in_small_blocks(
    study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running, "BLOCK_CELLS", 2 * study.cubes[0].counts.size)
    sizes = {block.last - block.first for block in blocks(study) if block.setting}
    assert sizes == {2}


RECORDS = """
title = "t"
draws = 2
[data]
dataset = "dataset.toml"
[[tables]]
name = "district"
by = "district,sex"
[[tables]]
name = "men"
by = "ward"
where = "sex=1"
[[methods]]
method = "record-swapping"
rate = [0.05, 0.2]
within = "district"
match = ["members"]
"""
HOUSEHOLDS = 'record_id = "id", household_id = "id"'


@pytest.mark.slow
def test_households_are_swapped_anew_for_every_draw(tmp_path: Path) -> None:
    path = write_town(tmp_path, rows=3_000)
    alone = path.read_text(encoding="utf-8").replace('record_id = "id"', HOUSEHOLDS)
    path.write_text(alone, encoding="utf-8")
    (tmp_path / "study.toml").write_text(RECORDS, encoding="utf-8")
    study = read(tmp_path / "study.toml")
    worker = Worker(study)
    try:
        few, many = study.settings[1], study.settings[2]
        (district, men), kept = worker.released(few, 0)
        again, _ = worker.released(few, 0)
        other, _ = worker.released(few, 1)
        _, fewer = worker.released(many, 0)
    finally:
        worker.close()
    # Nobody leaves the district, and a draw is the same every time.
    np.testing.assert_array_equal(district, study.tables[0].counts)
    np.testing.assert_array_equal(men, again[1])
    assert (men != study.tables[1].counts).any()
    assert (men != other[1]).any()
    assert kept is not None
    assert fewer is not None
    assert study.tables[0].counts.sum() > kept[0].sum() > fewer[0].sum()
