"""A short run of `make fuzz-desk`: random tables through every tool, judged by plain twins."""

from __future__ import annotations

import runpy
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
    assert suppress._exposed(case, np.zeros(len(withheld), bool)) == "a sensitive cell is published"
    assert "knows cell" in suppress._exposed(case, withheld)
