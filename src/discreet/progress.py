"""How long work tells how far it is."""

from __future__ import annotations

from collections.abc import Callable

# Called with the stage, the steps done, and all steps where their number is known.
# What follows a colon in the stage says more of it: "polishing: off by 3.1".
Tell = Callable[[str, int, int | None], None]

# Asked once Ctrl-C has ended work that could be used as it is; whether it is to be.
Offer = Callable[[str], bool]


def refused(what: str) -> bool:
    """Take nothing that is half done."""
    return False


def silent(stage: str, done: int, total: int | None) -> None:
    """Tell nobody."""
