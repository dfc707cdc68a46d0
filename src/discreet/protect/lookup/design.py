"""Look-up tables from a few numbers: maximum entropy, truncated normal, rounding."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from math import ceil, floor

import numpy as np
from numpy.typing import NDArray

from discreet.checks import whole
from discreet.errors import DiscreetError, InternalError, ParameterError
from discreet.protect.lookup.entropy import RowProblem, solve_row, variance_range
from discreet.protect.lookup.table import LookupTable


def max_entropy(
    bound: int,
    variance: float,
    forbid: Iterable[int] = (),
    stay: float | None = None,
    monotone: bool = True,
) -> LookupTable:
    """Return the look-up of largest entropy with noise of mean zero within ±bound.

    Parameters
    ----------
    bound
        Largest change, D.
    variance
        Variance of the noise of large counts, and ceiling of that of small ones, which cannot
        always reach it.
    forbid
        Values that are never released, such as (1, 2).
    stay
        Least probability of releasing a count unchanged (where it may be released at all).
    monotone
        Whether a larger loss is never likelier than a smaller one.

    Notes
    -----
    Zero stays zero. Counts from max(forbid) + D + 1 on (from D on where nothing is forbidden)
    share the last row. Each row maximises −Σ p log p under Σ p = 1, Σ p·v = 0 and Σ p·v² ≤ V
    [Fraser2005] [Giessing2016], with the conditions of the R package ptable.

    >>> table = dc.protect.lookup.max_entropy(bound=2, variance=1.0, forbid=(1,))
    >>> table.matrix[:, 1].tolist()
    [0.0, 0.0, 0.0, 0.0, 0.0]
    >>> bool(abs(table.transition().bias).max() < 1e-9)
    True
    """
    size = whole("bound", bound, 1, 100)
    if not np.isfinite(variance) or variance <= 0:
        raise ParameterError(f"variance must be a positive number. Got {variance}.")
    barred = tuple(sorted({whole("a forbidden value", value, 1, 1000) for value in forbid}))
    least = 0.0 if stay is None else float(stay)
    if not 0 <= least < 1:
        raise ParameterError(f"stay must be a probability below 1. Got {stay}.")
    problems = _problems(size, float(variance), barred, least, monotone)
    matrix = np.zeros((len(problems), len(problems) + size))
    matrix[0, 0] = 1
    for i, problem in enumerate(problems):
        if i == 0:
            continue
        p = solve_row(problem)
        if p is None:
            raise _infeasible(problems, size, float(variance), barred, least)
        matrix[i, i + np.array(problem.changes)] = p / p.sum()
    reached = float(matrix[-1] @ (np.arange(matrix.shape[1]) - len(matrix) + 1) ** 2.0)
    if reached < variance - 1e-6:
        raise _infeasible(problems, size, float(variance), barred, least)
    return LookupTable.from_matrix(matrix)


def _problems(
    bound: int, variance: float, forbid: tuple[int, ...], stay: float, monotone: bool
) -> list[RowProblem]:
    last = max(forbid) + bound + 1 if forbid else bound
    return [
        RowProblem(
            tuple(
                released - count
                for released in range(max(0, count - bound), count + bound + 1)
                if released not in forbid
            ),
            variance,
            monotone,
            stay,
        )
        for count in range(last + 1)
    ]


def _infeasible(
    problems: list[RowProblem],
    bound: int,
    variance: float,
    forbid: tuple[int, ...],
    stay: float,
) -> DiscreetError:
    """Return the error that names the condition in the way and the nearest feasible variance."""
    barred = ", ".join(map(str, forbid))
    with_forbid = f" and {barred} forbidden" if forbid else ""
    least, at = 0.0, 0
    for count, problem in enumerate(problems[1:], 1):
        span = variance_range(problem.changes, problem.monotone, problem.stay)
        if span is None:
            if stay and variance_range(problem.changes, problem.monotone, 0.0):
                return ParameterError(
                    f"stay must be smaller: with a bound of {bound}{with_forbid} no noise of mean "
                    f"zero leaves a count of {count} unchanged with probability {stay:g}."
                )
            if problem.monotone and variance_range(problem.changes, False, problem.stay):
                return ParameterError(
                    f"monotone must be off: with a bound of {bound}{with_forbid} noise of mean "
                    f"zero on a count of {count} needs a larger loss likelier than a smaller one."
                )
            return ParameterError(
                f"bound must be larger: with a bound of {bound}{with_forbid} a count of {count} "
                "cannot be changed with mean zero. Choose a larger bound, or forbid less."
            )
        if span[0] > least:
            least, at = span[0], count
    nearest = ceil(least * 1e4 - 1e-5) / 1e4
    most = _variance_without_ceiling(problems[-1])
    if most < nearest:
        stays = f" and a probability to stay of {stay:g}" if stay else ""
        return ParameterError(
            f"{'stay must be smaller' if stay else 'bound must be larger'}: a bound of {bound}"
            f"{stays} gives large counts a variance of at most {most:g}, while a count of {at} "
            f"with {barred or 'nothing'} forbidden needs at least {nearest:.10g}. "
            "No variance is feasible."
        )
    if most < variance:
        why = f"a probability to stay of {stay:g}" if stay else "every change as likely"
        highest = floor(most * 1e4 + 1e-5) / 1e4
        return ParameterError(
            f"variance must be at most {highest:.10g} with a bound of {bound}: {why} gives no "
            f"more. Got {variance:g}. The nearest feasible variance is {highest:.10g}."
        )
    if variance >= nearest:
        return InternalError(
            f"no look-up was found for a variance of {variance:g}, though one exists."
        )
    return ParameterError(
        f"variance must be at least {nearest:.10g} with a bound of {bound}{with_forbid}: noise of "
        f"mean zero on a count of {at} has no smaller one. Got {variance:g}. The nearest feasible "
        f"variance is {nearest:.10g}."
    )


def _variance_without_ceiling(problem: RowProblem) -> float:
    """Return the variance of the largest entropy of all, which no ceiling can raise."""
    p = solve_row(replace(problem, variance=np.inf))
    if p is None:
        raise InternalError("noise without a ceiling on its variance was not found.")
    return float(p @ np.array(problem.changes, float) ** 2)


def normal(variance: float = 2.0, bound: int = 5) -> LookupTable:
    """Return the look-up of a discretised normal cut off at −min(count, bound) and +bound.

    Notes
    -----
    p(v) ∝ exp(−v²/2·variance) [Longhurst2007, sec. 3.3]. The cut makes it biased for counts below
    the bound: with the defaults by +0.37 at 1 and +0.12 at 2; `transition().bias` has them all.

    >>> dc.protect.lookup.normal(variance=2, bound=5).transition().bias[1:3].round(2).tolist()
    [0.37, 0.12]
    """
    size = whole("bound", bound, 1, 100)
    if not np.isfinite(variance) or variance <= 0:
        raise ParameterError(f"variance must be a positive number. Got {variance}.")
    matrix = np.zeros((size + 1, 2 * size + 1))
    matrix[0, 0] = 1
    for count in range(1, size + 1):
        changes = np.arange(-min(count, size), size + 1)
        density: NDArray[np.float64] = np.exp(-(changes**2) / (2 * variance))
        matrix[count, count + changes] = density / density.sum()
    return LookupTable.from_matrix(matrix)


def rounding(base: int = 3) -> LookupTable:
    """Return the look-up that rounds at random to a multiple of the base, without bias.

    Notes
    -----
    It repeats every `base` rows, so that a file in ptable's layout cannot hold it.

    >>> dc.protect.lookup.rounding(base=3).matrix[2, :4].round(3).tolist()
    [0.333, 0.0, 0.0, 0.667]
    """
    size = whole("base", base, 2, 100)
    matrix = np.zeros((size, size + 1))
    matrix[:, 0] = 1 - np.arange(size) / size
    matrix[:, size] = np.arange(size) / size
    return LookupTable.from_matrix(matrix, period=size)
