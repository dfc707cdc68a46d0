"""Rounding of a table so that everything still adds up, or the closest table that does."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from discreet.desk.arguments import checked
from discreet.extras import with_extra

if TYPE_CHECKING:
    from discreet.desk.round.report import RoundReport
    from discreet.progress import Tell
    from discreet.protect.keys import Secret
    from discreet.table.source import Given


class Mode(StrEnum):
    """What is rounded."""

    CONTROLLED = "controlled"
    SMALL = "small"
    ADDITIVE = "additive"


@with_extra()
@checked
def round(
    table: Given,
    base: int = 3,
    *,
    mode: Mode | str = Mode.CONTROLLED,
    absent_zero: bool = False,
    secret: Secret | None = None,
    seed: int | None = None,
    tell: Tell | None = None,
) -> RoundReport:
    """Return a table of counts rounded to multiples of the base, so that everything adds up.

    `table` is a CSV file or a data frame. Controlled rounds every cell and total, small only the
    counts below the base; additive rounds nothing and finds the closest table that adds up. With
    `absent_zero` rows that a long table leaves out are zeros.
    """
    from discreet.checks import chosen
    from discreet.desk.round.method import rounded
    from discreet.desk.round.report import RoundReport
    from discreet.protect.keys import generator
    from discreet.table.files import read_table
    from discreet.table.source import read_source

    source, how = read_source(table), chosen("mode", Mode, mode)
    file = read_table(source, absent_zero)
    same, _ = file.canonical()  # the same table in another order gets the same draws
    identity = (same.dimensions, same.counts.tolist())
    rng = generator(identity, f"round {how.value}", {"base": str(base)}, secret, seed)
    found = rounded(same, how, base, rng, tell)
    return RoundReport(source.name, file, same, found, how, base)
