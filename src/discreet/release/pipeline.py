"""The five steps, for the page, the API, the command line and Python alike.

1. rules on the question   2. risk before   3. protection   4. rules on the protected counts, and
risk after   5. output with its public quality.

Nothing public here depends on a true count other than through the released figures: the verdicts
of step 4 are functions of them, and so are hints, notes and quality. The exact measures go into
the record, which only the custodian sees.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from threading import Event

import numpy as np
from numpy.typing import NDArray

from discreet.errors import QueryRefused
from discreet.policy import Gate, Margins, Policy, Tier
from discreet.population import Version
from discreet.population.keys import Secret
from discreet.query import Axis, Filter, Query, Question
from discreet.release import measures, told
from discreet.release.areas import withheld_areas
from discreet.release.beforehand import prepared, swap_rate
from discreet.release.hints import alternatives, newly_shown, words
from discreet.release.originals import whole_way
from discreet.release.protection import protect
from discreet.release.record import ORIGINAL, PROTECTED, Record, append
from discreet.release.result import Hint, Provenance, Release, Withheld
from discreet.risk import public_gate
from discreet.rules import Code, broken_rules, check_question
from discreet.table import TOTAL, CountTable, Dimension, ProtectedTable
from discreet.tabulate import Engine

MOST_HINTS = 3
Psi = float | tuple[float, float]


@dataclass(frozen=True, eq=False)
class _Judged:
    """A protected table with its verdict; the true table stays beside it for the record."""

    tier: Tier  # as it treats this question: what was applied, and what decided
    true: CountTable
    released: NDArray[np.int64]  # with totals if asked for
    inner: NDArray[np.int64]
    withheld: NDArray[np.bool_] | None  # by area, if the table has areas
    code: Code | None
    risk_public: float | None
    multiplier: Psi | None

    @property
    def free(self) -> NDArray[np.bool_] | None:
        """The areas that are shown, None where the table has none."""
        if self.withheld is None:
            return None
        return ~self.withheld if self.code is None else np.zeros_like(self.withheld)


class Releaser:
    """Answers questions about one version of a population under its policy."""

    def __init__(
        self,
        version: Version,
        engine: Engine,
        policy: Policy,
        secret: Secret,
        log: Path | None,
        originals: Version | None = None,
    ) -> None:
        self.version = version
        self.engine = engine
        self.policy = policy
        self._secret = secret
        self._log = log
        self._originals = originals

    def check(self, query: Query, totals: str = "none", tier: str | None = None) -> Question:
        """Step 1 alone: return the question if the rules on questions allow it."""
        question = Question.of(query, self.version.schema)
        allowed = self.policy.tier(tier)
        check_question(question, allowed, _margins(totals))
        applied, dimensions = self._applied(question, allowed), len(question.axes)
        if dimensions not in applied.protection.takes:
            raise QueryRefused(Code.NO_METHOD, Code.NO_METHOD.sentence)
        if not applied.measured(dimensions):
            raise QueryRefused(Code.NOT_MEASURED, Code.NOT_MEASURED.sentence)
        return question

    def _applied(self, question: Question, tier: Tier) -> Tier:
        """Return the tier as it treats a question: official figures are not protected."""
        levels = (axis.level.id for axis in question.axes)
        return self.policy.applied(tier, levels, bool(question.filters))

    def release(
        self,
        query: Query,
        totals: str = "none",
        tier: str | None = None,
        stop: Event | None = None,
    ) -> Release:
        """Return the release, or raise `QueryRefused` with the rule that refuses it."""
        allowed, margins = self.policy.tier(tier), _margins(totals)
        question = self.check(query, totals, tier)
        self._check_store(allowed)
        judged = self._judge(question, allowed, margins, stop)
        record = self._record(question, allowed, margins, judged)
        if self._log is not None:
            append(self._log, record)
        if self._originals is not None:
            record = whole_way(
                record, question, judged.inner, self._originals, self.version, judged.tier
            )
        hints: tuple[Hint, ...] = ()
        if judged.code is not None or (judged.withheld is not None and judged.withheld.any()):
            hints = self._hints(question, allowed, margins, judged, stop)
        if judged.code is not None:
            raise QueryRefused(judged.code, judged.code.sentence, hints, record)
        return self._output(question, margins, judged, record, hints)

    @property
    def _beforehand(self) -> bool:
        return bool(self.version.manifest.get("protected_beforehand"))

    def _check_store(self, tier: Tier) -> None:
        """Refuse a store that was not prepared as the policy asks: never release it anyway."""
        if not prepared(self.version, tier.protection):
            raise QueryRefused(Code.NOT_PROTECTED, Code.NOT_PROTECTED.sentence)

    def _judge(
        self, question: Question, tier: Tier, totals: Margins, stop: Event | None
    ) -> _Judged:
        """Steps 2 to 4 in the canonical order of variables, back in the order asked."""
        order, canonical = _canonical(question)
        tier = self._applied(question, tier)
        protection = tier.protection
        # A table-wise draw is of the table asked for and no other.
        wide, shown = _widened(canonical) if protection.cellwise else (canonical, _all(canonical))
        table = self.engine.tabulate(wide, stop).dense()
        seed = f"{self.version.schema.id}\0{tier.id}\0{self.policy.version}\0{canonical.canonical}"
        geography = _geography(canonical)
        beside = None
        if geography is not None and len(shown) < table.shape[geography]:
            beside = protect(table, protection, Margins.NONE, self._secret, seed)
            table = _only(table, geography, shown)
        released = protect(table, protection, totals, self._secret, seed)
        inner = released[tuple(slice(0, size) for size in table.shape)]
        rules = tier.counts_at(None if geography is None else canonical.axes[geography].level.id)
        code, withheld = None, None
        if geography is None:
            code = broken_rules(inner, rules, areas=False)[0]
        else:
            areas = np.moveaxis(inner if beside is None else beside, geography, 0)
            codes = broken_rules(areas, rules, areas=True)
            failing = np.array([code is not None for code in codes])
            people = areas.reshape(len(areas), -1).sum(axis=1)
            axis = wide.axes[geography]
            withheld = withheld_areas(failing, _parents(axis), people)[shown]
            if withheld.all():
                common = Counter(codes[i] for i in shown if codes[i] is not None)
                code = common.most_common(1)[0][0] if common else Code.SPARSE
        bound = psi = None
        if code is None:
            available = inner
            if geography is not None and withheld is not None:
                available = np.compress(~withheld, inner, axis=geography)
            code, bound, psi = self._gate(
                tier, table, inner, available, swap_rate(self.version, question)
            )
        back = np.argsort(order)
        table = CountTable(
            tuple(table.dimensions[i] for i in back),
            table.counts.transpose(back),
            table.keys.transpose(back),
            table.modulus,
        )
        return _Judged(
            tier,
            table,
            released.transpose(back),
            inner.transpose(back),
            withheld,
            code,
            bound,
            psi,
        )

    def _gate(
        self,
        tier: Tier,
        true: CountTable,
        inner: NDArray[np.int64],
        available: NDArray[np.int64],
        rate: float,
    ) -> tuple[Code | None, float | None, Psi | None]:
        """Return what the risk that is left refuses, its public bound, and the multiplier."""
        bound = None
        psi = measures.multiplier(available, tier, rate)
        if psi is not None:
            bound = float(public_gate(available, psi, tier.risk.weights))
        measure = bound
        if tier.risk.gate is Gate.TRANSITION:
            measure = measures.risk_after(true.counts, inner, tier, rate)
        if measure is None:
            return Code.NOT_MEASURED, bound, psi
        return Code.RISK if measure > tier.risk.maximum else None, bound, psi

    def _record(self, question: Question, tier: Tier, totals: Margins, judged: _Judged) -> Record:
        geography = _geography(question)
        missing: tuple[str, ...] = ()
        if judged.withheld is not None and geography is not None:
            codes = question.axes[geography].dimension.codes
            missing = tuple(codes[i] for i in np.flatnonzero(judged.withheld))
        true, applied = judged.true.counts, judged.tier
        return Record(
            question.canonical,
            totals.value,
            tier.id,
            self.version.id,
            self.policy.version,
            "released" if judged.code is None else str(judged.code),
            question.cells,
            measures.risk_before(true, applied),
            measures.risk_after(true, judged.inner, applied, swap_rate(self.version, question)),
            judged.risk_public,
            measures.utility(true, judged.inner),
            missing,
            PROTECTED if self._beforehand else ORIGINAL,
            applied.protection.method,
            applied.risk.gate.value if applied.risk == tier.risk else "none",
            judged.multiplier,
        )

    def _output(
        self,
        question: Question,
        totals: Margins,
        judged: _Judged,
        record: Record,
        hints: tuple[Hint, ...],
    ) -> Release:
        """Step 5."""
        dimensions = question.dimensions
        if totals is not Margins.NONE:
            dimensions = tuple(_with_total(dimension) for dimension in dimensions)
        withheld = np.zeros(judged.released.shape, bool)
        geography = _geography(question)
        missing: tuple[Withheld, ...] = ()
        if judged.withheld is not None and geography is not None:
            out = np.zeros(judged.released.shape[geography], bool)
            out[: len(judged.withheld)] = judged.withheld
            summed = totals is Margins.SUMMED or judged.tier.protection.build is None
            if summed and totals is not Margins.NONE and judged.withheld.any():
                out[-1] = True  # a sum over all areas would give the withheld ones away
            np.moveaxis(withheld, geography, 0)[out] = True
            names = question.axes[geography].dimension
            missing = tuple(
                Withheld(names.codes[i], names.labels[i]) for i in np.flatnonzero(judged.withheld)
            )
        values = np.where(withheld, 0, judged.released)
        protection = judged.tier.protection
        low, high = told.ranges(values, protection, totals, self._beforehand)
        available = judged.inner
        if geography is not None and judged.withheld is not None:
            available = np.compress(~judged.withheld, judged.inner, axis=geography)
        return Release(
            ProtectedTable(dimensions, values, withheld, low, high),
            self.version.schema.title,
            tuple((f.level.label, _allowed(f)) for f in question.filters),
            told.quality(available, protection, self._beforehand),
            told.notes(protection, totals, len(dimensions), self._beforehand),
            self._provenance(question, judged.tier, totals),
            missing,
            0 if geography is None else len(question.axes[geography]),
            hints,
            record,
            protection=protection,
        )

    def _provenance(self, question: Question, tier: Tier, totals: Margins) -> Provenance:
        schema, manifest = self.version.schema, self.version.manifest
        return Provenance(
            schema.id,
            schema.title,
            schema.unit,
            question.canonical,
            totals.value,
            tier.id,
            self.version.id,
            str(manifest["created"]),
            self.policy.version,
        )

    def _hints(
        self, question: Question, tier: Tier, totals: Margins, judged: _Judged, stop: Event | None
    ) -> tuple[Hint, ...]:
        """Return what is answered instead: the most of the areas asked for, then the finest.

        Each is judged as it will be asked: from its words, with the totals of this question.
        """
        found: list[tuple[int, Hint]] = []
        for text, other in alternatives(question):
            by, where = words(other)
            try:
                asked = self.check(Query.parse(by, where or None), totals.value, tier.id)
            except QueryRefused:
                continue
            answer = self._judge(asked, tier, totals, stop)
            freed = newly_shown(question, judged.free, asked, answer.free)
            if answer.code is not None or (judged.code is None and freed <= 0):
                continue
            free = areas = None
            if answer.free is not None:
                free, areas = int(answer.free.sum()), len(answer.free)
                text += f" ({free:,} of {areas:,} areas available)"
            found.append((asked.cells, Hint(text, by, where, free, areas, freed)))
        found.sort(key=lambda one: (-one[1].freed, -one[0]))
        return tuple(hint for _, hint in found[:MOST_HINTS])


def _margins(totals: str) -> Margins:
    from discreet.errors import unknown

    try:
        return Margins(totals)
    except ValueError:
        raise unknown("kind of totals", totals, (m.value for m in Margins)) from None


def _canonical(question: Question) -> tuple[list[int], Question]:
    """Return the order of the schema, and the question with its axes in it."""
    place = {variable.id: i for i, variable in enumerate(question.schema.variables)}
    order = sorted(range(len(question.axes)), key=lambda i: place[question.axes[i].variable.id])
    axes = tuple(question.axes[i] for i in order)
    return order, Question(question.schema, axes, question.filters)


def _geography(question: Question) -> int | None:
    return next((i for i, a in enumerate(question.axes) if a.variable.is_geography), None)


def _parents(axis: Axis) -> NDArray[np.integer]:
    """Return the area of the next larger level that each shown area lies in."""
    levels = axis.variable.levels
    above = levels.index(axis.level) + 1
    if above == len(levels):
        return np.zeros(len(axis), np.int64)
    return np.asarray(levels[above].of[axis.level.member[axis.kept]])


def _all(question: Question) -> NDArray[np.intp]:
    """Return the places of all areas of a table, none where it has none."""
    at = _geography(question)
    return np.arange(0 if at is None else len(question.axes[at]))


def _widened(question: Question) -> tuple[Question, NDArray[np.intp]]:
    """Return the question for all areas beside those asked, and where the asked ones are.

    Whether an area is withheld must not depend on which others are shown beside it.
    """
    at = _geography(question)
    if at is None:
        return question, _all(question)
    axis = question.axes[at]
    asked = [f for f in question.filters if f.variable.is_geography]
    if not asked or not _whole_areas(axis, asked[0]):
        return question, _all(question)
    levels = axis.variable.levels
    above = levels.index(axis.level) + 1
    if above == len(levels):
        allowed = np.ones(len(axis.variable.finest), bool)
        level = axis.level
    else:
        level = levels[above]
        chosen = np.zeros(len(level), bool)
        chosen[level.of[asked[0].allowed]] = True
        allowed = chosen[level.of]
    shown = np.zeros(len(axis.level), bool)
    shown[axis.level.of[allowed]] = True
    wide = Axis(axis.variable, axis.level, np.flatnonzero(shown))
    filters = tuple(
        Filter(f.variable, allowed, level) if f.variable.is_geography else f
        for f in question.filters
        if not (f.variable.is_geography and allowed.all())
    )
    axes = (*question.axes[:at], wide, *question.axes[at + 1 :])
    return Question(question.schema, axes, filters), np.searchsorted(wide.kept, axis.kept)


def _whole_areas(axis: Axis, asked: Filter) -> bool:
    """Whether a filter picks whole areas of the level that is shown."""
    shown = np.zeros(len(axis.level), bool)
    shown[axis.kept] = True
    return bool((shown[axis.level.of] == asked.allowed).all())


def _only(table: CountTable, at: int, shown: NDArray[np.intp]) -> CountTable:
    """Return the table with only the areas that were asked for."""
    names = table.dimensions[at]
    part = Dimension(
        names.variable,
        names.level,
        names.label,
        tuple(names.codes[i] for i in shown),
        tuple(names.labels[i] for i in shown),
    )
    return CountTable(
        (*table.dimensions[:at], part, *table.dimensions[at + 1 :]),
        table.counts.take(shown, axis=at),
        table.keys.take(shown, axis=at),
        table.modulus,
    )


def _with_total(dimension: Dimension) -> Dimension:
    return Dimension(
        dimension.variable,
        dimension.level,
        dimension.label,
        (*dimension.codes, TOTAL),
        (*dimension.labels, "Total"),
    )


def _allowed(f: Filter) -> tuple[str, ...]:
    """Return the labels a filter allows, at the level the question named."""
    chosen = np.zeros(len(f.level), bool)
    chosen[f.level.of[f.allowed]] = True
    return tuple(f.level.labels[i] for i in np.flatnonzero(chosen))
