from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from attacked import Server, Sets
from discreet.policy import read_preset
from discreet.population import Schema, Variable, Version
from discreet.population.names import GEOGRAPHY
from discreet.query import Query, Question
from discreet.study.attacks.finding import Finding, Verdict, tried
from discreet.study.attacks.search import Gene, Search, World, fittest
from discreet.tabulate import ScanEngine
from populations import level

AREAS, PEOPLE = 600, 250
# Shares of a faith: two large ones, and four of a few people in an area.
SHARES = (0.55, 0.40, 0.015, 0.012, 0.012, 0.011)


@pytest.fixture(scope="module")
def town() -> Any:
    """600 areas of 250 people each, by faith and sex."""
    rng = np.random.default_rng(1)
    rows = AREAS * PEOPLE
    codes = np.array([rng.choice(6, rows, p=SHARES), rng.integers(0, 2, rows)], np.uint8)
    keys = rng.integers(0, 2**32, rows).astype(np.uint32)
    codes.setflags(write=False)
    keys.setflags(write=False)
    areas = Variable(
        GEOGRAPHY, "Area", (level("oa", AREAS), level("ward", 20, np.arange(AREAS) // 30))
    )
    variables = (
        Variable("faith", "Faith", (level("faith", 6),)),
        Variable("sex", "Sex", (level("sex", 2),)),
        areas,
    )
    schema = Schema("town", "A town", "persons", variables)
    version = Version(
        Path("in-memory"), {"modulus": 2**32, "hypercube": False}, schema, codes,
        np.zeros((0, rows), np.uint16), keys, None, np.arange(AREAS + 1) * PEOPLE,
    )  # fmt: skip
    engine = ScanEngine(version)

    def question(by: str, where: str | None) -> Question:
        return Question.of(Query.of(by, where), schema)

    return SimpleNamespace(
        schema=schema,
        version=version,
        policy=read_preset("rounding-3"),
        question=question,
        tabulate=lambda by, where: engine.tabulate(question(by, where)),
    )


def found(server: Server) -> Finding:
    return tried(Search("faith", sets=300), server.target(), np.random.default_rng(3), 600)


@pytest.mark.slow
def test_it_finds_by_itself_that_many_questions_are_better_than_one(town: Any) -> None:
    finding = found(Sets(town))
    assert finding.reading is not None
    assert finding.verdict is Verdict.BEYOND
    # It beats the best rule that knows the published figure alone.
    assert finding.attack.low > finding.reading.high
    # It asks for more than one set of people.
    assert int(finding.note.rsplit(" ", 1)[1]) > 2


@pytest.mark.parametrize("kind", [Server, Sets])
def test_what_it_keeps_while_it_searches_is_what_would_be_answered(town: Any, kind: Any) -> None:
    target = kind(town).target()
    world = World(target, target.schema.find("faith")[1], np.array([2, 3]))
    one, two = (True, True, False, False, False, False), (False, True, True, True, False, False)
    unions, shown = (Gene(one), Gene(two)), (Gene(None), Gene(None, "sex"), Gene(two, "sex"))
    # With one look the order decides: whoever asks for sex first has spent it.
    for genome in ((*unions, *shown), (*shown[::-1], *unions), shown[1:], unions):
        assert np.array_equal(world.answers(genome), world.anew(genome))


def test_a_question_is_asked_once_for_all_sets_of_questions(town: Any) -> None:
    target = Server(town, looks=1).target()
    world = World(target, target.schema.find("faith")[1], np.array([2]))
    genome = (Gene(None), Gene((True, True, True, False, False, False)))
    world.answers(genome)
    # One to be where the table is asked for, and two of their own.
    assert world.asked == 3
    world.answers(genome[::-1])
    assert world.asked == 3


def test_of_equal_sets_the_first_survive_in_every_process() -> None:
    # The order of a set of texts differs from process to process, and so would what is found.
    equal = [(0.5, (Gene(None, f"other {i}"),)) for i in range(50)]
    assert fittest([*equal, equal[0], (0.1, ())], 3) == [(0.1, ()), *equal[:2]]


def test_it_finds_nothing_where_every_answer_is_a_sum_of_the_same_figures(town: Any) -> None:
    finding = found(Server(town, looks=1))
    assert finding.bound is not None
    assert finding.attack.low <= finding.bound
