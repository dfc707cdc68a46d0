"""The way on from a refusal: other questions, each one click away, with what they lose."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from discreet.page.outlook import allowed
from discreet.page.state import State, of_question
from discreet.page.texts import Texts
from discreet.policy import Tier
from discreet.query import Axis, Filter, Question
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
    return [_of_hint(_fix(state, question, hint.question, t), hint, t) for hint in hints]


def _of_hint(fix: Fix, hint: Hint, t: Texts) -> Fix:
    label = "" if hint.areas is None else t("fix.areas")
    return replace(
        fix,
        text=fix.text or hint.text,
        available=hint.available,
        areas=hint.areas,
        area_label=label,
    )


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
    found: dict[frozenset[tuple[str, str]], Question] = {}
    for other in others:
        changed = frozenset(
            (change.kind, change.old.variable.id) for change in _made(question, other)
        )
        found.setdefault(changed, other)
        if len(found) == MOST:
            break
    return list(found.values())


@dataclass(frozen=True)
class _Change:
    """What becomes of a variable: removed, limited, coarser, or of larger areas."""

    kind: str
    old: Axis
    new: Axis


def _made(question: Question, other: Question) -> Iterator[_Change]:
    now = {axis.variable.id: axis for axis in other.axes}
    for old in question.axes:
        new = now.get(old.variable.id)
        if new is None:
            yield _Change("removed", old, old)
        elif new.level is not old.level:
            yield _Change("larger" if old.variable.is_geography else "coarser", old, new)
        elif len(new) < len(old):
            yield _Change("limited", old, new)


def _words(change: _Change, other: Question, t: Texts) -> tuple[str, str]:
    """Return a change in words, and what it loses."""
    name = t.inside(change.old.level.label)
    if change.kind == "removed":
        return t("fix.removed", name=name), t("fix.loses_variable", name=name)
    if change.kind == "limited":
        f = other.filter_on(change.old.variable)
        assert f is not None
        inside = t.inside(f.level.label)
        return t("fix.limited", name=f.labels[0]), t("fix.loses_areas", name=inside)
    to = t.inside(change.new.level.label)
    words = {"to": to, "name": name, "m": len(change.new), "n": len(change.old)}
    return t(f"fix.{change.kind}", **words), t(f"fix.loses_{change.kind}", **words)


def _fix(state: State, question: Question, other: Question, t: Texts) -> Fix:
    told = [_words(change, other, t) for change in _made(question, other)]
    texts = [text if i == 0 else t.inside(text) for i, (text, _) in enumerate(told)]
    text = f" {t('format.and')} ".join(texts)
    return Fix(text, t.join([lost for _, lost in told]), of_question(other, state), other.cells)
