"""Look-up tables for cell keys: designs, and files in the layout of the R package ptable."""

from discreet.protect.lookup.design import max_entropy, normal, rounding
from discreet.protect.lookup.table import LookupTable

__all__ = ["LookupTable", "max_entropy", "normal", "read_csv", "rounding"]

read_csv = LookupTable.read_csv
