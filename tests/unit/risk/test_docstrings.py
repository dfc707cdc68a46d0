"""Every measure says its formula's source and what it does with zeros."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest

from discreet import risk, utility

# Tools rather than measures: they have no formula of the literature behind them.
TOOLS = {"simulated", "possible_range", "additivity_gap", "chi_square", "public_quality"}
MEASURES = {
    f"{module.__name__}.{name}": getattr(module, name)
    for module in (risk, utility)
    for name in module.__all__
    if inspect.isfunction(getattr(module, name))
}


@pytest.mark.parametrize("name", sorted(MEASURES))
def test_a_docstring_says_what_is_returned_whence_and_what_zeros_do(name: str) -> None:
    text = inspect.getdoc(MEASURES[name])
    assert text is not None
    assert text.startswith("Return ")
    # By itself, or by the measure of a whole table that it names.
    named = [MEASURES[key] for key in MEASURES if f"`{key.rsplit('.', 1)[1]}`" in text]
    whole = " ".join([text, *(inspect.getdoc(function) or "" for function in named)])
    if name.rsplit(".", 1)[1] not in TOOLS:
        assert re.search(r"\[([A-Z]\w+\d{4}|Dandekar)[,\] ]", whole), "no citation"
    assert re.search(r"\bzeros?\b|\b0\b", whole, re.IGNORECASE), "nothing about zeros"


@pytest.mark.parametrize("name", sorted(MEASURES))
def test_a_public_measure_does_not_take_the_true_table(name: str) -> None:
    text = inspect.getdoc(MEASURES[name]) or ""
    if "For the public" in text:
        assert "F" not in inspect.signature(MEASURES[name]).parameters


PAGE = Path(__file__).parents[3] / "docs" / "measures.md"


def test_every_measure_is_on_the_page() -> None:
    text = PAGE.read_text(encoding="utf-8")
    missing = [name for name in MEASURES if name.rsplit(".", 1)[1] not in text]
    assert not missing


def test_every_picture_of_the_page_is_there_and_none_besides() -> None:
    text = PAGE.read_text(encoding="utf-8")
    shown = set(re.findall(r"\(pictures/(measures-[\w-]+\.svg)\)", text))
    assert shown == {path.name for path in (PAGE.parent / "pictures").glob("measures-*.svg")}
