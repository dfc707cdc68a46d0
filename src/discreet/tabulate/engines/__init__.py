"""Engines that count records where they are: one writes the question, one file each runs it.

A question becomes one SELECT with small tables to join (`sql`); DuckDB or Spark runs it; the rows
that come back become the table that a scan would have made, bit for bit.
"""

from discreet.tabulate.engines.open import engine_of
from discreet.tabulate.engines.sql import PushDown, Runner

__all__ = ["PushDown", "Runner", "engine_of"]
