"""Every figure of the four tables of [Antal2014]; see source.md."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from discreet import risk, utility
from discreet.protect.cells.rounding import RandomRounding
from discreet.risk.terms import x_log_x
from discreet.study.collect import collected
from discreet.study.file import read
from discreet.study.papers import FOLDER
from discreet.study.run import run

TABLES = ("country-of-birth", "travel", "sex", "religion")
METHOD = RandomRounding(3)
PRINTED_DRAWS = 1000
DRAWS = 4000
# Half a unit of the last digit printed.
ROUNDING = 0.5e-4 + 1e-12


class Printed:
    """One table of the paper: counts, and the three measures by row, by column and whole."""

    def __init__(self, name: str) -> None:
        with (Path(__file__).parent / f"{name}.csv").open(encoding="utf-8") as stream:
            lines = list(csv.reader(stream))[1:]
        width = len(lines[0]) - 4
        self.counts = np.array([[int(x) for x in line[1 : width + 1]] for line in lines[:10]])
        self.measures = {}
        for place, (name_, line) in enumerate(zip(("R1", "R2", "HD"), lines[10:], strict=True)):
            rows = [float(row[width + 1 + place]) for row in lines[:10]]
            columns = [float(x) for x in line[1 : width + 1]]
            # Table 3 is printed with an empty field less in the row of R1.
            whole = float(next(x for x in line[width + 1 :] if x))
            self.measures[name_] = [*rows, *columns, whole]

    @property
    def slices(self) -> list[NDArray[np.int64]]:
        return [*self.counts, *self.counts.T, self.counts.ravel()]


PRINTED = {name: Printed(name) for name in TABLES}


def test_all_83_slices_are_here() -> None:
    assert sum(len(table.slices) for table in PRINTED.values()) == 83
    assert all(
        len(values) == len(table.slices)
        for table in PRINTED.values()
        for values in table.measures.values()
    )


@pytest.mark.parametrize("name", TABLES)
def test_risk_before_to_four_decimals(name: str) -> None:
    table = PRINTED[name]
    every = risk.before_rows(table.counts)
    ours = [*every.axes[0], *every.axes[1], every.whole]
    np.testing.assert_allclose(ours, table.measures["R1"], rtol=0, atol=ROUNDING)
    alone = [float(risk.before(part)) for part in table.slices]
    np.testing.assert_allclose(alone, table.measures["R1"], rtol=0, atol=ROUNDING)


@pytest.mark.parametrize("name", TABLES)
def test_hellinger_means_within_four_standard_errors(name: str) -> None:
    table, transition = PRINTED[name], METHOD.transition()
    for part, printed in zip(table.slices, table.measures["HD"], strict=True):
        mean = utility.expected_hellinger(part, transition)
        square = utility.expected_hellinger_square(part, transition)
        error = np.sqrt(max(square - mean**2, 0) / PRINTED_DRAWS)
        assert abs(mean - printed) <= 4 * error + ROUNDING


def simulated_r2(true: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.float64]:
    """R2 as printed for many roundings of one slice; equal roundings are measured once."""
    stack = np.broadcast_to(true, (DRAWS, true.size))
    released = METHOD.apply(stack, rng.random(stack.shape))
    different, draw = np.unique(released, axis=0, return_inverse=True)
    values = np.array([float(risk.after_as_printed(true, g)) for g in different])
    return values[draw.reshape(-1)]


def test_every_r2_by_the_variant() -> None:
    rng = np.random.default_rng(2014)
    scores = []
    for table in PRINTED.values():
        for part, printed in zip(table.slices, table.measures["R2"], strict=True):
            values = simulated_r2(part, rng)
            error = values.std() * np.sqrt(1 / PRINTED_DRAWS + 1 / DRAWS)
            gap = abs(values.mean() - printed)
            assert gap <= 4 * error + ROUNDING
            if error > 1e-5:
                scores.append(gap / error)
    # Independent standard scores have root mean square 1, and 0.08 is its spread over 80 of them.
    assert np.sqrt(np.mean(np.square(scores))) < 1 + 3 * 0.08


def test_the_formula_as_printed_does_not_give_the_printed_mean_of_a_dominated_row() -> None:
    table = PRINTED["country-of-birth"]
    row, printed = table.counts[3], table.measures["R2"][3]
    assert printed == 0.2142
    rng = np.random.default_rng(4)
    ours = risk.simulated(
        row, METHOD.transition(), lambda f, g: float(risk.after(f, g)), rng, draws=1000
    )
    assert ours.mean == pytest.approx(0.143, abs=0.001)
    assert abs(ours.mean - printed) > 50 * ours.standard_error


def test_a_row_that_rounding_never_changes_seems_safer() -> None:
    # Row 6 of the sex table, 129 and 90, are multiples of 3. R1 0.0434; R2 keeps the third term
    # alone, 0.1·(1 + ½·log 219)/√219 = 0.0250: why R2 must not be a gate.
    row = PRINTED["sex"].counts[5]
    assert float(risk.before(row)) == pytest.approx(0.0434, abs=ROUNDING)
    assert float(risk.after(row, row)) == pytest.approx(0.0250, abs=ROUNDING)


def test_risk_and_closeness_of_the_true_table_disclose_it() -> None:
    # docs/measures.md: row 9 of the religion table and one of its roundings. A released 0 may be
    # 0, 1 or 2, any other value j may be j − 2 … j + 2: 3⁴·5⁵ true rows are possible.
    true = PRINTED["religion"].counts[8]
    released = np.array([147, 3, 0, 0, 0, 3, 0, 39, 21])
    ranges = [
        np.arange(risk.possible_range(METHOD.transition(), int(g))[0], g + 3) for g in released
    ]
    rows = np.stack(np.meshgrid(*ranges, indexing="ij"), axis=-1).reshape(-1, true.size)
    assert len(rows) == 253_125
    total = rows.sum(axis=1)
    entropy = 1 - (np.log(total) - x_log_x(rows).sum(axis=1) / total) / np.log(true.size)
    r1 = (
        0.1 * (rows == 0).mean(axis=1)
        + 0.8 * entropy
        + 0.1 * (1 + np.log(total) / 2) / np.sqrt(total)
    )
    distance = np.sqrt(0.5 * ((np.sqrt(rows) - np.sqrt(released)) ** 2).sum(axis=1))
    closeness = 1 - distance / np.sqrt(total)
    told = float(risk.before(true)), utility.score(true, released)
    left = (r1.round(4) == round(told[0], 4)) & (closeness.round(4) == round(told[1], 4))
    assert left[(rows == true).all(axis=1)].item()
    assert left.sum() == 8


@pytest.mark.slow
def test_the_study_file_gives_every_figure_in_print() -> None:
    """R1 to the digits printed; means of R2 and HD within 4 standard errors of both simulations."""
    draws = 400
    study = read(FOLDER / "antal2014.toml")
    judged = replace(study.judged, measures=())
    small = replace(study, draws=draws, judged=judged)
    results = collected(small, run(small))
    rows = {(r.table, r.measure, r.variable, r.category, r.method): r.value for r in results.rows}
    beside = results.printed_beside()
    assert len(beside) == len(study.printed) == 3 * 83
    for one, here in beside:
        error = 0.0
        if one.measure != "before":
            name = "Random rounding"
            value = rows[one.table, one.measure, one.variable, one.category, name]
            error = value.error * np.sqrt(1 + draws / PRINTED_DRAWS)
        assert abs(here - one.value) <= 4 * error + ROUNDING, one
