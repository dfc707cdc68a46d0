"""For rules whose failures stay: which distinctions cannot be kept together, whatever else is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from discreet.desk.redesign.lattice import Cut, Lattice
from discreet.desk.redesign.model import Finding

Distinction = tuple[int, int]
"""A dimension, and a distinction of it by its number."""


@dataclass(frozen=True)
class Conflict:
    """Distinctions that fail together. Every design that refines `coarsest` fails."""

    coarsest: Cut
    parts: tuple[Distinction, ...]


def stays(verdict: Finding) -> bool:
    """Return whether a table and every finer one fail."""
    return not verdict.passed and verdict.stays


def keeping(lattice: Lattice, parts: Sequence[Distinction]) -> Cut:
    """Return the coarsest design that keeps these distinctions."""
    found = []
    for d, axis in enumerate(lattice.axes):
        kept = [number for dimension, number in parts if dimension == d]
        found.append(axis.end if axis.fixed else axis.space.keeping(kept))
    return tuple(found)


def conflict(lattice: Lattice, cut: Cut) -> Conflict:
    """Return a smallest set of distinctions of a failing design that fail by themselves.

    None of them can be left out. They are found by halving, in about k·log(n/k) tests for k of n.
    """
    every = [
        (d, number)
        for d, axis in enumerate(lattice.axes)
        if not axis.fixed
        for number in sorted(axis.space.kept(cut[d]))
    ]
    parts = _needed(lattice, [], False, every)
    return Conflict(keeping(lattice, parts), tuple(parts))


def _needed(
    lattice: Lattice, given: list[Distinction], grown: bool, among: list[Distinction]
) -> list[Distinction]:
    """Return a smallest part of `among` that fails together with what is given."""
    if grown and stays(lattice.test(keeping(lattice, given))):
        return []
    if len(among) == 1:
        return among
    half = len(among) // 2
    first, second = among[:half], among[half:]
    of_second = _needed(lattice, given + first, bool(first), second)
    of_first = _needed(lattice, given + of_second, bool(of_second), first)
    return of_first + of_second
