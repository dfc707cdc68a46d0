"""Which bases are refused, by what was found when they were compared with the records."""

from __future__ import annotations

from contextlib import nullcontext
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest

from discreet.build.basing import _check
from discreet.errors import ParameterError

if TYPE_CHECKING:
    from discreet.build.steps import BaseStep


NOTHING: dict[str, Any] = {"errors": {}, "errors_beyond": {}, "held": {}, "held_beyond": {}}
"""Facts of a build in which nothing was compared."""


@pytest.mark.parametrize("beyond", ["", "_beyond"])
@pytest.mark.parametrize(
    ("level", "order", "exact", "small", "refused"),
    # Of 100 figures a share of 0.3 has the standard error sqrt(0.3 · 0.7 / 100) = 0.046.
    [("oa", 1, 0.31, 10**6, True), ("la", 4, 0.31, 10**6, True), ("all areas", 5, 0.45, 100, True),
     ("la", 4, 0.43, 100, False), ("la", 1, 1.0, 1, False)],
)  # fmt: skip
def test_small_figures_are_looked_at_at_every_level_and_order(
    level: str, order: int, exact: float, small: int, refused: bool, beyond: str
) -> None:
    def errors(share: float, number: int) -> dict[str, float]:
        return {"mean_absolute": 1.0, "small_exact": share, "small": number}

    found = {name: [errors(0.2, 10**6) for _ in range(5)] for name in ("oa", "la", "all areas")}
    found[level][order - 1] = errors(exact, small)
    base = SimpleNamespace(share=0.7)
    step = cast("BaseStep", SimpleNamespace(max_error=8.0, max_exact=0.3, base=base))
    told = f"of {order} variables? by {level} are .* than max_exact, 30%.* smaller share than 0.7"
    with pytest.raises(ParameterError, match=told) if refused else nullcontext():
        _check(step, NOTHING | {f"errors{beyond}": found})


@pytest.mark.parametrize(
    ("held", "figures", "refused"),
    # Of 100 figures a share of 0.8 has the standard error sqrt(0.8 · 0.2 / 100) = 0.04.
    [(0.69, 100, False), (0.67, 100, True), (0.79, 10**6, True), (0.81, 10**6, False)],
)
@pytest.mark.parametrize("beyond", ["", "_beyond", "_household"])
def test_ranges_may_miss_more_of_few_figures(
    held: float, figures: int, refused: bool, beyond: str
) -> None:
    fine: dict[str, Any] = {**NOTHING, "held_of": {}}
    facts = {**fine, f"held{beyond}": {"oa": held}, f"held_of{beyond}": {"oa": figures}}
    step = cast("BaseStep", SimpleNamespace(max_error=8.0, max_exact=0.3))
    with pytest.raises(ParameterError, match="hold the true") if refused else nullcontext():
        _check(step, facts)


@pytest.mark.parametrize(
    ("share", "copies", "refused"),
    # By chance 0.1, so that 0.15 may be; of 100 copies 0.1 has the standard error 0.03, and of a
    # million 0.0003.
    [(0.23, 100, False), (0.25, 100, True), (0.1505, 10**6, False), (0.152, 10**6, True)],
)
@pytest.mark.parametrize("key", ["at_home", "at_home_rare"])
def test_where_a_row_stands_must_not_tell_where_somebody_lives(
    share: float, copies: int, refused: bool, key: str
) -> None:
    home = {"share": share, "by_chance": 0.1, "copies": copies}
    often = {"share": 1.0, "by_chance": 0.2, "copies": 10**6}
    step = cast("BaseStep", SimpleNamespace(max_error=8.0, max_exact=0.3))
    with pytest.raises(ParameterError, match="own oa, more than") if refused else nullcontext():
        # Larger areas are told of, and not judged by.
        _check(step, NOTHING | {key: {"oa": home, "ward": often}})
