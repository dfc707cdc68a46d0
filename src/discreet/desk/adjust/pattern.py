"""Which cells to withhold with others, in tables whose remaining figures were moved.

A reader of the adjusted tables knows that they add up, and roughly what each figure was before. So
the pattern must be safe twice: among the adjusted figures as if these were true, and among the true
figures, for one who sees through every change. Withholding more never tells more: what is withheld
by either of two safe patterns is safe from both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from discreet.desk.cells import MARKS, CellTable, Mark
from discreet.desk.sensitivity import Rule
from discreet.desk.suppress.insiders import Contributions
from discreet.desk.suppress.method import PREFERRED, Suppression
from discreet.desk.suppress.solver import Problem
from discreet.errors import ParameterError
from discreet.progress import Tell
from discreet.types import Flags, Floats


@dataclass(frozen=True, eq=False)
class Hidden:
    """A table some of whose cells are withheld: true `cells` and the adjusted `values`.

    The `primary` cells are withheld, and must be able to lie as far below and above the truth as
    `lower` and `upper` say: 0 where only their adjusted figure is not to be computed. Cells that
    are not `published` at all may be withheld for nothing.
    """

    cells: CellTable
    values: Floats
    primary: Flags
    lower: Floats
    upper: Floats
    published: Flags


def safe_pattern(
    tables: Sequence[Hidden],
    rules: Sequence[Rule],
    contributions: Sequence[Contributions],
    tell: Tell | None = None,
) -> list[Flags] | None:
    """Return which cells of each table to withhold; None where no pattern was found.

    Notes
    -----
    Chosen and proved as by cell suppression: against everybody, and against every contributor, who
    knows what is their own; what is asked against them is by the `rules` and the true figures.
    Zeros: are published.
    """
    method = Suppression(tuple(rules))
    spare = MARKS.index(Mark.PREFER)
    marked = [
        replace(one.cells, marks=np.where(one.published, 0, spare).astype(np.int8))
        for one in tables
    ]
    system, alike, stated = method.stated(marked)

    def joined(name: str) -> Floats:
        return np.concatenate([np.asarray(getattr(one, name)).reshape(-1) for one in tables])

    # Cells that are one must be withheld as one, and each as far as any of them asks.
    primary = _spread(system.variable, joined("primary").astype(float)) > 0
    lower, upper = (_spread(system.variable, joined(side)) for side in ("lower", "upper"))
    withheld = primary.copy()
    try:
        for problem in (
            _among_true(stated, primary, lower, upper),
            _among_adjusted(stated, primary, lower, upper, joined("values")),
        ):
            if problem.primary.any():
                cheap = np.where(withheld, PREFERRED, 1.0)
                given = replace(problem, weights=problem.weights * cheap)
                given = method.watched(system, alike, given, contributions)
                given = _around_truth(given, given.values - stated.values)
                withheld |= method.pattern(system, alike, given, tell).withheld
    except ParameterError:
        return None
    ends = np.cumsum([one.values.size for one in tables])[:-1]
    parts = zip(tables, np.split(withheld, ends), strict=True)
    return [part.reshape(one.values.shape) for one, part in parts]


def _spread(variable: np.ndarray, given: Floats) -> Floats:
    """Return for each cell the largest of the numbers given for it by any name it has."""
    most = np.zeros(int(variable.max(initial=-1)) + 1)
    np.maximum.at(most, variable, given)
    return np.asarray(most[variable])


def _among_true(stated: Problem, primary: Flags, lower: Floats, upper: Floats) -> Problem:
    """Return what is asked of the true figures: the rules' amounts; a count must not be known."""
    asked = primary & (lower + upper > 0)
    return _asking(stated, asked, np.minimum(lower, stated.values), upper)


def _among_adjusted(
    stated: Problem, primary: Flags, lower: Floats, upper: Floats, values: Floats
) -> Problem:
    """Return what is asked of the adjusted figures: as much around these, and around the truth."""
    change = values - stated.values
    if not change.any():
        return _asking(stated, np.zeros(primary.shape, bool), lower, upper)
    size = np.abs(change)
    fall = np.maximum(lower + np.maximum(change, 0.0), size)
    rise = np.maximum(upper + np.maximum(-change, 0.0), size)
    shown = replace(stated, values=values, weights=np.where(values > 0, stated.weights, np.inf))
    return _asking(shown, primary & (values > 0), np.minimum(fall, values), rise)


def _around_truth(problem: Problem, change: Floats) -> Problem:
    """Return the problem in which contributors, too, are kept as far from the truth as asked."""
    known = problem.insiders
    up, down = np.maximum(-change, 0.0), np.maximum(change, 0.0)
    fall = np.minimum(_more(known.fall, down[known.cell]), np.maximum(known.room, 0.0))
    return replace(
        problem,
        insiders=replace(
            known,
            rise=_more(known.rise, up[known.cell]),
            fall=fall,
            out_rise=_more(known.out_rise, up),
            out_fall=_more(known.out_fall, down),
        ),
    )


def _more(asked: Floats, by: Floats) -> Floats:
    """Return what is asked and so much more, where anything is asked."""
    return np.where(asked > 0, asked + by, asked)


def _asking(problem: Problem, primary: Flags, fall: Floats, rise: Floats) -> Problem:
    """Return a problem with these cells to protect; of counts, that they are not known exactly."""
    amounts = primary & (not problem.whole)
    return replace(
        problem,
        primary=primary,
        width=np.where(primary & problem.whole, 1.0, 0.0),
        rise=np.where(amounts, rise, 0.0),
        fall=np.where(amounts, fall, 0.0),
    )
