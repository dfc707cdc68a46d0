"""What flows: dimensions, and tables of true counts."""

from discreet.table.counts import CountTable
from discreet.table.dimension import Dimension

__all__ = ["CountTable", "Dimension"]
