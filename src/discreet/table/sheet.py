"""A sheet: named columns that are written as CSV or handed over as a data frame."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from discreet.files import written


def figure_text(value: Any) -> str:
    """Return a value as a file has it: nothing for None, and all digits of a number."""
    if value is None:
        return ""
    return f"{value:.15g}" if isinstance(value, float) else str(value)


@dataclass(frozen=True, eq=False)
class Sheet:
    """Columns of equal length under a header; `texts` says how a column is written as text."""

    header: Sequence[str]
    columns: Sequence[Sequence[Any]]
    texts: Mapping[str, Callable[[Any], str]] = field(default_factory=dict)
    delimiter: str = ","

    def write(self, path: str | Path, mode: int = 0o600) -> None:
        """Write a CSV file, whole or not at all, which its owner alone can read."""
        columns = [
            map(self.texts.get(name, figure_text), column)
            for name, column in zip(self.header, self.columns, strict=True)
        ]
        with written(Path(path), mode) as file:
            stream = io.TextIOWrapper(file, encoding="utf-8", newline="")
            writer = csv.writer(stream, delimiter=self.delimiter, lineterminator="\n")
            writer.writerow(self.header)
            writer.writerows(zip(*columns, strict=True))
            stream.flush()
            stream.detach()

    def to_arrow(self) -> Any:
        """Return the columns as an Arrow table."""
        import pyarrow as pa

        return pa.table([pa.array(list(column)) for column in self.columns], list(self.header))

    def to_pandas(self) -> Any:
        """Return the columns as a pandas data frame, with types that know missing values."""
        return self.to_arrow().to_pandas()
