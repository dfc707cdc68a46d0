"""What could be asked instead: a larger area, fewer categories, one variable less."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from discreet.population import Level
from discreet.query import Axis, Filter, Question
from discreet.types import Flags


def alternatives(question: Question) -> Iterator[tuple[str, Question]]:
    """Yield coarser questions in words, the least change first."""
    for i, axis in enumerate(question.axes):
        for level in _coarser(axis):
            kind = "a larger area" if axis.variable.is_geography else "fewer categories"
            text = f"Use {kind}: {level.label} instead of {axis.level.label}"
            yield text, _replaced(question, i, level)
    if len(question.axes) > 1:
        for i, axis in enumerate(question.axes):
            if not axis.variable.is_geography:
                axes = tuple(a for j, a in enumerate(question.axes) if j != i)
                text = f"Leave out {axis.level.label}"
                yield text, Question(question.schema, axes, question.filters)
        for i, axis in enumerate(question.axes):
            if axis.variable.is_geography:
                axes = tuple(a for j, a in enumerate(question.axes) if j != i)
                yield (
                    f"Leave out {axis.level.label}",
                    Question(question.schema, axes, question.filters),
                )


def words(question: Question) -> tuple[str, str]:
    """Return a question as it is asked: `by` and `where`."""
    by = ",".join(axis.level.id for axis in question.axes)
    return by, ",".join(f.canonical() for f in question.filters)


def newly_shown(
    question: Question, shown: Flags | None, other: Question, then: Flags | None
) -> int:
    """Return how many more of the areas asked for another table shows, or the areas around them.

    `shown` and `then` mark the areas that are available in either table; None is a table without.
    """
    here, there = _areas(question), _areas(other)
    if here is None or there is None or shown is None or then is None:
        return 0
    available = np.zeros(len(there.level), bool)
    available[there.kept[then]] = True
    covered = available[there.level.of[here.level.member[here.kept]]]
    return int((covered & ~shown).sum()) - int((shown & ~covered).sum())


def _areas(question: Question) -> Axis | None:
    return next((axis for axis in question.axes if axis.variable.is_geography), None)


def _coarser(axis: Axis) -> list[Level]:
    """Return the levels of the variable with fewer categories, the finest of them first."""
    levels = [level for level in axis.variable.levels if len(level) < len(axis.level)]
    return sorted(levels, key=len, reverse=True)[:2]


def _replaced(question: Question, i: int, level: Level) -> Question:
    """Return the question with one axis at another level; a filter on it keeps whole categories."""
    axis = question.axes[i]
    filters = []
    shown = np.ones(len(level), bool)
    for f in question.filters:
        if f.variable is axis.variable:
            shown[:] = False
            shown[level.of[f.allowed]] = True
            allowed = shown[level.of]
            if not allowed.all():
                filters.append(Filter(f.variable, allowed, level))
        else:
            filters.append(f)
    axes = list(question.axes)
    axes[i] = Axis(axis.variable, level, np.flatnonzero(shown))
    return Question(question.schema, tuple(axes), tuple(filters))
