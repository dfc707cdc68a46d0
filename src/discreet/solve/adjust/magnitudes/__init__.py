"""Adjustment of magnitudes in tables of moderate size."""

from discreet.solve.adjust.magnitudes.exact import adjust_exactly
from discreet.solve.adjust.magnitudes.linear import adjust, lower_bound
from discreet.solve.adjust.magnitudes.problem import (
    Adjusted,
    Norm,
    Problem,
    default_weights,
    problem,
)

__all__ = [
    "Adjusted",
    "Norm",
    "Problem",
    "adjust",
    "adjust_exactly",
    "default_weights",
    "lower_bound",
    "problem",
]
