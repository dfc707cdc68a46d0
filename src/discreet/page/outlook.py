"""What is known before anything is counted: how many cells, and which rules are met."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from discreet.errors import QueryRefused
from discreet.page.state import State
from discreet.page.texts import Texts
from discreet.policy import Margins, Tier
from discreet.population import Variable
from discreet.query import Question
from discreet.rules import Code, check_question

# The rules that are not judged on the question alone, in the order in which they are judged. The
# first two are of the data and the method, and are met by nearly every table: they are not
# listed beforehand.
COUNTED = {
    "prepared": {Code.NOT_PROTECTED},
    "method": {Code.NO_METHOD, Code.NOT_MEASURED},
    "people": {Code.EMPTY, Code.MIN_POPULATION, Code.MEAN_CELL},
    "small": {Code.SMALL_CELLS, Code.SPARSE},
    "lines": {Code.SINGLE_LINES},
    "risk": {Code.RISK},
}
LATER = ("people", "small", "lines", "risk")


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


@dataclass(frozen=True)
class Outlook:
    """Whether a question may be asked: kind is start, allowed or refused."""

    kind: str
    factors: tuple[Factor, ...]
    cells: int
    rules: tuple[RuleLine, ...]
    failed: str = ""

    @property
    def met(self) -> int:
        """The number of rules met."""
        return sum(rule.passed is True for rule in self.rules)


def allowed(question: Question, tier: Tier) -> QueryRefused | None:
    """Return the rule on questions that a question breaks, None if it breaks none."""
    try:
        check_question(question, tier, Margins.NONE)
    except QueryRefused as refused:
        return refused
    return None


def judge(state: State, tier: Tier, t: Texts) -> Outlook:
    """Return the verdict on a state."""
    question = state.question
    if question is None:
        return Outlook("start", (), 0, ())
    rules = tier.question
    factors = tuple(Factor(len(axis), t.inside(axis.level.label)) for axis in question.axes)
    refused = allowed(question, tier)
    code = None if refused is None else refused.code
    lines = [
        _line(t, "variables", rules.max_dimensions, len(question.axes)),
        _line(t, "cells", rules.max_cells, question.cells),
    ]
    widest = max((len(a) for a in question.axes if not a.variable.is_geography), default=0)
    if widest > rules.max_categories:
        lines.append(_line(t, "categories", rules.max_categories, widest))
    if rules.levels_refused or rules.filters_refused:
        passed = code not in (Code.LEVEL, Code.FILTER)
        lines.append(RuleLine(t("rules.detail"), passed, _result(t, passed)))
    lines += [RuleLine(t(f"rules.{name}"), None, t("rules.later")) for name in LATER]
    failed = next((line.text for line in lines if line.passed is False), "")
    if refused is not None:
        lines.sort(key=_failed_first)
    kind = "allowed" if refused is None else "refused"
    return Outlook(kind, factors, question.cells, tuple(lines), failed)


def _line(t: Texts, name: str, most: int, number: int) -> RuleLine:
    return RuleLine(t(f"rules.{name}", n=most), number <= most, t.number(number))


def _result(t: Texts, passed: bool) -> str:
    return t("rules.passed" if passed else "rules.failed")


def _failed_first(line: RuleLine) -> bool:
    return line.passed is not False


def after_refusal(state: State, tier: Tier, code: str, t: Texts) -> tuple[RuleLine, ...]:
    """Return the rules after the counts were judged: which one failed, never by how much.

    Areas are judged one by one, and a rule that one of them met another may have failed: of a
    table with areas only the rule that is told as broken is shown.
    """
    asked = judge(state, tier, t).rules[: -len(LATER)]
    broken = next(name for name, codes in COUNTED.items() if code in codes)
    failed = RuleLine(t(f"rules.{broken}"), False, _result(t, False))
    if broken not in LATER:
        return (failed, *asked)
    areas = None if state.question is None else state.question.areas
    if areas is not None:
        return (failed, *asked)
    at = LATER.index(broken)
    met = [RuleLine(t(f"rules.{name}"), True, _result(t, True)) for name in LATER[:at]]
    rest = [RuleLine(t(f"rules.{name}"), None, t("rules.unjudged")) for name in LATER[at + 1 :]]
    return (failed, *asked, *met, *rest)


def warning(state: State, variable: Variable, tier: Tier, t: Texts) -> str:
    """Return why a variable could not simply be added, empty if it could."""
    rules = tier.question
    if len(state.by) >= rules.max_dimensions:
        return t("list.full", n=rules.max_dimensions)
    room = rules.max_cells // max(prod(len(axis) for axis in state.axes), 1)
    sizes = sorted({len(state.axis(level.id)) for level in variable.levels})
    fit = [size for size in sizes if size <= room]
    if room == 0:
        return ""  # the table is too large already, which is said once
    if not fit:
        return t("list.too_many")
    if len(state.axis(state.likely_level(variable).id)) <= room:
        return ""
    over = t.join([t.number(size) for size in sizes if size > room])
    return t("list.only", fit=t.number(max(fit)), over=over)
