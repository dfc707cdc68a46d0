"""Combinations that are declared impossible: nobody in the records may have them."""

from __future__ import annotations

from discreet.errors import ParameterError
from discreet.population import Schema
from discreet.query import Question
from discreet.query.impossible import impossible
from discreet.tabulate import Engine


def check_impossible(engine: Engine, schema: Schema) -> None:
    """Refuse a declaration that the records contradict, or that names what there is not."""
    for text, rule in zip(schema.impossible, impossible(schema), strict=True):
        if len(rule) < 2:
            raise ParameterError(
                f"impossible must combine categories of two variables or more. Got '{text}'."
            )
        question = Question(schema, tuple(f.level for f in rule), rule)
        people = int(engine.tabulate(question).dense().counts.sum())
        if people:
            raise ParameterError(
                f"'{text}' is declared impossible, and {people:,} records have it. Correct the "
                "records or the declaration."
            )
