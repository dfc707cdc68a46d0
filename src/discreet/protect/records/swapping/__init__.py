"""Record swapping: households or persons exchange where they live, before any table is made."""

from discreet.protect.records.swapping.households import (
    combined,
    composition,
    in_small_cells,
    numbered,
    of_households,
)
from discreet.protect.records.swapping.individuals import IndividualSwapping
from discreet.protect.records.swapping.method import RecordSwapping, Swapped

__all__ = [
    "IndividualSwapping",
    "RecordSwapping",
    "Swapped",
    "combined",
    "composition",
    "in_small_cells",
    "numbered",
    "of_households",
]
