"""The way on from a refusal: other questions, each one click away, with what they lose."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import islice

from discreet.page.foresight import Foreseen, Foresight
from discreet.page.state import State, of_question
from discreet.page.texts import Texts
from discreet.query import Axis, Filter, Question
from discreet.release.hints import MOST_NAMED, alternatives, larger

MOST = 5
_MOST_TRIED = 60


@dataclass(frozen=True, eq=False)
class Fix:
    """A change in words, what is lost, the state after it, and what would become of that."""

    text: str
    loses: str
    state: State
    foreseen: Foreseen
    verdict: str
    changes: int = 1

    @property
    def kind(self) -> str:
        """What would become of the question."""
        return self.foreseen.kind

    @property
    def cells(self) -> int:
        """The number of cells of the table."""
        return self.foreseen.question.cells


def before(state: State, foresight: Foresight, t: Texts) -> list[Fix]:
    """Return changes that the rules on questions allow, for a question that they refuse."""
    question = state.question
    if question is None or foresight.of(question).code is None:
        return []
    return _ways(state, question, foresight, t, MOST, _changes)


def ways(state: State, foresight: Foresight, t: Texts, most: int) -> list[Fix]:
    """Return the nearest questions that there would be a table for, the smallest change first.

    From the list of questions and what is published: nothing that was counted for this table
    decides which they are. Variables come in the order of the schema.
    """
    question = state.question
    return [] if question is None else _ways(state, question, foresight, t, most, _coarser)


def _ways(
    state: State,
    question: Question,
    foresight: Foresight,
    t: Texts,
    most: int,
    change: Callable[[Question], Iterator[Question]],
) -> list[Fix]:
    """Return questions one change away, or two where no single one is enough."""
    pairs = (two for one in change(question) for two in change(one))
    for others in (change(question), islice(pairs, _MOST_TRIED)):
        good = (o for o in map(foresight.of, others) if o.available)
        found = _varied(question, good, most)
        if found:
            return [_fix(state, question, other, t) for other in found]
    return []


def whole(state: State, found: Foreseen, foresight: Foresight, t: Texts) -> Fix | None:
    """Return the larger area that is published as it is, for sums over a part of its areas."""
    question = found.question
    for f in question.filters:
        if not f.variable.is_geography or question.shows(f.variable):
            continue
        for wide in larger(f):
            other = foresight.of(question.filtered(wide))
            if len(wide.picked) == 1 and other.kind == "published":
                fix = _fix(state, question, other, t)
                return replace(fix, text=t("fix.whole", name=wide.labels[0]))
    return None


def verdict_line(found: Foreseen, t: Texts) -> str:
    """Return a verdict in a few words, as it stands under an alternative."""
    at_most = found.off[0] if found.kind == "sum" else None
    if at_most is not None:
        return t("fix.verdict.sum_off", n=at_most)
    return t(f"fix.verdict.{found.kind}")


def _coarser(question: Question) -> Iterator[Question]:
    """Yield coarser questions, the smallest change first, in the order of the schema."""
    return (other for _, other in alternatives(question.ordered))


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


def _varied(question: Question, others: Iterable[Foreseen], most: int) -> list[Foreseen]:
    """Return a few questions, no two of which change the same thing."""
    found: dict[frozenset[tuple[str, str]], Foreseen] = {}
    for other in others:
        made = _made(question, other.question)
        found.setdefault(frozenset((c.kind, c.old.variable.id) for c in made), other)
        if len(found) == most:
            break
    return list(found.values())


@dataclass(frozen=True)
class _Change:
    """What becomes of a variable: removed, limited, coarser, or of larger areas.

    Of a filter: unfiltered, or widened to larger areas.
    """

    kind: str
    old: Axis | Filter
    new: Axis | Filter


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
    yield from _freed(question, other)


def _freed(question: Question, other: Question) -> Iterator[_Change]:
    """Yield what becomes of filters, but of those that follow the level of their variable."""
    levels = {axis.variable.id: axis.level for axis in question.axes}
    later = {axis.variable.id: axis.level for axis in other.axes}
    for old in question.filters:
        name, new = old.variable.id, other.filter_on(old.variable)
        if name in later and later[name] is not levels[name]:
            continue
        if new is None:
            yield _Change("unfiltered", old, old)
        elif new.allowed.sum() > old.allowed.sum():
            yield _Change("widened", old, new)


def _words(change: _Change, other: Question, t: Texts) -> tuple[str, str]:
    """Return a change in words, and what it loses."""
    name = t.inside(change.old.level.label)
    if isinstance(change.old, Filter) and isinstance(change.new, Filter):
        words = {"name": name if change.kind == "unfiltered" else _picked(change.old, t),
                 "to": _picked(change.new, t)}  # fmt: skip
        return t(f"fix.{change.kind}", **words), t(f"fix.loses_{change.kind}", **words)
    assert isinstance(change.old, Axis)
    assert isinstance(change.new, Axis)
    if change.kind == "removed":
        return t("fix.removed", name=name), t("fix.loses_variable", name=name)
    if change.kind == "limited":
        f = other.filter_on(change.old.variable)
        assert f is not None
        inside = t.inside(f.level.label)
        return t("fix.limited", name=f.labels[0]), t("fix.loses_areas", name=inside)
    to = t.inside(change.new.level.label)
    sizes = {"to": to, "name": name, "m": len(change.new), "n": len(change.old)}
    return t(f"fix.{change.kind}", **sizes), t(f"fix.loses_{change.kind}", **sizes)


def _picked(f: Filter, t: Texts) -> str:
    """Return what a filter picks, with the name of its level."""
    many = t("build.ticked", n=len(f.picked), of=len(f.level))
    labels = t.join(f.labels) if len(f.picked) <= MOST_NAMED else many
    return f"{labels} ({t.inside(f.level.label)})"


def advice(state: State, t: Texts) -> str:
    """Return what could be changed besides, where no change that was tried is enough.

    Only what the question has, and only where that leaves more than the one change tried.
    """
    question = state.question
    if question is None:
        return ""
    places: list[Axis | Filter] = [*question.axes, *question.filters]
    wide = any(x.variable.is_geography and x.variable.above(x.level) for x in places)
    found = {"variables": len(question.axes) - 1, "filters": len(question.filters), "areas": wide}
    if sum(found.values()) < 2:
        return ""
    parts = [t(f"fix.try_{name}") for name, number in found.items() if number]
    return t("fix.try", what=", ".join(parts))


def _fix(state: State, question: Question, found: Foreseen, t: Texts) -> Fix:
    other = found.question.restated
    told = [_words(change, other, t) for change in _made(question, other)]
    texts = [text if i == 0 else t.inside(text) for i, (text, _) in enumerate(told)]
    text = f" {t('format.and')} ".join(texts)
    loses = t.join([lost for _, lost in told])
    verdict = verdict_line(found, t)
    return Fix(text, loses, of_question(other, state), found, verdict, len(told))
