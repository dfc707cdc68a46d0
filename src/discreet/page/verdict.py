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


@dataclass(frozen=True)
class Factor:
    """One number of the sum, with what it counts."""

    number: int
    label: str


@dataclass(frozen=True)
class Rule:
    """A rule in words; `passed` is None for one that is judged when the table is made."""

    text: str
    passed: bool | None
    value: str


@dataclass(frozen=True)
class Verdict:
    """Whether a question may be asked: kind is start, allowed or refused."""

    kind: str
    factors: tuple[Factor, ...]
    cells: int
    rules: tuple[Rule, ...]
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


def judge(state: State, tier: Tier, t: Texts) -> Verdict:
    """Return the verdict on a state."""
    question = state.question
    if question is None:
        return Verdict("start", (), 0, ())
    rules = tier.question
    factors = tuple(Factor(len(axis), t.inside(axis.level.label)) for axis in question.axes)
    refused = allowed(question, tier)
    code = None if refused is None else refused.code
    lines = [
        Rule(
            t("rules.variables", n=rules.max_dimensions),
            len(question.axes) <= rules.max_dimensions,
            t.number(len(question.axes)),
        ),
        Rule(
            t("rules.cells", n=rules.max_cells),
            question.cells <= rules.max_cells,
            t.number(question.cells),
        ),
    ]
    widest = max((len(a) for a in question.axes if not a.variable.is_geography), default=0)
    if widest > rules.max_categories:
        text = t("rules.categories", n=rules.max_categories)
        lines.append(Rule(text, False, t.number(widest)))
    picked = max(
        (len(f.picked) for f in question.filters if not question.shows(f.variable)), default=0
    )
    if picked > rules.max_filter_categories:
        text = t("rules.filter", n=rules.max_filter_categories)
        lines.append(Rule(text, False, t.number(picked)))
    elif rules.levels_refused or rules.filters_refused:
        broken = code in (Code.LEVEL, Code.FILTER)
        lines.append(
            Rule(t("rules.detail"), not broken, t("rules.failed" if broken else "rules.passed"))
        )
    lines.append(Rule(t("rules.people"), None, t("rules.later")))
    lines.append(Rule(t("rules.small"), None, t("rules.later")))
    failed = next((rule.text for rule in lines if rule.passed is False), "")
    if refused is not None:
        lines.sort(key=lambda rule: rule.passed is not False)
    kind = "allowed" if refused is None else "refused"
    return Verdict(kind, factors, question.cells, tuple(lines), failed)


def after_refusal(state: State, tier: Tier, code: str, t: Texts) -> tuple[Rule, ...]:
    """Return the rules after the counts were judged: which one failed, never by how much."""
    people = code in (Code.EMPTY, Code.MIN_POPULATION, Code.MEAN_CELL)
    found = []
    for rule in judge(state, tier, t).rules:
        if rule.text == t("rules.people"):
            rule = Rule(rule.text, not people, t("rules.failed" if people else "rules.passed"))
        elif rule.text == t("rules.small"):
            value = t("rules.unjudged" if people else "rules.failed")
            rule = Rule(rule.text, None if people else False, value)
        found.append(rule)
    return tuple(sorted(found, key=lambda rule: rule.passed is not False))


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
