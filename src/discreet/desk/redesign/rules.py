"""Ready-made rules for a redesign: what a table of true counts must be like to be published.

A rule gets the counts and dimensions of a table and returns a verdict with its reason. For the
custodian: reasons name cells.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.checks import checked_weights
from discreet.desk.cells import CellTable
from discreet.desk.redesign import Rule, RuleOnMembers, Verdict
from discreet.desk.sensitivity import Dominance, PriorPosterior, Threshold
from discreet.errors import ParameterError, unknown
from discreet.policy import CountRules
from discreet.risk import before, threshold
from discreet.risk.before import WEIGHTS
from discreet.rules.counts import broken_rules
from discreet.table.decimals import exact
from discreet.table.dimension import Dimension

Sensitivity = PriorPosterior | Dominance | Threshold

_NAMED = 3
# Every threshold of a policy so low that it cannot be broken; a rule raises its own.
_OPEN = {
    "minimum_population": 1,
    "minimum_mean": 0.0,
    "max_small": 1.0,
    "max_ones_of_populated": 1.0,
    "max_small_of_populated": 1.0,
    "max_single_lines": 1.0,
}


@dataclass(frozen=True)
class SmallestCount:
    """No count from 1 to below `smallest`. A failure stays with every finer table.

    A finer table splits a cell of 1 to k − 1 into parts of which one is again from 1 to k − 1.
    """

    smallest: int = 3

    def __post_init__(self) -> None:
        if self.smallest < 2:
            raise ParameterError(f"smallest must be at least 2. Got {self.smallest}.")

    def __str__(self) -> str:
        return f"every count is 0 or at least {self.smallest:,}"

    def __call__(self, counts: NDArray[Any], dimensions: tuple[Dimension, ...]) -> Verdict:
        """Return the verdict; its score is the share of small cells among populated ones."""
        small = threshold(counts, self.smallest)
        failing = int(np.count_nonzero(small))
        if not failing:
            return Verdict(True, 0.0)
        what = "1" if self.smallest == 2 else f"1 to {self.smallest - 1}"
        return Verdict(
            False,
            failing / int(np.count_nonzero(counts)),
            f"{_cells(failing)} of {what}",
            _names(small, dimensions),
            failing,
            stays=True,
        )


@dataclass(frozen=True)
class SmallShare:
    """At most this share of all cells from 1 to `small`."""

    most: float
    small: int = 2

    def __post_init__(self) -> None:
        _share("small", self.most)

    def __str__(self) -> str:
        return f"at most {self.most:.0%} of the cells are 1 to {self.small}"

    def __call__(self, counts: NDArray[Any], dimensions: tuple[Dimension, ...]) -> Verdict:
        """Return the verdict; its score is how far the share is above the limit."""
        small = threshold(counts, self.small + 1)
        share = float(small.mean())
        if not _breaks(counts, small=self.small, max_small=self.most):
            return Verdict(True, 0.0)
        return Verdict(
            False,
            max(share - self.most, 1e-9),
            f"{share:.1%} of the cells are 1 to {self.small}",
            _names(small, dimensions),
            int(small.sum()),
        )


@dataclass(frozen=True)
class ZeroShare:
    """At most this share of all cells zero."""

    most: float

    def __post_init__(self) -> None:
        _share("zeros", self.most)

    def __str__(self) -> str:
        return f"at most {self.most:.0%} of the cells are zero"

    def __call__(self, counts: NDArray[Any], dimensions: tuple[Dimension, ...]) -> Verdict:
        """Return the verdict; its score is how far the share is above the limit."""
        zero = counts == 0
        failing = int(np.count_nonzero(zero))
        if failing <= exact(self.most) * counts.size:
            return Verdict(True, 0.0)
        share = failing / counts.size
        return Verdict(
            False,
            share - self.most,
            f"{share:.1%} of the cells are zero",
            _names(zero, dimensions),
            failing,
        )


@dataclass(frozen=True)
class MeanCell:
    """At least so many people a cell on average. A failure stays with every finer table."""

    least: float

    def __post_init__(self) -> None:
        if not 0 < self.least < float("inf"):
            raise ParameterError(f"mean must be a number above 0. Got {self.least:g}.")

    def __str__(self) -> str:
        return f"at least {self.least:g} people a cell on average"

    def __call__(self, counts: NDArray[Any], dimensions: tuple[Dimension, ...]) -> Verdict:
        """Return the verdict; its score is what is missing of the mean, relative to it."""
        del dimensions
        if not _breaks(counts, minimum_mean=self.least):
            return Verdict(True, 0.0)
        mean = float(counts.mean())
        return Verdict(
            False, 1 - mean / self.least, f"{mean:.2f} people a cell on average", stays=True
        )


@dataclass(frozen=True)
class RiskBefore:
    """The risk of the table before protection is at most this (`risk.before`)."""

    most: float
    weights: tuple[float, ...] = WEIGHTS

    def __post_init__(self) -> None:
        _share("risk", self.most)
        checked_weights(self.weights, 3, 4)

    def __str__(self) -> str:
        return f"the risk before protection is at most {self.most:g}"

    def __call__(self, counts: NDArray[Any], dimensions: tuple[Dimension, ...]) -> Verdict:
        """Return the verdict; its score is how far the risk is above the limit."""
        del dimensions
        found = before(counts, self.weights)
        if found.value <= self.most:
            return Verdict(True, 0.0)
        return Verdict(
            False,
            found.value - self.most,
            f"risk {found.value:.3f} (zeros {found.zeros:.2f}, concentration {found.entropy:.2f}, "
            f"smallness {found.size:.2f})",
        )


@dataclass(frozen=True)
class TableBuilder:
    """The ABS TableBuilder's two ratios: ones, and ones and twos, among populated cells."""

    most_ones: float = 0.25
    most_small: float = 0.50

    def __post_init__(self) -> None:
        _share("tablebuilder", self.most_ones)
        _share("tablebuilder", self.most_small)

    def __str__(self) -> str:
        return (
            f"of the populated cells at most {self.most_ones:.0%} are 1 and at most "
            f"{self.most_small:.0%} are 1 or 2"
        )

    def __call__(self, counts: NDArray[Any], dimensions: tuple[Dimension, ...]) -> Verdict:
        """Return the verdict; its score is how far the two shares are above their limits."""
        if not _breaks(
            counts,
            max_ones_of_populated=self.most_ones,
            max_small_of_populated=self.most_small,
        ):
            return Verdict(True, 0.0)
        populated = int(np.count_nonzero(counts))
        small = (counts > 0) & (counts <= 2)
        ones, both = int((counts == 1).sum()) / populated, int(small.sum()) / populated
        over = max(ones - self.most_ones, 0.0) + max(both - self.most_small, 0.0)
        return Verdict(
            False,
            max(over, 1e-9),
            f"of the populated cells {ones:.1%} are 1 and {both:.1%} are 1 or 2",
            _names(small, dimensions),
            int(small.sum()),
        )


