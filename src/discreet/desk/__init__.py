"""The desk: an expert's own table suppressed, adjusted, rounded, audited or redesigned.

Each function takes a data frame (pandas, polars, Arrow) or the path of a CSV file and returns a
report that prints, plots, converts and writes itself.
"""

from discreet.desk.adjust import adjust, adjust_records
from discreet.desk.audit import audit
from discreet.desk.redesign import redesign
from discreet.desk.round import round
from discreet.desk.suppress import suppress

__all__ = ["adjust", "adjust_records", "audit", "redesign", "round", "suppress"]
