"""Optimisation kernels: arrays in, a Solution with its status out."""

from discreet.solve.ipf import ipf
from discreet.solve.matrix import round_matrix
from discreet.solve.solution import Solution, Status

__all__ = ["Solution", "Status", "ipf", "round_matrix"]
