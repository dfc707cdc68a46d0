from __future__ import annotations

from pathlib import Path

import pytest

from discreet.build import build
from discreet.cli import demo
from discreet.people.example import EMAILS, PASSWORD, make
from discreet.people.people import People
from discreet.people.reviews import Answer
from discreet.query import Query, Question
from discreet.service.asking import Asking
from discreet.service.granted import granted
from discreet.service.opened import open_store
from discreet.synth import write
from persons import licensed_town

ASKED = (("Health", "sex,health"), ("Fine", "age_band,district,health,sex"))


def test_the_people_of_the_demo_have_a_history_and_are_made_once(tmp_path: Path) -> None:
    store = licensed_town(tmp_path, rows=1_000)
    # It shows what 'Fine' shows, at which the project has one look: 1,200 cells for 1,000 people.
    refused = ("sex,age_band,health,ward", "To plan classes in the languages of home.")
    people = make(store, ASKED, refused)
    assert {one.email for one in people.accounts.everybody()} == set(EMAILS)
    assert people.entrance.sign_in(EMAILS[0], PASSWORD) is not None
    verdicts = [one.line.verdict for one in people.record.lines(EMAILS[0], action="asked")]
    assert verdicts == ["released", "released", "USED_UP"]
    [review] = people.reviews.all(Answer.OPEN)
    assert (review.code, review.project) == ("USED_UP", "homes")
    assert people.record.verify().broken is None
    lines = len(people.record.lines())
    people.close()
    again = make(store, ASKED, refused)
    assert len(again.record.lines()) == lines
    again.close()


@pytest.mark.parametrize("persons", [1_000, 20_000])
def test_the_demo_has_a_question_that_a_custodian_can_release(persons: int, tmp_path: Path) -> None:
    write(persons, tmp_path / "census", 1, None, lambda more: None)
    store = tmp_path / "store"
    build(tmp_path / "census" / "dataset.toml", store, views=0)
    demo._people(store)
    people = People.of_store(store)
    verdicts = [one.line.verdict for one in people.record.lines(EMAILS[0], action="asked")]
    assert verdicts[-1] == "USED_UP"
    assert set(verdicts[:-1]) <= {"released", "sums"}
    [review] = people.reviews.all(Answer.OPEN)
    people.close()
    opened = open_store(store).seen_by(Asking(review.tier, review.scope, None))
    question = Question.of(Query.parse(review.by, None), opened.schema)
    assert granted(opened, claims=True).releaser.release(question, tier=review.tier)
