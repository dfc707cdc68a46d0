"""A server before the space of questions was closed, as version 0.1: what attackers learnt then.

Each question is counted and protected by itself. So every set of people that a filter can pick has
noise of its own, a refusal says which rule it was, and nothing is ever used up.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from discreet.errors import QueryRefused
from discreet.policy import Margins
from discreet.query import Query, Question
from discreet.release import Releaser
from discreet.release.protection import protect
from discreet.rules import broken_rules, withheld_areas
from discreet.service.opened import open_store
from discreet.study.attacks import Target
from discreet.study.attacks.target import Truth
from discreet.types import Flags, Integers


def open_before(path: Path, truth: Truth, edition: Target | None = None) -> Target:
    """Return a store as a target whose space of questions is open, scored by `truth`."""
    releaser = open_store(path, database="sqlite://").releaser

    def ask(by: str, where: str | None, totals: str) -> Any:
        question = Question.of(Query.of(by, where), releaser.version.schema)
        return _answer(releaser, question, Margins.of(totals))

    found = replace(Target.of(releaser), asking=ask, truth=truth, edition=edition)
    found.again = lambda: replace(found)
    return found


def _answer(releaser: Releaser, question: Question, totals: Margins) -> Any:
    rules = releaser.policy.default_tier.question
    wide = len(question.axes) > rules.max_dimensions or question.cells > rules.max_cells
    if wide or any(axis.level.id in rules.levels_refused for axis in question.axes):
        raise QueryRefused("MAX_CELLS", "Too large.")
    values = _drawn(releaser, question)
    gone = _withheld(releaser, question, values)
    if totals is Margins.PROTECTED:
        values, gone = _with_totals(releaser, question, values, gone)
    table = SimpleNamespace(values=values, withheld=gone, parts=None)
    return SimpleNamespace(table=table, withheld=(), hints=())


def _drawn(releaser: Releaser, question: Question) -> Integers:
    """Return figures with the noise of the people in each cell; the same in every edition."""
    counts = releaser.engine.tabulate(question).dense()
    protection = releaser.policy.default_tier.protection
    return protect(counts, protection, releaser.secret, question.canonical)


def _withheld(releaser: Releaser, question: Question, values: Integers) -> Flags:
    """Return what is withheld; raise the first rule that is broken where that is everything."""
    areas, at, tier = question.areas, question.geography, releaser.policy.default_tier
    gone = np.zeros(values.shape, bool)
    if areas is None or at is None:
        code = broken_rules(values, tier.counts, areas=False)[0]
        if code is not None:
            raise QueryRefused(code, code.sentence)
        return gone
    tables = np.moveaxis(values, at, 0)
    codes = broken_rules(tables, tier.counts_at(areas.level.id), areas=True)
    failing = np.array([code is not None for code in codes])
    people = tables.reshape(len(tables), -1).sum(axis=1)
    np.moveaxis(gone, at, 0)[withheld_areas(failing, areas.parents, people)] = True
    if gone.all():
        code = next(code for code in codes if code is not None)
        raise QueryRefused(code, code.sentence)
    return gone


def _with_totals(
    releaser: Releaser, question: Question, values: Integers, gone: Flags
) -> tuple[Integers, Flags]:
    """Return the figures with totals, each protected on its own."""
    shape = tuple(size + 1 for size in values.shape)
    shown, missing = np.zeros(shape, np.int64), np.zeros(shape, bool)
    for kept in np.ndindex(*(2 for _ in shape)):
        part = question
        for i in reversed(np.flatnonzero(kept)):
            part = part.without(int(i))
        at = tuple(-1 if total else slice(-1) for total in kept)
        shown[at] = values if not any(kept) else _drawn(releaser, part)
        missing[at] = gone.any(axis=tuple(int(i) for i in np.flatnonzero(kept)))
    return shown, missing
