"""What is said above a table of sums: what was added up, and what is published as it is."""

from __future__ import annotations

from dataclasses import dataclass

from discreet.page import fixes
from discreet.page.areas import MOST_NAMED
from discreet.page.fixes import Fix
from discreet.page.foresight import Foreseen, Foresight
from discreet.page.grid import of_sums
from discreet.page.names import table_name
from discreet.page.state import State
from discreet.page.texts import Texts
from discreet.query import Filter, QuestionClass
from discreet.release import Release

_FEW = 5  # more names than this are not said one by one


@dataclass(frozen=True, eq=False)
class Sums:
    """The band above a table of sums."""

    what: str
    table: str
    """The published table whose figures were added up."""
    single: State | None = None
    """The areas of a sum one by one, which are published as they are."""
    number: int = 0
    whole: Fix | None = None
    """All of the larger area, which is published as one."""
    whole_name: str = ""
    whole_said: str = ""


def sums(release: Release, state: State, foresight: Foresight, t: Texts) -> Sums | None:
    """Return what is said of a table of sums, None where figures are published as they are."""
    question = state.question
    if question is None or not of_sums(release.table):
        return None
    source = QuestionClass.named(release.provenance.table, state.schema)
    f = question.filter_on(state.schema.geography)
    picked = f if f is not None and not question.shows(f.variable) and len(f.picked) > 1 else None
    found = foresight.of(question)
    whole = fixes.whole(state, found, foresight, t)
    return Sums(
        _what(state, source, picked, t),
        table_name(source, t),
        None if picked is None else state.moved(picked.variable.id, "rows", picked.level.id),
        0 if picked is None else len(picked.picked),
        whole,
        "" if whole is None else _name(whole),
        "" if whole is None or f is None else _whole_said(whole, f, found, t),
    )


def _what(state: State, source: QuestionClass, picked: Filter | None, t: Texts) -> str:
    """Return which figures were added up."""
    question = state.question
    assert question is not None
    over = []
    for level in source.levels:
        variable = state.schema.find(level.id)[0]
        place = question.place_of(variable, level)
        shown = next((a for a in question.axes if a.variable is variable), None)
        counted = int((place >= 0).sum())
        if counted > (1 if shown is None else len(shown)):
            over.append(t("sums.groups", n=counted, name=t.inside(level.label)))
    said = t("sums.added", what=t.join(over))
    if picked is None:
        return said
    names = list(picked.labels[:_FEW])
    if len(picked.picked) > _FEW:
        names.append(t("build.more", n=len(picked.picked) - _FEW))
    return f"{t('sums.not_one', names=t.join(names))} {said}"


def _name(whole: Fix) -> str:
    """Return the name of the area that is published as one."""
    question = whole.foreseen.question
    f = question.filter_on(question.schema.geography)
    return "" if f is None else f.labels[0]


def _whole_said(whole: Fix, f: Filter, found: Foreseen, t: Texts) -> str:
    """Return which areas are in the larger one besides, and how much closer its figures are."""
    wide = whole.foreseen.question.filter_on(f.variable)
    assert wide is not None
    inside = f.level.holding(wide.allowed) & ~f.level.holding(f.allowed)
    others = [label for label, there in zip(f.level.labels, inside, strict=True) if there]
    said = t("sums.whole_more", n=len(others), names=t.join(others[:MOST_NAMED]))
    if len(others) > _FEW:
        said = t("sums.whole_many", n=len(others))
    near, far = whole.foreseen.off[0], found.off[0]
    if near is None or far is None:
        return said
    return f"{said} {t('sums.whole_off', n=near, far=far)}"
