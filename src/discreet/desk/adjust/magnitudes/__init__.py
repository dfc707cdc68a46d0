"""Adjustment of magnitudes in tables of moderate size."""

from discreet.desk.adjust.magnitudes.exact import adjust_exactly
from discreet.desk.adjust.magnitudes.linear import adjust, impossible, lower_bound
from discreet.desk.adjust.magnitudes.problem import (
    Adjusted,
    Problem,
    default_weights,
    problem,
)

__all__ = [
    "Adjusted",
    "Problem",
    "adjust",
    "adjust_exactly",
    "default_weights",
    "impossible",
    "lower_bound",
    "problem",
]
