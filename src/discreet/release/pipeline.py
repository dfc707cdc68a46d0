"""The five steps, for the page, the API, the command line and Python alike.

1. rules on the question   2. risk before   3. protection   4. rules on the protected counts, and
risk after   5. output with its public quality.

Nothing public here depends on a true count other than through the released figures: the verdicts
of step 4 are functions of them, and so are hints, notes and quality. The exact measures go into
the record, which only the custodian sees.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Event

import numpy as np
from numpy.typing import NDArray

from discreet.errors import QueryRefused
from discreet.policy import Gate, Margins, Policy, Tier
from discreet.population import Version
from discreet.population.keys import Secret
from discreet.query import Axis, Filter, Query, Question
from discreet.release import measures
from discreet.release.areas import withheld_areas
from discreet.release.beforehand import gate_multiplier, prepared, quality_beforehand, swap_rate
from discreet.release.hints import alternatives
from discreet.release.originals import whole_way
from discreet.release.protection import protect
from discreet.release.record import ORIGINAL, PROTECTED, Record, append
from discreet.release.result import Hint, Provenance, Release, Withheld
from discreet.release.text import ADDS_UP
from discreet.risk import public_gate, public_quality
from discreet.risk.public import possible_ranges
from discreet.rules import Code, broken_rules, check_question
from discreet.table import TOTAL, CountTable, Dimension, ProtectedTable
from discreet.table.transition import Transition
from discreet.tabulate import Engine

MOST_HINTS = 3
_PERTURBED = (
    "Figures are perturbed to protect confidentiality. For small ones the change is a large share."
)
_BEFOREHAND = (
    "Records were altered before any table was made, to protect confidentiality: single records, "
    "and figures of small areas or groups, need not be true."
)
_MARGINS = {
    Margins.NONE: "Figures of one table do not add up to those of another; use the published one.",
    Margins.PROTECTED: "Parts do not add up to totals. Each total is perturbed on its own, which "
    "keeps it closer to the truth than a sum of parts: use the published total.",
    Margins.SUMMED: "Totals are sums of perturbed figures, and may be further off than they.",
}


@dataclass(frozen=True, eq=False)
class _Judged:
    """A protected table with its verdict; the true table stays beside it for the record."""

    true: CountTable
    released: NDArray[np.int64]  # with totals if asked for
    inner: NDArray[np.int64]
    withheld: NDArray[np.bool_] | None  # by area, if the table has areas
    code: Code | None
    risk_public: float | None


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
        check_question(question, self.policy.tier(tier), _margins(totals))
        return question

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
                record, question, judged.inner, self._originals, self.version, allowed.protection,
                allowed.risk,
            )  # fmt: skip
        hints: tuple[Hint, ...] = ()
        if judged.code is not None or (judged.withheld is not None and judged.withheld.any()):
            hints = self._hints(question, allowed, stop)
        if judged.code is not None:
            raise QueryRefused(judged.code, judged.code.sentence, hints, record)
        return self._output(question, allowed, margins, judged, record, hints)

    def _check_store(self, tier: Tier) -> None:
        """Refuse a store that was not prepared as the policy asks: never release it anyway."""
        if not prepared(self.version, tier.protection):
            raise QueryRefused(Code.NOT_PROTECTED, Code.NOT_PROTECTED.sentence)

    def _judge(
        self, question: Question, tier: Tier, totals: Margins, stop: Event | None
    ) -> _Judged:
        """Steps 2 to 4 in the canonical order of variables, back in the order asked."""
        order, canonical = _canonical(question)
        protection = tier.protection
        # A table-wise draw is of the table asked for and no other.
        wide, shown = _widened(canonical) if protection.cellwise else (canonical, _all(canonical))
        table = self.engine.tabulate(wide, stop).dense()
        official = ",".join(axis.level.id for axis in canonical.axes)
        if official in self.policy.benchmark_totals and not question.filters:
            protection = replace(protection, method="none", options={})
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
        bound, judged = None, inner
        if code is None:
            if geography is not None and withheld is not None:
                judged = np.compress(~withheld, inner, axis=geography)
            multiplier = gate_multiplier(self.version, question, tier)
            bound = float(public_gate(judged, multiplier, tier.risk.weights))
            measure = bound
            if tier.risk.gate is Gate.TRANSITION:
                exact = measures.risk_after(
                    table.counts, inner, protection, tier.risk, swap_rate(self.version, question)
                )
                measure = bound if exact is None else exact
            if measure > tier.risk.maximum:
                code = Code.RISK
        back = np.argsort(order)
        table = CountTable(
            tuple(table.dimensions[i] for i in back),
            table.counts.transpose(back),
            table.keys.transpose(back),
            table.modulus,
        )
        return _Judged(
            table, released.transpose(back), inner.transpose(back), withheld, code, bound
        )

    def _record(self, question: Question, tier: Tier, totals: Margins, judged: _Judged) -> Record:
        geography = _geography(question)
        missing: tuple[str, ...] = ()
        if judged.withheld is not None and geography is not None:
            codes = question.axes[geography].dimension.codes
            missing = tuple(codes[i] for i in np.flatnonzero(judged.withheld))
        true = judged.true.counts
        return Record(
            question.canonical,
            totals.value,
            tier.id,
            self.version.id,
            self.policy.version,
            "released" if judged.code is None else str(judged.code),
            question.cells,
            measures.risk_before(true, tier.risk),
            measures.risk_after(
                true, judged.inner, tier.protection, tier.risk, swap_rate(self.version, question)
            ),
            judged.risk_public,
            measures.utility(true, judged.inner),
            missing,
            PROTECTED if self.version.manifest.get("protected_beforehand") else ORIGINAL,
        )

    def _output(
        self,
        question: Question,
        tier: Tier,
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
            if totals is Margins.SUMMED and judged.withheld.any():
                out[-1] = True  # a sum over all areas would give the withheld ones away
            np.moveaxis(withheld, geography, 0)[out] = True
            names = question.axes[geography].dimension
            missing = tuple(
                Withheld(names.codes[i], names.labels[i]) for i in np.flatnonzero(judged.withheld)
            )
        values = np.where(withheld, 0, judged.released)
        transition = tier.protection.transition or Transition.identity()
        published = tier.protection.published
        low = high = None
        if published and tier.protection.build is not None and totals is not Margins.SUMMED:
            low, high = possible_ranges(transition, values)
        available = judged.inner
        if geography is not None and judged.withheld is not None:
            available = np.compress(~judged.withheld, judged.inner, axis=geography)
        return Release(
            ProtectedTable(dimensions, values, withheld, low, high),
            self.version.schema.title,
            tuple((f.level.label, _allowed(f)) for f in question.filters),
            quality_beforehand(available)
            if tier.protection.beforehand
            else public_quality(available, transition, published),
            self._notes(tier, totals),
            self._provenance(question, tier, totals),
            missing,
            0 if geography is None else len(question.axes[geography]),
            hints,
            record,
        )

    def _notes(self, tier: Tier, totals: Margins) -> tuple[str, ...]:
        """Return what readers are told: how figures were made safe, never by how much."""
        before = (_BEFOREHAND,) if self.version.manifest.get("protected_beforehand") else ()
        if tier.protection.beforehand:
            return (*before, ADDS_UP)
        if tier.protection.build is None:
            return before
        return (_PERTURBED, *before, _MARGINS[totals])

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

    def _hints(self, question: Question, tier: Tier, stop: Event | None) -> tuple[Hint, ...]:
        """Return what would be answered instead, judged on protected counts like the question."""
        found: list[Hint] = []
        for text, other in alternatives(question):
            try:
                check_question(other, tier)
            except QueryRefused:
                continue
            judged = self._judge(other, tier, Margins.NONE, stop)
            if judged.code is not None:
                continue
            free = areas = None
            if judged.withheld is not None:
                areas = len(judged.withheld)
                free = areas - int(judged.withheld.sum())
            if free != areas:
                text += f" ({free:,} of {areas:,} areas available)"
            by = ",".join(axis.level.id for axis in other.axes)
            where = ",".join(f.canonical() for f in other.filters)
            found.append(Hint(text, by, where, free, areas))
            if len(found) == MOST_HINTS:
                break
        return tuple(found)


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
