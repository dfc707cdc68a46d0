"""Ids: what they may be."""

from __future__ import annotations

import pytest

from discreet.errors import ParameterError
from discreet.population.names import identifier


@pytest.mark.parametrize("text", ["a", "a-b_9", "x" * 64])
def test_identifiers(text: str) -> None:
    assert identifier(text, "it") == text


@pytest.mark.parametrize("text", ["", "A", "é", "a b", "../x", "a\n", "x" * 65, 3, None])
def test_bad_identifiers(text: object) -> None:
    with pytest.raises(ParameterError) as caught:
        identifier(text, "the id")
    assert str(caught.value) == (
        f"the id must be 1 to 64 lower-case letters, digits, '_' or '-'. Got {text!r}."
    )
