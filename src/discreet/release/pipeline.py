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

from discreet.errors import QueryRefused
from discreet.policy import Gate, Margins, Policy
from discreet.population import Version
from discreet.population.keys import Secret
from discreet.query import Question
from discreet.release import measures, told
from discreet.release.beforehand import prepared
from discreet.release.hints import hints
from discreet.release.originals import whole_way
from discreet.release.protection import protect
from discreet.release.record import Record, append
from discreet.release.result import Hint, Provenance, Release, Withheld
from discreet.release.steps import Allowed, Counted, Judged, Protected
from discreet.risk import public_gate
from discreet.rules import Code, broken_rules, check_question, withheld_areas
from discreet.table import ProtectedTable
from discreet.tabulate import Engine
from discreet.types import Flags


@dataclass(frozen=True, eq=False)
class Releaser:
    """Answers questions about one version of a population under its policy.

    Records of releases are appended to `log`, None for none. With `originals`, the records as
    they came, the record that is handed back measures the whole way from them.
    """

    version: Version
    engine: Engine
    policy: Policy
    secret: Secret
    log: Path | None
    originals: Version | None = None

    @property
    def unrecorded(self) -> Releaser:
        """The same releaser, without a log."""
        return replace(self, log=None)

    def check(self, question: Question, totals: str = "none", tier: str | None = None) -> Allowed:
        """Return the question with what will be applied to it, or raise `QueryRefused`."""
        margins, asking = Margins.of(totals), self.policy.tier(tier)
        check_question(question, asking, margins)
        levels = (level.id for level in question.levels)
        applied = self.policy.applied(asking, levels, bool(question.filters))
        if len(question.levels) not in applied.protection.takes:
            raise QueryRefused(Code.NO_METHOD, Code.NO_METHOD.sentence)
        if not applied.measured(len(question.levels)):
            raise QueryRefused(Code.NOT_MEASURED, Code.NOT_MEASURED.sentence)
        return Allowed(question, margins, asking, applied, self.version, self.policy)

    def release(
        self,
        question: Question,
        totals: str = "none",
        tier: str | None = None,
        stop: Event | None = None,
    ) -> Release:
        """Return the release, or raise `QueryRefused` with the rule that refuses it."""
        return self.answer(self.check(question, totals, tier), stop)

    def answer(self, allowed: Allowed, stop: Event | None = None) -> Release:
        """Return the release of a question that was checked, or raise `QueryRefused`."""
        if not prepared(self.version, allowed.tier.protection):
            raise QueryRefused(Code.NOT_PROTECTED, Code.NOT_PROTECTED.sentence)
        found = self._judge(allowed, stop)
        record = Record.of(found)
        if self.log is not None:
            append(self.log, record)
        if self.originals is not None:
            record = whole_way(record, found, self.originals)
        others = self._hints(found, stop)
        if found.code is not None:
            raise QueryRefused(found.code, found.code.sentence, others, record)
        return released(found, record, others)

    def _judge(self, allowed: Allowed, stop: Event | None) -> Judged:
        return judged(protected(counted(allowed, self.engine, stop), self.secret))

    def _hints(self, found: Judged, stop: Event | None) -> tuple[Hint, ...]:
        """Return questions to ask instead, where the table or some of its areas are refused."""
        if found.code is None and not len(found.missing):
            return ()
        allowed = found.allowed

        def judge(other: Question) -> Judged | None:
            try:
                return self._judge(self.check(other, allowed.totals, allowed.tier.id), stop)
            except QueryRefused:
                return None

        return hints(found, judge)


def counted(allowed: Allowed, engine: Engine, stop: Event | None = None) -> Counted:
    """Step 2: return the true counts."""
    # A table-wise draw is of the table asked for and no other.
    question = allowed.ordered
    wide = question.widened() if allowed.protection.cellwise else question
    return Counted(allowed, wide, engine.tabulate(wide, stop).dense())


