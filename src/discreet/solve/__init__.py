"""Optimisation kernels: arrays in, a Solution with its status out."""

from discreet.solve.additivity import closest_additive
from discreet.solve.bounds import Intervals, intervals, tightened
from discreet.solve.ipf import ipf, round_to_margins
from discreet.solve.matrix import round_matrix
from discreet.solve.rounding import controlled_rounding
from discreet.solve.small import round_small_counts
from discreet.solve.solution import Solution, Status
from discreet.solve.system import TableSystem
from discreet.table.hierarchy import Hierarchy

__all__ = [
    "Hierarchy",
    "Intervals",
    "Solution",
    "Status",
    "TableSystem",
    "closest_additive",
    "controlled_rounding",
    "intervals",
    "ipf",
    "round_matrix",
    "round_small_counts",
    "round_to_margins",
    "tightened",
]
