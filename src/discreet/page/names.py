"""What tables and their detail are called."""

from __future__ import annotations

from collections.abc import Sequence

from discreet.page.state import State
from discreet.page.texts import Texts
from discreet.query import QuestionClass


def detail_name(of: QuestionClass, t: Texts) -> str:
    """Return the variables of a class of questions in words: "Occupation and age by ward"."""
    return _named(of, [t.inside(level.label) for level in of.levels], t)


def table_name(of: QuestionClass, t: Texts) -> str:
    """Return the same with the number of groups where a variable has several levels of detail."""
    names = []
    for level in of.levels:
        several = len(of.schema.find(level.id)[0].levels) > 1
        name = t.inside(level.label)
        names.append(t("tables.sized", name=name, n=len(level)) if several else name)
    return _named(of, names, t)


def _named(of: QuestionClass, names: Sequence[str], t: Texts) -> str:
    owners = [of.schema.find(level.id)[0] for level in of.levels]
    people = [name for name, v in zip(names, owners, strict=True) if not v.is_geography]
    places = [name for name, v in zip(names, owners, strict=True) if v.is_geography]
    text = t.join(people or places) or t("build.everyone")
    if people and places:
        text = t("tables.by", names=text, area=places[0])
    return text[:1].upper() + text[1:]


def state_of(of: QuestionClass) -> State:
    """Return the state that shows the whole table of a class."""
    return State.read({"by": of.question.by}, of.schema)
