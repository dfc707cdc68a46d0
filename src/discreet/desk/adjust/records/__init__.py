"""Adjustment of magnitudes through their records, at the scale of millions of cells."""

from discreet.desk.adjust.records.adjust import (
    Protection,
    RecordAdjustment,
    adjust_records,
)
from discreet.desk.adjust.records.rows import CellRows, cell_rows, needs_of

__all__ = [
    "CellRows",
    "Protection",
    "RecordAdjustment",
    "adjust_records",
    "cell_rows",
    "needs_of",
]
