"""Random questions about a population."""

from __future__ import annotations

import numpy as np

from discreet.population import Schema
from discreet.query import Query, Question

MOST = 2_000_000  # cells


def random_questions(schema: Schema, number: int, seed: int) -> list[Question]:
    """Return questions of up to four variables at any level, some with filters."""
    rng = np.random.default_rng(seed)
    found: list[Question] = []
    while len(found) < number:
        chosen = rng.permutation(len(schema.variables))[: rng.integers(1, 5)]
        variables = [schema.variables[i] for i in chosen]
        by = [v.levels[rng.integers(len(v.levels))].id for v in variables]
        where: dict[str, list[str]] = {}
        for variable in schema.variables:
            if rng.random() < 0.2:
                level = variable.levels[rng.integers(len(variable.levels))]
                members = np.unique(level.of)
                picked = rng.choice(members, min(len(members), int(rng.integers(1, 9))), False)
                where[level.id] = [level.codes[i] for i in picked]
        question = Question.of(Query.parse(by, where), schema)
        if question.cells <= MOST:
            found.append(question)
    return found
