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
from discreet.desk.cells.given import several
from discreet.desk.redesign.model import Criterion, CriterionOnMembers, Finding
from discreet.desk.sensitivity import EXAMPLES as SENSITIVITY_EXAMPLES
from discreet.desk.sensitivity import RULES as SENSITIVITY
from discreet.desk.sensitivity import Dominance, PriorPosterior, Threshold, parsed
from discreet.errors import ParameterError
from discreet.policy import CountRules
from discreet.risk import before, threshold
from discreet.risk.before import WEIGHTS
from discreet.rules.counts import broken_rules
from discreet.table.decimals import exact
from discreet.table.dimension import Dimension

Sensitivity = PriorPosterior | Dominance | Threshold

_NAMED = 3
PASSED = Finding(True, 0.0)
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

    def __call__(self, counts: NDArray[Any], dimensions: tuple[Dimension, ...]) -> Finding:
        """Return the verdict; its score is the share of small cells among populated ones."""
        small = threshold(counts, self.smallest)
        failing = int(np.count_nonzero(small))
        if not failing:
            return PASSED
        what = "1" if self.smallest == 2 else f"1 to {self.smallest - 1}"
        score = failing / int(np.count_nonzero(counts))
        return _failed(score, f"{_cells(failing)} of {what}", small, dimensions, stays=True)


@dataclass(frozen=True)
class SmallShare:
    """At most this share of all cells from 1 to `small`."""

    most: float
    small: int = 2

    def __post_init__(self) -> None:
        _share("small", self.most)

    def __str__(self) -> str:
        return f"at most {self.most:.0%} of the cells are 1 to {self.small}"

    def __call__(self, counts: NDArray[Any], dimensions: tuple[Dimension, ...]) -> Finding:
        """Return the verdict; its score is how far the share is above the limit."""
        small = threshold(counts, self.small + 1)
        share = float(small.mean())
        if not _breaks(counts, small=self.small, max_small=self.most):
            return PASSED
        reason = f"{share:.1%} of the cells are 1 to {self.small}"
        return _failed(max(share - self.most, 1e-9), reason, small, dimensions)


@dataclass(frozen=True)
class ZeroShare:
    """At most this share of all cells zero."""

    most: float

    def __post_init__(self) -> None:
        _share("zeros", self.most)

    def __str__(self) -> str:
        return f"at most {self.most:.0%} of the cells are zero"

    def __call__(self, counts: NDArray[Any], dimensions: tuple[Dimension, ...]) -> Finding:
        """Return the verdict; its score is how far the share is above the limit."""
        zero = counts == 0
        failing = int(np.count_nonzero(zero))
        if failing <= exact(self.most) * counts.size:
            return PASSED
        share = failing / counts.size
        reason = f"{share:.1%} of the cells are zero"
        return _failed(share - self.most, reason, zero, dimensions)


