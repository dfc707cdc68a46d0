"""The verdict bar: what one would get, what it uses up, and what to ask instead."""

from __future__ import annotations

from dataclasses import dataclass

from discreet.ledger import Origin
from discreet.page import fixes
from discreet.page.fixes import Fix
from discreet.page.foresight import Foreseen, Foresight
from discreet.page.names import detail_name, state_of, table_name
from discreet.page.state import State
from discreet.page.texts import Texts
from discreet.policy import Tier
from discreet.query import QuestionClass
from discreet.rules import Code

ICONS = {
    "published": "check", "sum": "sigma", "new": "star", "look": "two", "last": "two",
    "used": "cross", "refused": "cross", "large": "cross", "barred": "cross",
}  # fmt: skip
MOST_WAYS = 3


@dataclass(frozen=True)
class Factor:
    """One number of the sum, with what it counts."""

    number: int
    label: str


@dataclass(frozen=True)
class RuleLine:
    """A rule in words; `passed` is None for one that is judged when the table is made."""

    text: str
    passed: bool | None
    value: str


@dataclass(frozen=True, eq=False)
class Published:
    """A table that shows a detail already: `kind` says what became of it."""

    name: str
    state: State
    cells: int
    kind: str
    said: str


@dataclass(frozen=True, eq=False)
class Detail:
    """A fine detail: in how many tables it is, of how many there may be."""

    name: str
    used: int
    limit: int
    tables: tuple[Published, ...]

    @property
    def all_published(self) -> bool:
        """Whether each table that used it up shows its figures."""
        return all(table.kind == "published" for table in self.tables)


@dataclass(frozen=True, eq=False)
class Verdict:
    """The bar of the builder. Texts have bars around what is a link."""

    kind: str
    title: str
    said: str
    factors: tuple[Factor, ...]
    cells: int
    rules: tuple[RuleLine, ...]
    detail: Detail | None = None
    ways: tuple[Fix, ...] = ()
    whole: Fix | None = None
    """Of sums over a part of an area: all of the area, which is published as it is."""
    button: str = ""
    token: str = ""

    @property
    def met(self) -> int:
        """The number of rules met."""
        return sum(rule.passed is True for rule in self.rules)

    @property
    def icon(self) -> str:
        """The symbol beside the headline."""
        return ICONS[self.kind]

    @property
    def tone(self) -> str:
        """What the colour means: ok, part or no."""
        if self.kind in ("look", "last"):
            return "part"
        return "ok" if self.kind in ("published", "sum", "new") else "no"

    @property
    def second(self) -> bool:
        """Whether there is a second row, with other questions in it."""
        return bool(self.ways or self.whole or self.kind in ("look", "last", "used", "refused"))


def judge(state: State, foresight: Foresight, t: Texts) -> Verdict:
    """Return the verdict on a state."""
    question = state.question
    if question is None:
        return Verdict("start", t("verdict.start"), t("verdict.start_more"), (), 0, ())
    found = foresight.of(question)
    factors = tuple(Factor(len(axis), t.inside(axis.level.label)) for axis in question.axes)
    rules = _rules(found, foresight.opened.tier, t)
    detail = _detail(found, state, foresight, t)
    decided = found.available and foresight.decided(foresight.asked(question))
    button = "" if not found.available else "publish" if found.uses_up else "get"
    ways: tuple[Fix, ...] = ()
    if found.uses_up:
        free = (f for f in fixes.ways(state, foresight, t, 5) if not f.foreseen.uses_up)
        ways = tuple(free)[:1]
    elif not found.available and found.kind != "barred":
        ways = tuple(fixes.ways(state, foresight, t, MOST_WAYS))
    return Verdict(
        found.kind,
        t(f"verdict.title.{found.kind}"),
        _said(found, rules, detail, t),
        factors,
        question.cells,
        rules,
        detail,
        ways,
        fixes.whole(state, found, foresight, t) if found.kind == "sum" else None,
        button,
        "" if decided or not button else found.token,
    )


def _said(found: Foreseen, rules: tuple[RuleLine, ...], detail: Detail | None, t: Texts) -> str:
    """Return the sentence under the headline."""
    kind = found.kind
    if kind == "barred":
        failed = next((line.text for line in rules if line.passed is False), "")
        return failed or t(f"refused.codes.{found.code}")
    if kind == "large":
        of, most = found.source, found.opened.tier.space.max_table
        if of.cells > most:
            return t("verdict.large_cells", what=detail_name(of, t), n=of.cells, most=most)
        return t("verdict.large_time", what=detail_name(of, t))
    if kind in ("look", "last") and detail is not None:
        return _limited(detail, t)
    if kind == "used" and detail is not None:
        key = "used_said" if detail.all_published else "used_said_also"
        return t(f"verdict.{key}", what=detail.name, n=detail.used)
    met = t("verdict.met", n=sum(line.passed is True for line in rules))
    if kind == "new":
        sums = t("verdict.new_sums", n=found.parts[1]) if found.parts[1] > 1 else ""
        return " ".join(filter(None, [t("verdict.new_said", met=met), sums]))
    return _figures(found, t) if kind in ("published", "sum") else t("verdict.refused_said")


