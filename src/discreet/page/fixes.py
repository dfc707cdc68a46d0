"""The way on from a refusal: other questions, each one click away, with what they lose."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from discreet.page.state import State, of_question
from discreet.page.texts import Texts
from discreet.page.verdict import allowed
from discreet.policy import Tier
from discreet.query import Filter, Question
from discreet.release import Hint
from discreet.release.hints import alternatives

MOST = 5


@dataclass(frozen=True, eq=False)
class Fix:
    """A change in words, what is lost, and the state after it; areas are None where unknown."""

    text: str
    loses: str
    state: State
    cells: int
    available: int | None = None
    areas: int | None = None
    area_label: str = ""


def before(state: State, tier: Tier, t: Texts) -> list[Fix]:
    """Return changes that the rules on questions allow, for a question that they refuse."""
    question = state.question
    if question is None or allowed(question, tier) is None:
        return []
    single = [other for other in _changes(question) if allowed(other, tier) is None]
    found = _varied(question, single)
    if not found:
        pairs = (two for one in _changes(question) for two in _changes(one))
        found = _varied(question, (other for other in pairs if allowed(other, tier) is None))
    return [_fix(state, question, other, t) for other in found]


def of_hints(state: State, hints: Iterable[Hint], t: Texts) -> list[Fix]:
    """Return the changes that the release itself proposes; they were judged on protected counts."""
    question = state.question
    if question is None:
        return []
    return [_fix(state, question, hint.question, t, hint) for hint in hints]


def _changes(question: Question) -> Iterator[Question]:
    """Yield coarser questions, then those for the areas inside the first area of larger levels."""
    for _, other in alternatives(question):
        yield other
    areas = question.areas
    if areas is None:
        return
    for level in reversed(areas.variable.above(areas.level)):
        inside = level.of == level.of[areas.level.member[areas.kept[0]]]
        if not inside.all():
            yield question.filtered(Filter(areas.variable, inside, level))


def _varied(question: Question, others: Iterable[Question]) -> list[Question]:
    """Return a few questions, no two of which change the same thing."""
    found: list[Question] = []
    kinds: list[tuple[str, ...]] = []
    for other in others:
        kind = tuple(sorted(f"{name}:{what}" for name, what in _kinds(question, other)))
        if kind in kinds:
            continue
        found.append(other)
        kinds.append(kind)
        if len(found) == MOST:
            break
    return found


def _kinds(question: Question, other: Question) -> Iterator[tuple[str, str]]:
    now = {axis.variable.id: axis for axis in other.axes}
    for axis in question.axes:
        new = now.get(axis.variable.id)
        if new is None:
            yield axis.variable.id, "removed"
        elif new.level is not axis.level:
            yield axis.variable.id, "coarser"
        elif len(new) < len(axis):
            yield axis.variable.id, "limited"


def _fix(
    state: State, question: Question, other: Question, t: Texts, hint: Hint | None = None
) -> Fix:
    texts, loses = [], []
    old = {axis.variable.id: axis for axis in question.axes}
    new = {axis.variable.id: axis for axis in other.axes}
    for variable, kind in _kinds(question, other):
        before = old[variable]
        name = t.inside(before.level.label)
        if kind == "removed":
            texts.append(t("fix.removed", name=name))
            loses.append(t("fix.loses_variable", name=name))
        elif kind == "limited":
            f = next(f for f in other.filters if f.variable.id == variable)
            texts.append(t("fix.limited", name=f.labels[0]))
            loses.append(t("fix.loses_areas", name=t.inside(f.level.label)))
        else:
            after = new[variable]
            words = {
                "to": t.inside(after.level.label),
                "name": name,
                "m": len(after),
                "n": len(before),
            }
            kind = "larger" if before.variable.is_geography else "coarser"
            texts.append(t(f"fix.{kind}", **words))
            loses.append(t(f"fix.loses_{kind}", **words))
    text = f" {t('format.and')} ".join([texts[0], *map(t.inside, texts[1:])]) if texts else ""
    areas = getattr(hint, "areas", None)
    return Fix(
        text or (hint.text if hint else ""),
        t.join(loses),
        of_question(other, state),
        other.cells,
        getattr(hint, "available", None),
        areas,
        "" if areas is None else t("fix.areas"),
    )
