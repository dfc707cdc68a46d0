"""Files of records: their formats, and how columns of any name are written in SQL."""

from __future__ import annotations

FORMATS = {".csv": "csv", ".parquet": "parquet"}


def quoted(name: str, quote: str = '"') -> str:
    """Return an SQL identifier for a column of any name."""
    return quote + name.replace(quote, 2 * quote) + quote