def _limited(detail: Detail, t: Texts) -> str:
    """Return how many tables may show a detail, and which of them this would be."""
    key = "look_some" if detail.all_published else "look_used"
    now = t(f"verdict.{key}", n=detail.used, next=detail.used + 1)
    if not detail.used:
        now = t("verdict.look_only" if detail.limit == 1 else "verdict.look_none")
    return f"{t('verdict.look_limit', n=detail.limit)} {now}"


def _figures(found: Foreseen, t: Texts) -> str:
    """Return since when figures are published, and how far off they may be."""
    at_most, often = found.off
    if found.kind == "published":
        since = None if found.outlook is None else found.outlook.since
        when = "" if since is None else t("verdict.since", date=t.date(str(since)))
        return " ".join(filter(None, [when, _far(at_most, t)]))
    least, most = found.parts
    key = "sum_of" if least == most else "sum_up_to"
    if not at_most:
        told = t("verdict.sum_untold" if at_most is None else "verdict.sum_exact")
        return t(f"verdict.{key}", n=most, off=told)
    far = t("verdict.sum_off", n=at_most)
    if often is not None:
        far = t("verdict.sum_off_often", n=at_most, often=often)
    return t(f"verdict.{key}", n=most, off=far)


def _far(at_most: int | None, t: Texts) -> str:
    if at_most is None:
        return ""
    return t("verdict.exact") if at_most == 0 else t("verdict.off", n=at_most)


def _detail(found: Foreseen, state: State, foresight: Foresight, t: Texts) -> Detail | None:
    """Return the detail that a question would use up or that is used up, with its tables."""
    if found.outlook is None or found.outlook.detail is None or found.kind not in (
        "look", "last", "used",
    ):  # fmt: skip
        return None
    look = found.outlook.detail
    tables = []
    for shown in found.outlook.tables:
        of = QuestionClass.named(shown.name, state.schema)
        kind = foresight.of(of.question).kind
        key = {"published": "released", "refused": "unavailable"}.get(kind, "earlier")
        by = t("tables.plan" if shown.origin is not Origin.ASKED else "tables.asked")
        said = t(f"tables.{key}", by=by, date=t.date(str(shown.since)))
        tables.append(Published(table_name(of, t), state_of(of), shown.cells, kind, said))
    return Detail(detail_name(look.of, t), look.used, look.limit, tuple(tables))


# Rules


def _rules(found: Foreseen, tier: Tier, t: Texts) -> tuple[RuleLine, ...]:
    """Return the rules that a question met, broke, or is judged by later."""
    question, rules, code = found.question, tier.question, found.code
    variables = len(QuestionClass.of(question).levels)
    lines = [
        _line(t, "variables", rules.max_dimensions, variables),
        _line(t, "cells", rules.max_cells, question.cells),
    ]
    widest = max((len(a) for a in question.axes if not a.variable.is_geography), default=0)
    if widest > rules.max_categories:
        lines.append(_line(t, "categories", rules.max_categories, widest))
    if rules.levels_refused or rules.filters_refused:
        passed = code not in (Code.LEVEL, Code.FILTER)
        lines.append(RuleLine(t("rules.detail"), passed, _result(t, passed)))
    if code in (Code.NO_METHOD, Code.NOT_MEASURED):
        lines.append(RuleLine(t("rules.method"), False, _result(t, False)))
    if code == Code.TOO_LARGE:
        most = tier.space.max_table
        cells = _line(t, "whole", most, found.source.cells)
        lines.append(
            cells if not cells.passed else RuleLine(t("rules.time"), False, _result(t, False))
        )
    detail = None if found.outlook is None else found.outlook.detail
    if detail is not None and found.kind in ("look", "last", "used"):
        value = t("rules.used", n=detail.used)
        lines.append(RuleLine(t("rules.looks", n=detail.limit), found.kind != "used", value))
    lines.append(_counts(found.kind, tier, t))
    return tuple(sorted(lines, key=_failed_first))


def _counts(kind: str, tier: Tier, t: Texts) -> RuleLine:
    """Return the line of all rules that look at counts; which of them it was is never told."""
    passed = {"published": True, "sum": True, "refused": False}.get(kind)
    value = t("rules.later") if passed is None else _result(t, passed)
    name = "people" if reasons(tier) == ["people"] else "counts"
    return RuleLine(t(f"rules.{name}"), passed, value)


def reasons(tier: Tier) -> list[str]:
    """Return for what tables of protected counts may be refused: the rules that any could break."""
    counts = tier.counts
    small = min(counts.max_small, counts.max_ones_of_populated, counts.max_small_of_populated)
    limits = {"small": small, "slices": counts.max_single_lines, "risk": tier.risk.maximum}
    return ["people", *(name for name, most in limits.items() if most < 1)]


def _line(t: Texts, name: str, most: int, number: int) -> RuleLine:
    return RuleLine(t(f"rules.{name}", n=most), number <= most, t.number(number))


def _result(t: Texts, passed: bool) -> str:
    return t("rules.passed" if passed else "rules.failed")


def _failed_first(line: RuleLine) -> bool:
    return line.passed is not False