@dataclass(frozen=True, eq=False)
class NoneSensitive:
    """No cell of a table of values is sensitive by a rule on its contributors.

    With the pq rule, dominance of the largest and the number of contributors a failure stays with
    every finer table: parted from others, the largest contribution is hidden by less.
    """

    rule: Sensitivity
    cells: CellTable

    def __post_init__(self) -> None:
        if self.cells.counts:
            raise ParameterError("rules on contributors need a table of values, not of counts.")

    def __str__(self) -> str:
        return f"no cell is sensitive by {_named(self.rule)}"

    def of_members(
        self,
        counts: NDArray[Any],
        dimensions: tuple[Dimension, ...],
        labels: tuple[NDArray[np.int64], ...],
    ) -> Verdict:
        """Return the verdict; its score is the share of sensitive cells among populated ones."""
        sensitive = self.rule.required(self.cells.merged(labels)).sensitive
        failing = int(np.count_nonzero(sensitive))
        if not failing:
            return Verdict(True, 0.0)
        return Verdict(
            False,
            failing / int(np.count_nonzero(counts)),
            f"{_cells(failing)} sensitive by {_named(self.rule)}",
            _names(sensitive, dimensions),
            failing,
            stays=not isinstance(self.rule, Dominance) or self.rule.n == 1,
        )


def _named(rule: Sensitivity) -> str:
    if isinstance(rule, PriorPosterior):
        if rule.q == 100:
            return f"the p% rule, p = {rule.p:g}"
        return f"the pq rule, p = {rule.p:g} and q = {rule.q:g}"
    if isinstance(rule, Dominance):
        return f"dominance ({rule.n}, {rule.k:g}%)"
    return f"having fewer than {rule.minimum:,} contributors"


@dataclass(frozen=True)
class AllOf:
    """Several rules at once; the first that fails gives the reason."""

    rules: tuple[Rule | RuleOnMembers, ...]

    def __post_init__(self) -> None:
        if not self.rules:
            raise ParameterError(f"a redesign must have a rule. Choices: {', '.join(RULES)}.")

    def __str__(self) -> str:
        return "; ".join(str(rule) for rule in self.rules)

    def __call__(self, counts: NDArray[Any], dimensions: tuple[Dimension, ...]) -> Verdict:
        """Return the verdict on a table of which nothing was merged."""
        labels = tuple(np.arange(size) for size in np.shape(counts))
        return self.of_members(counts, dimensions, labels)

    def of_members(
        self,
        counts: NDArray[Any],
        dimensions: tuple[Dimension, ...],
        labels: tuple[NDArray[np.int64], ...],
    ) -> Verdict:
        """Return the verdict; its score is the sum of theirs."""
        said = [
            rule.of_members(counts, dimensions, labels)
            if isinstance(rule, RuleOnMembers)
            else rule(counts, dimensions)
            for rule in self.rules
        ]
        verdicts = [v if isinstance(v, Verdict) else Verdict(bool(v)) for v in said]
        failed = [verdict for verdict in verdicts if not verdict.passed]
        if not failed:
            return Verdict(True, 0.0)
        scores = [verdict.score for verdict in failed]
        return Verdict(
            False,
            None if None in scores else sum(score or 0.0 for score in scores),
            "; ".join(verdict.reason for verdict in failed),
            failed[0].cells,
            failed[0].failing,
            stays=any(verdict.stays for verdict in failed),
        )


