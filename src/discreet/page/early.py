"""What is said before a variable is added or a level chosen: too much, or used up."""

from __future__ import annotations

from math import prod

from discreet.page.foresight import Foresight
from discreet.page.state import State
from discreet.page.texts import Texts
from discreet.population import Level, Variable
from discreet.query import Question, QuestionClass


def level_note(state: State, variable: Variable, level: Level, foresight: Foresight) -> str:
    """Return what a menu says of a level: used, refused, or nothing."""
    question = state.at_level(variable.id, level.id).question
    kind = "" if question is None else _foreseen(question, foresight)
    return kind if kind in ("used", "refused") else ""


def _foreseen(question: Question, foresight: Foresight) -> str:
    """Return what would become of a question, where its detail is fine enough to be used up."""
    fine = foresight.opened.ledger.space.guarded(QuestionClass.of(question))
    return foresight.of(question).kind if fine else ""


def warning(state: State, variable: Variable, foresight: Foresight, t: Texts) -> str:
    """Return why a variable could not simply be added, empty if it could."""
    rules, question = foresight.opened.tier.question, state.added(variable.id).question
    assert question is not None
    if len(QuestionClass.of(question).levels) > rules.max_dimensions:
        return t("list.full", n=rules.max_dimensions)
    room = rules.max_cells // max(prod(len(axis) for axis in state.axes), 1)
    sizes = sorted({len(state.axis(level.id)) for level in variable.levels})
    fit = [size for size in sizes if size <= room]
    if room == 0:
        return ""  # the table is too large already, which is said once
    if not fit:
        return t("list.too_many")
    if len(state.axis(state.likely_level(variable).id)) > room:
        over = t.join([t.number(size) for size in sizes if size > room])
        return t("list.only", fit=t.number(max(fit)), over=over)
    return _used_up(state, variable, question, foresight, t)


def _used_up(
    state: State, variable: Variable, question: Question, foresight: Foresight, t: Texts
) -> str:
    """Return that a detail would be used up if a variable were added, and what would do."""
    now = state.question
    if now is not None and _foreseen(now, foresight) == "used":
        return ""  # it is already, which is said once
    if _foreseen(question, foresight) != "used":
        return ""
    outlook = foresight.of(question).outlook
    assert outlook is not None
    assert outlook.detail is not None
    others = [v for v in outlook.detail.of.levels if v not in variable.levels]
    with_what = t.join([_in_groups(state, level, t) for level in others])
    said = t("list.used", what=with_what) if others else t("list.used_alone")
    for level in others:
        owner = state.schema.find(level.id)[0]
        for coarser in owner.above(level):
            other = state.at_level(owner.id, coarser.id).added(variable.id).question
            kind = "" if other is None else foresight.of(other).kind
            if kind in ("published", "sum", "new"):
                areas = owner.is_geography
                what = t.inside(coarser.label) if areas else t.number(len(coarser))
                return said + t(f"list.would.{kind}", what=what)
    return said


def _in_groups(state: State, level: Level, t: Texts) -> str:
    name, variable = t.inside(level.label), state.schema.find(level.id)[0]
    several = len(variable.levels) > 1 and not variable.is_geography
    return t("list.in_groups", name=name, n=len(level)) if several else name
