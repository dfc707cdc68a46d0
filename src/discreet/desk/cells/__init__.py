"""Tables of cells with all their totals, and what is known of the contributors to each."""

from discreet.desk.cells.files import read_cells
from discreet.desk.cells.model import MARKS, RANKS, CellTable, Mark
from discreet.desk.cells.records import Records, read_records

__all__ = ["MARKS", "RANKS", "CellTable", "Mark", "Records", "read_cells", "read_records"]