@dataclass(frozen=True)
class MeanCell:
    """At least so many people per cell on average. A failure stays with every finer table."""

    least: float

    def __post_init__(self) -> None:
        if not 0 < self.least < float("inf"):
            raise ParameterError(f"mean must be a number above 0. Got {self.least:g}.")

    def __str__(self) -> str:
        return f"at least {self.least:g} people per cell on average"

    def __call__(self, counts: NDArray[Any], dimensions: tuple[Dimension, ...]) -> Finding:
        """Return the verdict; its score is what is missing of the mean, relative to it."""
        del dimensions
        if not _breaks(counts, minimum_mean=self.least):
            return PASSED
        mean = float(counts.mean())
        return Finding(
            False, 1 - mean / self.least, f"{mean:.2f} people per cell on average", stays=True
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

    def __call__(self, counts: NDArray[Any], dimensions: tuple[Dimension, ...]) -> Finding:
        """Return the verdict; its score is how far the risk is above the limit."""
        del dimensions
        found = before(counts, self.weights)
        if found.value <= self.most:
            return PASSED
        return Finding(
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

    def __call__(self, counts: NDArray[Any], dimensions: tuple[Dimension, ...]) -> Finding:
        """Return the verdict; its score is how far the two shares are above their limits."""
        if not _breaks(
            counts,
            max_ones_of_populated=self.most_ones,
            max_small_of_populated=self.most_small,
        ):
            return PASSED
        populated = int(np.count_nonzero(counts))
        small = (counts > 0) & (counts <= 2)
        ones, both = int((counts == 1).sum()) / populated, int(small.sum()) / populated
        over = max(ones - self.most_ones, 0.0) + max(both - self.most_small, 0.0)
        reason = f"of the populated cells {ones:.1%} are 1 and {both:.1%} are 1 or 2"
        return _failed(max(over, 1e-9), reason, small, dimensions)


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
    ) -> Finding:
        """Return the verdict; its score is the share of sensitive cells among populated ones."""
        sensitive = self.rule.required(self.cells.merged(labels)).sensitive
        failing = int(np.count_nonzero(sensitive))
        if not failing:
            return PASSED
        score = failing / int(np.count_nonzero(counts))
        reason = f"{_cells(failing)} sensitive by {_named(self.rule)}"
        stays = not isinstance(self.rule, Dominance) or self.rule.n == 1
        return _failed(score, reason, sensitive, dimensions, stays)


def _said(rule: Any) -> str:
    """Return a rule in words; of a function its name."""
    return getattr(rule, "__name__", None) or str(rule)


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

    rules: tuple[Criterion | CriterionOnMembers, ...]

    def __post_init__(self) -> None:
        if not self.rules:
            raise ParameterError(f"a redesign must have a rule. Choices: {', '.join(RULES)}.")

    def __str__(self) -> str:
        return "; ".join(_said(rule) for rule in self.rules)

    def __call__(self, counts: NDArray[Any], dimensions: tuple[Dimension, ...]) -> Finding:
        """Return the verdict on a table of which nothing was merged."""
        labels = tuple(np.arange(size) for size in np.shape(counts))
        return self.of_members(counts, dimensions, labels)

    def of_members(
        self,
        counts: NDArray[Any],
        dimensions: tuple[Dimension, ...],
        labels: tuple[NDArray[np.int64], ...],
    ) -> Finding:
        """Return the verdict; its score is the sum of theirs."""
        said = [
            rule.of_members(counts, dimensions, labels)
            if isinstance(rule, CriterionOnMembers)
            else rule(counts, dimensions)
            for rule in self.rules
        ]
        verdicts = [v if isinstance(v, Finding) else Finding(bool(v)) for v in said]
        failed = [verdict for verdict in verdicts if not verdict.passed]
        if not failed:
            return PASSED
        scores = [verdict.score for verdict in failed]
        return Finding(
            False,
            None if None in scores else sum(score or 0.0 for score in scores),
            "; ".join(verdict.reason for verdict in failed),
            failed[0].cells,
            failed[0].failing,
            stays=any(verdict.stays for verdict in failed),
        )


RULES: dict[str, Callable[..., Criterion]] = {
    "smallest": lambda smallest: SmallestCount(int(smallest)),
    "small": lambda most: SmallShare(float(most)),
    "zeros": lambda most: ZeroShare(float(most)),
    "mean": lambda least: MeanCell(float(least)),
    "risk": lambda most: RiskBefore(float(most)),
    "tablebuilder": lambda *shares: TableBuilder(*map(float, shares)),
}
"""The names of the rules on counts in a text, and how each reads its numbers."""

EXAMPLES = {
    "smallest": "smallest=3",
    "small": "small=0.35",
    "zeros": "zeros=0.5",
    "mean": "mean=5",
    "risk": "risk=0.15",
    "tablebuilder": "tablebuilder or tablebuilder=0.25,0.5",
}


def criterion(rule: Any, cells: CellTable | None = None) -> AllOf:
    """Return the criterion of one or several rules: texts, sensitivity rules or functions.

    Of a table of values (`cells`) they are rules on its contributors.
    """
    return AllOf(tuple(_criterion(one, cells) for one in several(rule)))


def _criterion(rule: Any, cells: CellTable | None) -> Criterion | CriterionOnMembers:
    if isinstance(rule, str):
        if cells is not None:
            kind = "rule for a table of values"
            return NoneSensitive(parsed(rule, SENSITIVITY, SENSITIVITY_EXAMPLES, kind), cells)
        name = rule.partition("=")[0].strip()
        if name in SENSITIVITY:
            raise ParameterError(
                f"the rule {name} is for tables of values: a column 'value', and 'contributors' or "
                "max1, max2 … for the largest contributions."
            )
        return parsed(rule, RULES, EXAMPLES)
    if isinstance(rule, Sensitivity):
        if cells is None:
            raise ParameterError("rules on contributors need a table of values, not of counts.")
        return NoneSensitive(rule, cells)
    if callable(rule) or isinstance(rule, CriterionOnMembers):
        found: Criterion = rule
        return found
    raise ParameterError(f"a rule must be a text or a function. Got {type(rule).__name__}.")


def _breaks(counts: NDArray[Any], **raised: Any) -> bool:
    """Return whether a table breaks the rules of a policy that has only these thresholds."""
    return broken_rules(counts, CountRules(**{**_OPEN, **raised}), areas=False)[0] is not None


def _share(name: str, value: float) -> None:
    if not 0 <= value <= 1:
        raise ParameterError(f"{name} must be between 0 and 1. Got {value:g}.")


def _cells(number: int) -> str:
    return f"{number:,} cell{'' if number == 1 else 's'}"


def _failed(
    score: float,
    reason: str,
    flags: NDArray[np.bool_],
    dimensions: tuple[Dimension, ...],
    stays: bool = False,
) -> Finding:
    """Return a failure that names the first cells; axes of one category are left out."""
    shown = [d for d in range(len(dimensions)) if len(dimensions[d]) > 1] or [0]
    cells = np.flatnonzero(flags)
    names = []
    for cell in cells[:_NAMED].tolist():
        index = np.unravel_index(cell, flags.shape)
        codes = (f"{dimensions[d].variable} {dimensions[d].codes[index[d]]}" for d in shown)
        names.append(", ".join(codes))
    return Finding(False, score, reason, tuple(names), len(cells), stays)
