"""What could be asked instead: larger areas, fewer categories, a variable or a filter fewer."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from discreet.population import Level
from discreet.query import Axis, Filter, Question
from discreet.release.result import Hint
from discreet.release.steps import Judged
from discreet.types import Flags

MOST_HINTS = 3
MOST_NAMED = 3


def hints(found: Judged, judge: Callable[[Question], Judged | None]) -> tuple[Hint, ...]:
    """Return other questions that would be answered, those that show most of the areas first.

    `judge` returns the verdict on another question, None where it may not be asked.
    """
    question = found.allowed.question
    hints = []
    for text, other in alternatives(question):
        answer = judge(other.restated)  # as its text will ask it
        if answer is None or answer.code is not None:
            continue
        asked = answer.allowed.question
        freed = newly_shown(question, found.free, asked, answer.free)
        if found.code is None and freed <= 0:
            continue
        free = areas = None
        if answer.free is not None:
            free, areas = int(answer.free.sum()), len(answer.free)
            text += f" ({free:,} of {areas:,} areas available)"
        hints.append(Hint(text, asked, free, areas, freed))
    hints.sort(key=lambda hint: (-hint.freed, -hint.question.cells))
    return tuple(hints[:MOST_HINTS])


def alternatives(question: Question) -> Iterator[tuple[str, Question]]:
    """Yield coarser questions, each with the change in words, the smallest change first."""
    axes = list(enumerate(question.axes))
    for i, axis in axes:
        for level in _coarser(axis):
            kind = "a larger area" if axis.variable.is_geography else "fewer categories"
            text = f"Use {kind}: {level.label} instead of {axis.level.label}"
            yield text, question.at_level(i, level)
    if len(axes) > 1:
        for i, axis in sorted(axes, key=lambda entry: entry[1].variable.is_geography):
            yield f"Leave out {axis.level.label}", question.without(i)
    yield from _filters(question)


def _filters(question: Question) -> Iterator[tuple[str, Question]]:
    """Yield the question with one filter less, and with a filter that is of a larger area.

    The filter of a geography that the table shows picks its areas: without it they are the same.
    """
    geographic = [f for f in question.filters if f.variable.is_geography]
    for f in question.filters:
        if f not in geographic:
            yield f"Leave out the filter on {f.level.label}", question.unfiltered(f)
    for f in geographic:
        if question.shows(f.variable):
            continue
        for wide in larger(f):
            text = f"Count {_named(wide)} instead of {_named(f)}"
            yield text, question.filtered(wide)
        yield f"Leave out the filter on {f.level.label}", question.unfiltered(f)


def larger(f: Filter) -> list[Filter]:
    """Return the filters that pick the larger areas around those that one picks, up to two."""
    found = [f.widened(level) for level in f.variable.above(f.level)]
    return [wide for wide in found if f.allowed.sum() < wide.allowed.sum() < len(wide.allowed)][:2]


def _named(f: Filter) -> str:
    many = f"{len(f.picked):,} of {len(f.level):,}"
    return f"{', '.join(f.labels) if len(f.picked) <= MOST_NAMED else many} ({f.level.label})"


def newly_shown(
    question: Question, shown: Flags | None, other: Question, then: Flags | None
) -> int:
    """Return how many more of the areas asked for another table shows, or the areas around them.

    `shown` and `then` mark the areas that are available in either table; None is a table without.
    """
    here, there = question.areas, other.areas
    if here is None or there is None or shown is None or then is None:
        return 0
    available = np.zeros(len(there.level), bool)
    available[there.kept[then]] = True
    covered = available[there.level.of[here.level.member[here.kept]]]
    return int((covered & ~shown).sum()) - int((shown & ~covered).sum())


def _coarser(axis: Axis) -> list[Level]:
    """Return the levels of the variable with fewer categories, the finest of them first."""
    levels = [level for level in axis.variable.levels if len(level) < len(axis.level)]
    return sorted(levels, key=len, reverse=True)[:2]
