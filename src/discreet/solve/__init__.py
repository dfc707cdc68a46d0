"""Optimisation kernels: arrays in, a Solution with its status out."""

from discreet.solve.bounds import Intervals, intervals, tightened
from discreet.solve.ipf import ipf
from discreet.solve.matrix import round_matrix
from discreet.solve.solution import Solution, Status
from discreet.solve.system import Hierarchy, TableSystem

__all__ = [
    "Hierarchy",
    "Intervals",
    "Solution",
    "Status",
    "TableSystem",
    "intervals",
    "ipf",
    "round_matrix",
    "tightened",
]