RULES: dict[str, Callable[[str], Rule]] = {
    "smallest": lambda text: SmallestCount(int(text)),
    "small": lambda text: SmallShare(float(text)),
    "zeros": lambda text: ZeroShare(float(text)),
    "mean": lambda text: MeanCell(float(text)),
    "risk": lambda text: RiskBefore(float(text)),
    "tablebuilder": lambda text: TableBuilder(*(float(part) for part in text.split(",") if part)),
}
"""The names by which a command knows the rules, and how each reads its value."""


ON_CONTRIBUTORS: dict[str, Callable[[str], Sensitivity]] = {
    "p": lambda text: PriorPosterior(float(text)),
    "pq": lambda text: _pq(*text.split(",")),
    "dominance": lambda text: _dominance(*text.split(",")),
    "minimum": lambda text: Threshold(int(text)),
}
"""The rules for tables of values."""


def _pq(p: str, q: str) -> PriorPosterior:
    return PriorPosterior(float(p), float(q))


def _dominance(n: str, k: str) -> Dominance:
    return Dominance(int(n), float(k))


def read_rule_on(text: str, cells: CellTable) -> NoneSensitive:
    """Return the rule on contributors to a table of values that a text such as "p=10" names."""
    name, _, value = (part.strip() for part in text.partition("="))
    if name not in ON_CONTRIBUTORS:
        raise unknown("rule for a table of values", name, ON_CONTRIBUTORS)
    try:
        return NoneSensitive(ON_CONTRIBUTORS[name](value), cells)
    except (ValueError, TypeError) as error:
        if isinstance(error, ParameterError):
            raise
        raise ParameterError(
            f"the rule {name} must look like {_EXAMPLES[name]}. Got {text}."
        ) from None


def read_rule(text: str) -> Rule:
    """Return the rule that a text such as "smallest=3" or "tablebuilder" names."""
    name, equals, value = text.partition("=")
    if name.strip() in ON_CONTRIBUTORS:
        raise ParameterError(
            f"the rule {name.strip()} is for tables of values: a column 'value', and "
            "'contributors' or max1, max2 … for the largest contributions."
        )
    if name.strip() not in RULES:
        raise unknown("rule", name.strip(), RULES)
    if not equals and name.strip() != "tablebuilder":
        raise ParameterError(f"the rule {name.strip()} must have a value, as in {_EXAMPLES[name]}.")
    try:
        return RULES[name.strip()](value.strip())
    except (ValueError, TypeError) as error:
        if isinstance(error, ParameterError):
            raise
        raise ParameterError(
            f"the rule {name.strip()} must look like {_EXAMPLES[name.strip()]}. Got {text}."
        ) from None


_EXAMPLES = {
    "smallest": "smallest=3",
    "small": "small=0.35",
    "zeros": "zeros=0.5",
    "mean": "mean=5",
    "risk": "risk=0.15",
    "tablebuilder": "tablebuilder or tablebuilder=0.25,0.5",
    "p": "p=10",
    "pq": "pq=10,50",
    "dominance": "dominance=2,80",
    "minimum": "minimum=3",
}


def _breaks(counts: NDArray[Any], **raised: Any) -> bool:
    """Return whether a table breaks the rules of a policy that has only these thresholds."""
    return broken_rules(counts, CountRules(**{**_OPEN, **raised}), areas=False)[0] is not None


def _share(name: str, value: float) -> None:
    if not 0 <= value <= 1:
        raise ParameterError(f"{name} must be between 0 and 1. Got {value:g}.")


def _cells(number: int) -> str:
    return f"{number:,} cell{'' if number == 1 else 's'}"


def _names(flags: NDArray[np.bool_], dimensions: tuple[Dimension, ...]) -> tuple[str, ...]:
    """Return the first cells as a reader knows them; axes of one category are left out."""
    shown = [d for d in range(len(dimensions)) if len(dimensions[d]) > 1] or [0]
    names = []
    for cell in np.flatnonzero(flags)[:_NAMED].tolist():
        index = np.unravel_index(cell, flags.shape)
        names.append(
            ", ".join(f"{dimensions[d].variable} {dimensions[d].codes[index[d]]}" for d in shown)
        )
    return tuple(names)
