"""What flows: dimensions, tables of true counts, tables that may be released."""

from discreet.table.counts import CountTable
from discreet.table.dimension import TOTAL, Dimension
from discreet.table.protected import ProtectedTable, figure_text

__all__ = ["TOTAL", "CountTable", "Dimension", "ProtectedTable", "figure_text"]
