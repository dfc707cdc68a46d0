"""The five steps, for the page, the API, the command line and Python alike.

1. rules on the question, and the ledger   2. counts, and risk before   3. protection   4. rules on
the protected counts, and risk after   5. the answer: slices and sums of what is released.

Steps 2 to 4 make the complete table of a class of questions, once. Nothing public here depends on
a true count other than through the released figures: the verdicts of step 4 are functions of them.
Hints, and whether a question is answered at all, depend on the question and the ledger alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from threading import Event

import numpy as np

from discreet.errors import QueryRefused
from discreet.ledger import Database, Ledgers, State
from discreet.policy import Margins, Policy, Tier
from discreet.population import Level, Version
from discreet.population.keys import Secret
from discreet.progress import Tell, silent
from discreet.query import Question, QuestionClass
from discreet.release import told
from discreet.release.beforehand import prepared
from discreet.release.complete import (
    BUDGET,
    CompleteTable,
    Tables,
    complete,
    counted,
    judged,
    protected,
)
from discreet.release.hints import hints
from discreet.release.originals import whole_way
from discreet.release.projection import project, with_totals
from discreet.release.record import Record, append
from discreet.release.result import Hint, Provenance, Release, Withheld
from discreet.release.steps import Allowed, Elsewhere, Making, Projected
from discreet.rules import Code, check_detail, check_question
from discreet.table import Dimension, ProtectedTable
from discreet.tabulate import Engine, ViewEngine

Coarser = tuple[str, Margins, tuple[Level, ...]]
"""Who asks, the totals and the levels of a question without filters."""

_COARSER = 10_000  # questions of which it is kept what the rules say


@dataclass(frozen=True, eq=False)
class Releaser:
    """Answers questions about one version of a population under its policy.

    Records of tables are appended to `log` when they are
    first made, None for none. With `originals`, the records as they came, the record that is
    handed back measures the whole way from them. With `claims` false only what is released
    already is answered. Where records are `elsewhere`, tables are made there.
    """

    version: Version
    engine: Engine
    policy: Policy
    secret: Secret
    ledgers: Ledgers
    log: Path | None = None
    originals: Version | None = None
    claims: bool = True
    tables: Tables = field(default_factory=Tables)
    made_up: Tables = field(default_factory=lambda: Tables(BUDGET // 8))
    elsewhere: Elsewhere | None = None
    # What the rules say of coarser questions, which many have in common; each releaser has its own,
    # since another policy may be made of it.
    _coarser: dict[Coarser, QuestionClass | None] = field(default_factory=dict, init=False)

    @classmethod
    def alone(
        cls, version: Version, engine: Engine, policy: Policy, secret: Secret,
        log: Path | None = None,
    ) -> Releaser:  # fmt: skip
        """Return a releaser with an empty ledger of its own, which is forgotten with it."""
        ledgers = Ledgers(version, policy, secret, Database.of("sqlite://"))
        return cls(version, engine, policy, secret, ledgers, log)

    @property
    def quiet(self) -> Releaser:
        """The same releaser, which claims and records nothing."""
        return replace(self, log=None, claims=False)

    # Step 1

    def check(self, question: Question, totals: str = "none", tier: str | None = None) -> Allowed:
        """Return the question with what it is asked for, or raise `QueryRefused`."""
        kind, asking = Margins.of(totals), self.policy.tier(tier)
        allowed = Allowed(question, kind, asking, self.version, self.policy)
        check_question(question, asking, kind, self.version.people)
        making = allowed.making(allowed.of)
        check_detail(making.of, making.applied, self.ledgers.of(asking).space.population)
        many = max(len(making.of.levels), 1)
        if many not in making.protection.takes:
            raise QueryRefused(Code.NO_METHOD, Code.NO_METHOD.sentence)
        if not making.applied.measured(many):
            raise QueryRefused(Code.NOT_MEASURED, Code.NOT_MEASURED.sentence)
        if self.elsewhere is not None:
            self.elsewhere.check(allowed)
        return allowed

    def release(
        self,
        question: Question,
        totals: str = "none",
        tier: str | None = None,
        stop: Event | None = None,
    ) -> Release:
        """Return the release, or raise `QueryRefused`."""
        return self.answer(self.check(question, totals, tier), stop)

    def answer(self, allowed: Allowed, stop: Event | None = None) -> Release:
        """Return the release of a question that was checked, or raise `QueryRefused`."""
        self.version.guard.check()  # nothing that is kept is given out of a damaged version
        if not prepared(self.version, allowed.policy, allowed.tier):
            raise QueryRefused(Code.NOT_PROTECTED, Code.NOT_PROTECTED.sentence)
        table = self._answering(allowed, stop)
        # Looked for whatever was counted: the time of an answer is to tell no more than the answer.
        others = self._hints(allowed)
        inner = None if table.refused else project(table, allowed.question)
        if inner is None or inner.withheld.all():
            code = Code.NOT_AVAILABLE  # the one refusal of all rules that look at counts
            raise QueryRefused(code, code.sentence, others, table.told_record)
        find = self._totals(allowed, table, stop)
        shown = with_totals(allowed.question, allowed.totals, inner, find)
        return released(allowed, table, shown, others)

    def stand_in(self, question: Question, totals: str, tier: str) -> Release:
        """Return a release of made-up figures, for whoever must take as long as for a real one.

        The question was checked. As in a release, its complete table is made once and kept.
        """
        asking = self.policy.tier(tier)
        allowed = Allowed(question, Margins.of(totals), asking, self.version, self.policy)
        table = self.made_up.get(allowed.making(allowed.of), _made_up)
        inner = project(table, allowed.question)
        shown = with_totals(allowed.question, allowed.totals, inner, partial(project, table))
        return released(allowed, table, shown, ())

    def make_together(self, asked: Sequence[tuple[Allowed, Event | None]]) -> None:
        """Make the tables of several questions, and write them down at once.

        Only where no look is used. Each question is answered by `answer` afterwards, which tells
        what is wrong with one and does what was left out here.
        """
        if not self.claims or self.elsewhere is not None:
            return
        by_tier: dict[str, list[tuple[Allowed, Event | None]]] = {}
        for one in asked:
            by_tier.setdefault(one[0].tier.id, []).append(one)
        for tier, many in by_tier.items():
            if prepared(self.version, self.policy, self.policy.tier(tier)):
                self._make_free(self.policy.tier(tier), many)

    def _make_free(self, tier: Tier, asked: Sequence[tuple[Allowed, Event | None]]) -> None:
        """Make the tables of questions of one tier that use no look."""
        ledger, made = self.ledgers.of(tier), dict[QuestionClass, CompleteTable]()
        for allowed, stop in asked:
            if ledger.decided(allowed.of) is None and ledger.space.guarded(allowed.of):
                continue
            making = allowed.making(allowed.of)
            for of in (allowed.of, *self._free_totals(allowed, making)):
                if of in made or ledger.decided(of) is not None or ledger.space.guarded(of):
                    continue
                with suppress(Exception):  # it fails again, and is told, when it is answered
                    made[of] = self._made(tier, of, stop)
        self._settled(tier, made)

    def _answering(self, allowed: Allowed, stop: Event | None) -> CompleteTable:
        """Return the complete table that answers a question, claimed now or before."""
        source = self._claimed(allowed, stop)
        table = self._table(allowed.tier, source, stop)
        decided = self.ledgers.of(allowed.tier).decided(allowed.of)
        if decided is not None and decided.source != source:
            # Others had decided on it already, which is known since this table was written down.
            table = self._table(allowed.tier, decided.source, stop)
        return table

    def _claimed(self, allowed: Allowed, stop: Event | None) -> QuestionClass:
        """Return the class whose table answers a question.

        What is guarded is claimed now or was before. What is not uses no look: it is written down
        when it is made, and shown to nobody before.
        """
        ledger, asked = self.ledgers.of(allowed.tier), allowed.of
        guarded = ledger.space.guarded(asked)
        if self.claims:
            for one in ledger.unsettled(asked):
                self._table(allowed.tier, one, stop)  # it may be what the question is summed from
        known = ledger.decided(asked) if self.claims else ledger.route(asked)
        if known is not None:
            return known.source
        if self.claims and isinstance(self.engine, ViewEngine):
            # What could not be counted now is not claimed: coarser questions would wait for it.
            self.engine.reach(allowed.making(asked).question)
        if not guarded:
            return asked
        if self.claims and self.elsewhere is not None and ledger.outlook(asked).state.new:
            # Made first and shown to nobody before it is claimed: sites may not answer.
            self.tables.get(allowed.making(asked), lambda making: self._make(making, stop))
        with suppress(QueryRefused):
            if self.claims:
                return ledger.claim(asked).source
        raise QueryRefused(Code.USED_UP, Code.USED_UP.sentence, self._hints(allowed))

    def _totals(
        self, allowed: Allowed, table: CompleteTable, stop: Event | None
    ) -> Callable[[Question], Projected]:
        """Return what answers the questions of totals.

        Totals of a class that is not guarded come from its own table. Those of fine detail are
        sums of the figures beside them: a figure of their own would be one look more. So are
        those of figures that are released as counted.
        """
        free = [one for one in self._free_totals(allowed, table.making) if one != table.of]
        if not free:
            return partial(project, table)
        sources = dict(zip(free, self._tables(allowed.tier, free, stop), strict=True))

        def total(other: Question) -> Projected:
            source = sources.get(QuestionClass.of(other), table)
            return project(table if source.refused or source.partial else source, other)

        return total

    def _free_totals(self, allowed: Allowed, making: Making) -> list[QuestionClass]:
        """Return the classes of the totals that have tables of their own, and use no look."""
        if allowed.totals is not Margins.PROTECTED or making.protection.build is None:
            return []
        space = self.ledgers.of(allowed.tier).space
        asked = {QuestionClass.of(other): None for _, other in allowed.question.margins}
        return [one for one in asked if not space.guarded(one)]

    # Steps 2 to 4

    def make_planned(self, tell: Tell = silent, stop: Event | None = None) -> None:
        """Make the tables that are planned, or were claimed and left, so that sums can use them."""
        for tier in self.policy.tiers.values():
            planned = self.ledgers.of(tier).unsettled()
            for i, of in enumerate(planned):
                tell("planned tables", i, len(planned))
                self._table(tier, of, stop)

    def would_release(self, of: QuestionClass, tier: Tier) -> bool:
        """Whether the table of a class passes the rules: for the custodian, and nothing claimed."""
        if len(of.levels) not in tier.dimensions or not tier.measured(len(of.levels)):
            return False
        return not self.quiet._table(tier, of, None).refused

    def _table(self, tier: Tier, of: QuestionClass, stop: Event | None) -> CompleteTable:
        """Return the complete table of a class, from those kept or made now."""
        return self._tables(tier, [of], stop)[0]

    def _tables(
        self, tier: Tier, classes: Sequence[QuestionClass], stop: Event | None
    ) -> list[CompleteTable]:
        """Return the complete tables of classes, written down before anybody sees them."""
        found = {of: self._made(tier, of, stop) for of in classes}
        if self.claims:
            self._settled(tier, found)
        return [found[of] for of in classes]

    def _made(self, tier: Tier, of: QuestionClass, stop: Event | None) -> CompleteTable:
        """Return the complete table of a class, from those kept or made now, for nobody to see."""
        making = Making(of, tier, self.version, self.policy)
        return self.tables.get(making, lambda making: self._make(making, stop))

    def _settled(self, tier: Tier, made: Mapping[QuestionClass, CompleteTable]) -> None:
        """Write down and record what became of tables, as far as that is not known."""
        new = self.ledgers.of(tier).settle_all(
            {of: table.status for of, table in made.items()},
            lambda new: self._record([made[of] for of in new]),
        )
        for of in new:
            self.tables.offer(made[of])

    def _record(self, tables: Sequence[CompleteTable]) -> None:
        if self.log is not None:
            append(self.log, *map(self._recorded, tables))

    def _recorded(self, table: CompleteTable) -> Record:
        """Return the record of a table; one that others made and is not written down is measured.

        So it is after somebody has put an older state back.
        """
        record = table.record or self._make(table.making, None).record
        assert record is not None
        return record

    def _make(self, making: Making, stop: Event | None) -> CompleteTable:
        if self.elsewhere is None:
            found = judged(protected(counted(making, self.engine, stop), self.secret))
        else:
            found = self.elsewhere.judged(making, stop, self.secret)
        record = Record.of(found)
        whole = None if self.originals is None else whole_way(record, found, self.originals)
        made = complete(found, record, whole)
        known = self.ledgers.of(making.tier).decided(making.of)
        if known is not None and known.status is made.status:
            self.tables.offer(made)  # written down before, as after a restart
        return made

    def _hints(self, allowed: Allowed) -> tuple[Hint, ...]:
        """Return coarser questions that the rules allow: of the question and the ledger alone."""
        foreseen = self.ledgers.of(allowed.tier).foreseen

        def may(other: Question) -> bool:
            of = self._class_of(other, allowed)
            return of is not None and foreseen(of) not in (State.USED, State.REFUSED)

        return hints(allowed.question, may)

    def _class_of(self, other: Question, allowed: Allowed) -> QuestionClass | None:
        """Return the class of a question if the rules allow it to whoever asked another one.

        Many have the same hints: those without a filter are checked once.
        """
        key = (allowed.tier.id, allowed.totals, other.levels)
        kept = not other.filters and self.elsewhere is None
        if kept and key in self._coarser:
            return self._coarser[key]
        try:
            found = self.check(other, allowed.totals, allowed.tier.id).of
        except QueryRefused:
            found = None
        if kept and len(self._coarser) < _COARSER:
            self._coarser[key] = found
        return found


def _made_up(making: Making) -> CompleteTable:
    """Return a table of figures that were never counted, of about as many people as there are.

    What is estimated from a table takes more steps for large figures than for small ones.
    """
    cells = making.of.cells
    scale = 3 * max(making.version.people // (36 * cells), 1)
    figures = scale * (np.arange(cells, dtype=np.int64) % 25)
    shape = [len(level) for level in making.of.levels]
    nothing = Record("", "", "", "", "", 0, None, None, None, {}, ())
    return CompleteTable(making, figures.reshape(shape), None, False, nothing)


def released(
    allowed: Allowed, table: CompleteTable, shown: Projected, hints: tuple[Hint, ...]
) -> Release:
    """Step 5: return the output, with its variables in the order asked."""
    question, making = allowed.question, table.making
    dimensions = question.dimensions
    if allowed.totals is not Margins.NONE:
        dimensions = tuple(dimension.with_total() for dimension in dimensions)
    about = told.Told(
        shown,
        allowed.totals,
        making.protection,
        max(len(table.of.levels), 1),
        allowed.beforehand,
        table.alike,
    )
    missing = _missing(question, shown)
    return Release(
        _table(dimensions, shown, about),
        allowed.version.schema.title,
        tuple((f.level.label, f.labels) for f in question.filters),
        partial(told.quality, about),
        told.notes(about),
        _provenance(allowed, table),
        missing,
        0 if question.areas is None else len(question.areas),
        hints if missing else (),
        table.told_record,
        protection=making.protection,
    )


def _table(dimensions: tuple[Dimension, ...], shown: Projected, about: told.Told) -> ProtectedTable:
    """Return the figures with what may be told of each."""
    low, high = shown.low, shown.high
    if low is None or high is None or not shown.drawn.any():
        low = high = None
    around = about.beforehand.around(shown.values)
    if around is not None and about.in_ranges:
        low, high = around  # of a protected base: in nine of ten cases
    summed = bool((shown.drawn > 1).any())  # sums of figures as counted are counts
    at_most, often = told.off(about, shown.drawn) if summed else (None, None)
    parts = shown.parts if summed else None
    return ProtectedTable(
        dimensions, shown.values, shown.withheld, low, high, parts, at_most, often
    )


def _missing(question: Question, shown: Projected) -> tuple[Withheld, ...]:
    """Return the areas of which nothing is available."""
    areas, at = question.areas, question.geography
    if areas is None or at is None:
        return ()
    by_area = np.moveaxis(shown.withheld, at, 0).reshape(shown.withheld.shape[at], -1)
    gone = np.flatnonzero(by_area[: len(areas)].all(axis=1))
    dimension = areas.dimension
    return tuple(Withheld(dimension.codes[i], dimension.labels[i]) for i in gone)


def _provenance(allowed: Allowed, table: CompleteTable) -> Provenance:
    version, schema = allowed.version, allowed.version.schema
    return Provenance(
        schema.id,
        schema.title,
        schema.unit,
        allowed.question.canonical,
        allowed.totals.value,
        allowed.tier.id,
        version.id,
        str(version.manifest["created"]),
        allowed.policy.version,
        table.of.name,
    )
