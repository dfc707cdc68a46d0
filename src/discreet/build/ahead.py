"""Kernels that a build of many records needs, compiled while it reads; once on a machine."""

from __future__ import annotations

from discreet.compiling import SMALL, ahead, on_disk
from discreet.progress import Tell

_BUILT_WITH = {
    "discreet.population.kernels": "discreet.population.kernels:warm_up",
    "discreet.tabulate.lattice.kernels": "discreet.tabulate.lattice:warm_up",
}
_ASKED_WITH = {
    "discreet.protect.kernels": "discreet.protect.kernels:warm_up",
    "discreet.risk.kernels": "discreet.risk.kernels:warm_up",
    "discreet.release.formats.kernels": "discreet.release.formats.kernels:warm_up",
    "discreet.tabulate.kernels": "discreet.tabulate.scan:warm_up",
}


def compile_ahead(rows: int, tell: Tell) -> None:
    """Begin to compile what so many rows need, with a word where that takes a while.

    What questions need has twins that answer until it is there.
    """
    if rows > SMALL:
        built, asked = ahead(_BUILT_WITH), ahead(_ASKED_WITH, behind=True)
        if built or asked:
            tell("compiling", 0, None)


def waits(rows: int) -> bool:
    """Whether a build of so many rows has to wait for a compiler."""
    return rows > SMALL and not all(map(on_disk, _BUILT_WITH))
