"""What could be asked instead: larger areas, fewer categories, a variable or a filter fewer."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice

from discreet.population import Level
from discreet.query import Axis, Filter, Question
from discreet.release.result import Hint

MOST_HINTS = 3
MOST_NAMED = 3


def hints(question: Question, may: Callable[[Question], bool]) -> tuple[Hint, ...]:
    """Return coarser questions that the rules on questions allow, the smallest change first.

    Of the question alone: nothing that was counted decides which they are, or their order.
    """
    found = (Hint(text, other.restated) for text, other in alternatives(question))
    return tuple(islice((hint for hint in found if may(hint.question)), MOST_HINTS))


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


def _coarser(axis: Axis) -> list[Level]:
    """Return the levels of the variable with fewer categories, the finest of them first."""
    levels = [level for level in axis.variable.levels if len(level) < len(axis.level)]
    return sorted(levels, key=len, reverse=True)[:2]
