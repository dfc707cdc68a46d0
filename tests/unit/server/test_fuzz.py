"""A short run of the fuzzer, and properties of what reads a question off a request."""

from __future__ import annotations

import random
import runpy
from pathlib import Path
from urllib.parse import urlencode

import orjson
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import ParameterError
from discreet.policy import read_preset
from discreet.server.models import TOTALS, Typed
from discreet.server.parse import read_body, read_query

FUZZER = runpy.run_path(str(Path(__file__).parents[3] / "scripts" / "fuzz_questions.py"))


def test_odd_questions_are_answered_or_told_off() -> None:
    """`make fuzz` does it a million times."""
    rng, schema = random.Random(7), FUZZER["schema"]()
    tier = read_preset("rounding-3").default_tier
    answered = sum(FUZZER["tried"](FUZZER["bent"](rng), schema, tier) for _ in range(5_000))
    assert 50 < answered < 2_500, "neither all right nor all wrong"


TEXT = st.text(st.characters(codec="utf-8"))


@given(
    st.fixed_dictionaries(
        {"by": TEXT.filter(bool)}, optional={"where": TEXT, "totals": st.sampled_from(TOTALS)}
    )
)
def test_a_query_string_is_read_as_it_was_written(values: dict[str, str]) -> None:
    read = read_query(urlencode(values).encode(), Typed)
    assert read.model_dump(exclude_unset=True) == values


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_told_off(raw: bytes) -> None:
    for read in (lambda: read_query(raw, Typed), lambda: read_body(raw)):
        try:
            read()
        except ParameterError as error:
            orjson.dumps(str(error))  # it can be told


@given(
    st.fixed_dictionaries(
        {"by": st.lists(TEXT, min_size=1, max_size=6)},
        optional={
            "where": st.dictionaries(TEXT, st.lists(TEXT, min_size=1)),
            "totals": st.sampled_from(TOTALS),
        },
    )
)
def test_a_body_is_read_as_it_was_written(question: dict[str, object]) -> None:
    assert read_body(orjson.dumps(question)).model_dump(exclude_unset=True) == question
