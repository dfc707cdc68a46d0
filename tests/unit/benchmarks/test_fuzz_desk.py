"""A short run of `make fuzz-desk`: random tables through every tool, judged by plain twins."""

from __future__ import annotations

import runpy
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

RUN = runpy.run_path(
    str(Path(__file__).parents[3] / "benchmarks" / "fuzz_desk" / "run.py"), run_name="fuzz_desk"
)
TOOLS = RUN["tools"]()


@pytest.mark.parametrize("tool", sorted(TOOLS))
def test_random_cases_withstand_their_twins(tool: str) -> None:
    cases = 6 if tool == "suppress" else 12
    assert RUN["violations"](TOOLS[tool], cases, seed=3) == []


def test_a_wrong_answer_is_told() -> None:
    # Half a rectangle: two cells of a row are withheld, and their columns give both away.
    suppress = TOOLS["suppress"]
    case = next(suppress.cases(np.random.default_rng(5)))
    withheld = suppress._asked(case)[0] > 0
    assert withheld.any()
    assert suppress.exposed(case, np.zeros(len(withheld), bool)) == "a sensitive cell is published"
    assert "knows cell" in suppress.exposed(case, withheld)


def test_ends_in_integers_are_integers() -> None:
    # Case 404 of seed 2126, 4 × 4 × 3 cells rounded to base 3: HiGHS said 14.000000000000002 of
    # cell 23, whose greatest value is the upper end of its own range, 14.
    audit = TOOLS["audit"]
    case = next(islice(audit.cases(np.random.default_rng(2126)), 404, None))
    matrix, _ = audit.incidence(case.parents)
    assert case.high[23] == 14
    assert audit.extreme(matrix, case.low, case.high, 23, -1, whole=True) == 14
    assert audit.check(case) is None


def test_the_page_says_what_was_reached() -> None:
    assert RUN["line"]("audit", 1500, 7, 0, 12.3, "") == (
        "- audit: 1,500 tables (seed 7), no violation, 12 s of CPU."
    )
    assert RUN["line"]("suppress", 600, 7, 2, 40.0, "200 counts, 60 exact") == (
        "- suppress: 600 tables (seed 7), 2 violations, 40 s of CPU; of these 200 counts, 60 exact."
    )
