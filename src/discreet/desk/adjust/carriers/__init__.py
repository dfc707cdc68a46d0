"""Adjustment of linked tables without records: by carriers, which are made up from the tables.

What is added to one combination of codes is added to all its cells, so that every table adds up. A
record would do; where there are none, combinations serve whose cells have room in every table.
"""

from discreet.desk.adjust.carriers.find import Carriers, carriers_of
from discreet.desk.adjust.carriers.rows import adjust_carried

__all__ = ["Carriers", "adjust_carried", "carriers_of"]