def protected(counted: Counted, secret: Secret) -> Protected:
    """Step 3: return the figures, of the table asked for and of the areas beside it."""
    allowed, asked = counted.allowed, counted.asked
    protection, seed = allowed.protection, allowed.seed
    released = protect(asked, protection, allowed.totals, secret, seed)
    found = Protected(counted, released, released)
    if asked is counted.table:
        return replace(found, judged=found.inner)
    return replace(found, judged=protect(counted.table, protection, Margins.NONE, secret, seed))


def judged(protected: Protected) -> Judged:
    """Step 4: return the verdict on the figures, by the rules on counts and then by the risk."""
    code, withheld = _counts(protected)
    found = Judged(protected, code, withheld)
    return found if code is not None else _gate(found)


def _counts(protected: Protected) -> tuple[Code | None, Flags | None]:
    """Return the rule that refuses the whole table, and the areas that are withheld."""
    wide, tier = protected.counted.wide, protected.counted.allowed.applied
    areas, at = wide.areas, wide.geography
    if areas is None or at is None:
        return broken_rules(protected.judged, tier.counts, areas=False)[0], None
    tables, shown = np.moveaxis(protected.judged, at, 0), protected.counted.shown
    codes = broken_rules(tables, tier.counts_at(areas.level.id), areas=True)
    failing = np.array([code is not None for code in codes])
    people = tables.reshape(len(tables), -1).sum(axis=1)
    withheld = withheld_areas(failing, areas.parents, people)[shown]
    if not withheld.all():
        return None, withheld
    common = Counter(codes[i] for i in shown if codes[i] is not None)
    return (common.most_common(1)[0][0] if common else Code.SPARSE), withheld


def _gate(found: Judged) -> Judged:
    """Return the verdict after the risk that is left was measured."""
    tier, rate, available = found.allowed.applied, found.allowed.swap_rate, found.available
    psi = measures.multiplier(available, tier, rate)
    bound = None if psi is None else float(public_gate(available, psi, tier.risk.weights))
    measure = bound
    if tier.risk.gate is Gate.TRANSITION:
        measure = measures.risk_after(found.true, found.inner, tier, rate)
    code = None
    if measure is None:
        code = Code.NOT_MEASURED
    elif measure > tier.risk.maximum:
        code = Code.RISK
    return replace(found, code=code, bound=bound, multiplier=psi)


def released(found: Judged, record: Record, hints: tuple[Hint, ...] = ()) -> Release:
    """Step 5: return the output, with its variables in the order asked."""
    allowed, question = found.allowed, found.allowed.question
    protection, totals, beforehand = allowed.protection, allowed.totals, allowed.beforehand
    dimensions = question.dimensions
    if totals is not Margins.NONE:
        dimensions = tuple(dimension.with_total() for dimension in dimensions)
    back = np.argsort(question.order)
    withheld = _withheld(found).transpose(back)
    values = np.where(withheld, 0, found.protected.released.transpose(back))
    areas = question.areas
    return Release(
        ProtectedTable(
            dimensions, values, withheld, *told.ranges(values, protection, totals, beforehand)
        ),
        allowed.version.schema.title,
        tuple((f.level.label, f.labels) for f in question.filters),
        told.quality(found.available, protection, beforehand),
        told.notes(values[~withheld], protection, totals, len(dimensions), beforehand),
        _provenance(allowed),
        ()
        if areas is None
        else tuple(
            Withheld(areas.dimension.codes[i], areas.dimension.labels[i]) for i in found.missing
        ),
        0 if areas is None else len(areas),
        hints,
        record,
        protection=protection,
    )


def _withheld(found: Judged) -> Flags:
    """Return which figures are withheld, those of totals included."""
    allowed = found.allowed
    cells = np.zeros(found.protected.released.shape, bool)
    at = allowed.ordered.geography
    if at is None or not len(found.missing):
        return cells
    by_area = np.moveaxis(cells, at, 0)
    by_area[found.missing] = True
    summed = allowed.totals is Margins.SUMMED or allowed.protection.build is None
    if summed and allowed.totals is not Margins.NONE:
        by_area[-1] = True  # a sum over all areas would give the withheld ones away
    return cells


def _provenance(allowed: Allowed) -> Provenance:
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
    )
