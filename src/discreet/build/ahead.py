"""Kernels that a build of many records needs, compiled while it reads; once on a machine."""

from __future__ import annotations

from discreet.compiling import SMALL, ahead
from discreet.progress import Tell

_WARM_UPS = {
    "discreet.population.kernels": "discreet.population.kernels:warm_up",
    "discreet.tabulate.kernels": "discreet.tabulate.scan:warm_up",
    "discreet.tabulate.lattice.kernels": "discreet.tabulate.lattice:warm_up",
}


def compile_ahead(rows: int, tell: Tell) -> None:
    """Begin to compile what so many rows need, with a word where that takes a while."""
    if rows > SMALL and ahead(_WARM_UPS):
        tell("compiling", 0, None)
