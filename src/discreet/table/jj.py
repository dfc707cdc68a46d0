"""JJ files: cells with their protection and the equations between them, of whatever tables.

The format in which τ-ARGUS, sdcTable and the solvers of J. J. Salazar exchange problems: a line 0,
the number of cells and a line for each (number, value, cost, status, lower and upper bound, lower,
upper and sliding protection), the number of equations and a line for each (right-hand side, number
of cells, and each cell with its sign in brackets).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from discreet.errors import ParameterError
from discreet.files import written
from discreet.table.decimals import BEYOND, is_beyond
from discreet.types import Floats

SAFE, UNSAFE, KEPT = "s", "u", "z"
STATUSES = {SAFE: "safe", UNSAFE: "sensitive", KEPT: "to be kept", "x": "withheld", "m": "withheld"}
"""What the letters of a JJ file say of a cell."""

FIELDS = 9
SHAPE = (
    "Expected: 0, the number of cells, nine fields for each (number, value, cost, status, bounds, "
    "protection), the number of equations and each of them."
)
OF_JJ = ["cell", "value", "status"]
"""The columns of a file with the cells of a JJ file, after some of them were withheld."""
# Figures in files are sums of decimals that were rounded once each.
NEAR = 1e-6


@dataclass(frozen=True, eq=False)
class JJTable:
    """The cells of a JJ file: arrays with an entry for each, and `equations @ values = right`.

    `low` and `high` bound what a cell can be; `lower`, `upper` and `sliding` are the protection of
    sensitive cells, as amounts.
    """

    values: Floats
    costs: Floats
    status: NDArray[np.str_]
    low: Floats
    high: Floats
    lower: Floats
    upper: Floats
    sliding: Floats
    equations: Any
    right: Floats

    def __post_init__(self) -> None:
        strange = set(self.status.tolist()) - set(STATUSES)
        if strange:
            raise ParameterError(
                f"the status of a cell must be one of {', '.join(STATUSES)}. Got '{min(strange)}'."
            )
        for name in ("values", "costs", "lower", "upper", "sliding"):
            if not np.isfinite(getattr(self, name)).all():
                raise ParameterError(f"{name} must be finite numbers.")
        if (np.stack([self.costs, self.lower, self.upper, self.sliding]) < 0).any():
            raise ParameterError("costs and protection must be 0 or more.")
        slack = NEAR * np.maximum(1.0, np.abs(self.values))
        wrong = np.flatnonzero(
            ~((self.low <= self.values + slack) & (self.values <= self.high + slack))
        )
        if len(wrong):
            raise ParameterError(f"cell {wrong[0]} must be within its bounds.")
        off = np.abs(self.equations @ self.values - self.right)
        size = abs(self.equations) @ np.abs(self.values)
        wrong = np.flatnonzero(off > NEAR * np.maximum(1.0, size))
        if len(wrong):
            raise ParameterError(
                f"the values must add up. Equation {wrong[0]}, counted from 0, does not hold."
            )

    def __len__(self) -> int:
        return len(self.values)

    @property
    def sensitive(self) -> NDArray[np.bool_]:
        """Which cells are sensitive."""
        return np.asarray(self.status == UNSAFE)


def read_jj(path: str | Path) -> JJTable:
    """Return the cells and equations of a JJ file; raise with the line of its first fault."""
    name = Path(path).name
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ParameterError(f"'{name}' cannot be read as a JJ file.") from error
    words = text.replace("(", " ").replace(")", " ").replace(":", " ").split()
    try:
        return _parsed(words)
    except (ParameterError, ValueError, IndexError, OverflowError) as error:
        from discreet.table.jj_faults import fault_of

        # What is read at once says nothing of lines.
        fault = fault_of(text) or (str(error) if isinstance(error, ParameterError) else SHAPE)
        raise ParameterError(f"'{name}' must be a JJ file. {fault}") from None


def _parsed(words: list[str]) -> JJTable:
    if words[0] != "0":
        raise ParameterError(f"a JJ file must begin with 0, a list of cells. Got {words[0]}.")
    size = _count(words[1])
    end = 2 + FIELDS * size
    fields = [words[2 + field : end : FIELDS] for field in range(FIELDS)]
    if size < 1 or len(fields[-1]) != size or list(map(_count, fields[0])) != list(range(size)):
        raise ParameterError("the cells must be numbered 0, 1, 2 … without a gap.")
    _refuse_beyond(fields[1])
    numbers = [np.array(fields[k], np.float64) for k in (1, 2, 4, 5, 6, 7, 8)]
    sums = _count(words[end])
    rest = np.array(words[end + 1 :], np.float64)
    starts, at = [], 0
    for _ in range(sums):
        starts.append(at)
        at += 2 + 2 * int(rest[at + 1])
    if at != len(rest):
        raise ParameterError("every equation must have as many cells as it says, and no more.")
    first = np.array(starts, np.int64)
    lengths = rest[first + 1].astype(np.int64)
    paired = np.ones(len(rest), bool)
    paired[first] = paired[first + 1] = False
    pairs = rest[paired].reshape(-1, 2)
    cells = pairs[:, 0].astype(np.int64)
    if (cells != pairs[:, 0]).any() or (cells < 0).any() or (cells >= size).any():
        raise ParameterError(f"the cells of an equation must be from 0 to {size - 1}.")
    equations = sparse.csr_matrix(
        (pairs[:, 1], cells, np.concatenate([[0], np.cumsum(lengths)])), (sums, size)
    )
    values, costs, low, high, lower, upper, sliding = numbers
    return JJTable(
        values, costs, np.array(fields[3]), low, high, lower, upper, sliding, equations, rest[first]
    )


def _refuse_beyond(values: list[str]) -> None:
    large = next((i for i, word in enumerate(values) if is_beyond(word.lstrip("+-"))), None)
    if large is not None:
        raise ParameterError(
            f"the value of a cell must be {BEYOND}. Got {values[large]} of cell {large}."
        )


def _count(word: str) -> int:
    """Return a whole number, however it is written: R has 1e+05 for 100000."""
    number = float(word)
    if number != int(number):
        raise ValueError(word)
    return int(number)


def write_jj(table: JJTable, path: str | Path, mode: int = 0o600) -> None:
    """Write cells and equations as a JJ file, which its owner alone can read."""
    lines = ["0", str(len(table))]
    columns: list[NDArray[Any]] = [
        table.values, table.costs, table.status, table.low, table.high, table.lower, table.upper,
        table.sliding,
    ]  # fmt: skip
    for number, cell in enumerate(zip(*(column.tolist() for column in columns), strict=True)):
        lines.append(" ".join([str(number), *map(_text, cell)]))
    equations = table.equations.tocsr()
    lines.append(str(equations.shape[0]))
    ends, cells, signs = equations.indptr, equations.indices.tolist(), equations.data.tolist()
    for row, right in enumerate(table.right.tolist()):
        span = range(ends[row], ends[row + 1])
        terms = " ".join(f"{cells[k]} ({_text(signs[k])})" for k in span)
        lines.append(f"{_text(right)} {len(span)} : {terms}")
    with written(Path(path), mode) as file:
        file.write(("\n".join(lines) + "\n").encode())


def _text(field: float | str) -> str:
    """Return a number without digits that say nothing; a bound that is none as solvers write it."""
    if isinstance(field, str):
        return field
    if not np.isfinite(field):
        return "1e+20" if field > 0 else "-1e+20"
    return f"{field:.0f}" if field == int(field) and abs(field) < 2**53 else repr(field)
