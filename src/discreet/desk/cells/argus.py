"""Files of τ-ARGUS about the cells of a table: what is known before (.hst), and the table (.tab).

A line of a history has a code for each dimension, empty or `Total` for the sum, and what is said:

    North;Metal;u            sensitive
    South;Food;p             not to be withheld
    North;Food;c;1           withheld rather than others
    North;Metal;pl;20;30     how far bounds must stay below and above
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.desk.cells.model import MARKS, CellTable, Mark
from discreet.errors import ParameterError
from discreet.files import written
from discreet.table.argus import text_of
from discreet.table.hierarchy import LEADING, is_total_code, write_hrc
from discreet.table.sheet import figure_text
from discreet.types import Flags, Floats

TOTAL = "Total"
SEPARATOR = ";"
PREFERRED = 1.0
"""The largest cost (c) that says no more than: rather this cell than another."""


def with_history(table: CellTable, path: str | Path) -> CellTable:
    """Return the table with what a history says of its cells, beside what rules will say.

    That a cell is safe whatever the rules say (s) is refused: nothing here undoes a rule.
    """
    name = Path(path).name
    flags = np.zeros(table.shape, bool) if table.sensitive is None else table.sensitive.copy()
    marks = table.marks.copy()
    sides = {side: _side(table, side) for side in ("lower", "upper")}
    for where, codes, said, numbers in _lines(Path(path), len(table.variables)):
        cell = tuple(_place(table, d, code, f"{where} of '{name}'") for d, code in enumerate(codes))
        if not all(0 <= number < np.inf for number in numbers):
            raise ParameterError(
                f"costs and levels in {where} of '{name}' must be 0 or more. Got "
                f"{' '.join(map(figure_text, numbers))}."
            )
        if said == "u":
            flags[cell] = True
        elif said == "p":
            marks[cell] = MARKS.index(Mark.NEVER)
        elif said == "c" and len(numbers) == 1 and numbers[0] <= PREFERRED:
            marks[cell] = MARKS.index(Mark.PREFER)
        elif said == "pl" and len(numbers) == 2:
            sides["lower"][cell], sides["upper"][cell] = numbers
        else:
            raise ParameterError(
                f"{where} of '{name}' must say u, p, c with a cost of up to 1, or pl with two "
                f"levels. Got {said} {' '.join(map(figure_text, numbers))}."
            )
    return replace(table, sensitive=flags, marks=marks, lower=sides["lower"], upper=sides["upper"])


def _side(table: CellTable, side: str) -> Floats:
    given: Floats | None = getattr(table, side)
    return np.full(table.shape, np.nan) if given is None else given.copy()


def _place(table: CellTable, d: int, code: str, where: str) -> int:
    if not code or is_total_code(code):
        return table.parents[d].index(-1)
    if code not in table.codes[d]:
        raise ParameterError(f"{where} has '{code}', which is no code of {table.variables[d]}.")
    return table.codes[d].index(code)


def _lines(path: Path, number: int) -> Iterator[tuple[str, list[str], str, list[float]]]:
    if not path.exists():
        raise ParameterError(f"there is no file '{path}'.")
    for at, line in enumerate(text_of(path).splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("//"):
            continue
        delimiter = max(";,\t", key=line.count)
        fields = [field.strip().strip('"') for field in line.split(delimiter)]
        try:
            numbers = [float(field) for field in fields[number + 1 :] if field]
            yield f"line {at}", fields[:number], fields[number].lower(), numbers
        except (ValueError, IndexError):
            raise ParameterError(
                f"line {at} of '{path.name}' must have {number} codes and what is said of the "
                f"cell, separated by {SEPARATOR}. Got {line.strip()}."
            ) from None


def write_history(path: str | Path, table: CellTable, sensitive: Flags) -> None:
    """Write which cells are sensitive, and which must be published, as τ-ARGUS reads them."""
    kept = table.marked(Mark.NEVER) | table.marked(Mark.PUBLISHED)
    lines = []
    for cell in np.flatnonzero(sensitive | kept):
        place = np.unravel_index(cell, table.shape)
        codes = [_written(table, d, int(i)) for d, i in enumerate(place)]
        lines.append(SEPARATOR.join([*codes, "u" if sensitive.flat[cell] else "p"]))
    with written(Path(path)) as file:
        file.write("".join(f"{line}\n" for line in lines).encode())


def _written(table: CellTable, d: int, i: int) -> str:
    code = table.codes[d][i]
    return TOTAL if is_total_code(code) else code


def tab_files(path: str | Path, table: CellTable) -> list[Path]:
    """Return the files of a table for τ-ARGUS: .tab, .rda, and .hrc of dimensions with levels."""
    target = Path(path)
    levels = [v for d, v in enumerate(table.variables) if _groups(table, d)]
    hierarchies = [target.with_name(f"{target.stem}-{variable}.hrc") for variable in levels]
    return [target, target.with_suffix(".rda"), *hierarchies]


def write_tab(path: str | Path, table: CellTable) -> list[Path]:
    """Write all cells for τ-ARGUS: the table (.tab), its metadata (.rda) and hierarchies (.hrc)."""
    target = Path(path)
    described, paths = [f'<SEPARATOR> "{SEPARATOR}"'], tab_files(path, table)
    for d, variable in enumerate(table.variables):
        wide = max(len(TOTAL), *(len(code) for code in table.codes[d]))
        described += [f'"{variable}" {wide}', "  <RECODEABLE>", f'  <TOTCODE> "{TOTAL}"']
        groups = _groups(table, d)
        if groups:
            file = target.with_name(f"{target.stem}-{variable}.hrc")
            codes = [code for code in table.codes[d] if not is_total_code(code)]
            write_hrc(file, codes, groups, 0o600)
            described += ["  <HIERARCHICAL>", f'  <HIERCODELIST> "{file.name}"']
            described.append(f'  <HIERLEADSTRING> "{LEADING}"')
    columns: list[NDArray[Any]] = [table.values]
    if table.counts:
        described += ["freq 20", "  <NUMERIC>", "  <FREQUENCY>"]
    else:
        described += ["value 20", "  <NUMERIC>", "  <DECIMALS> 6"]
    if table.contributors is not None and not table.counts:
        columns.append(table.contributors)
        described += ["contributors 20", "  <NUMERIC>", "  <FREQUENCY>"]
    for k in range(0 if table.ranked is None else table.ranked.shape[-1]):
        columns.append(np.asarray(table.ranked)[..., k])
        described += [f"max{k + 1} 20", "  <NUMERIC>", "  <MAXSCORE>"]
    with written(target) as file_of_cells:
        for cell in range(table.values.size):
            place = np.unravel_index(cell, table.shape)
            codes = [_written(table, d, int(i)) for d, i in enumerate(place)]
            figures = [figure_text(column.flat[cell].item()) for column in columns]
            file_of_cells.write((SEPARATOR.join([*codes, *figures]) + "\n").encode())
    with written(paths[1]) as file_of_words:
        file_of_words.write("".join(f"{line}\n" for line in described).encode())
    return paths


def _groups(table: CellTable, d: int) -> dict[str, list[str]]:
    """Return the sums of a dimension below its total, with the codes they are made of."""
    codes, groups = table.codes[d], dict[str, list[str]]()
    for i, parent in enumerate(table.parents[d]):
        if parent >= 0 and not is_total_code(codes[parent]):
            groups.setdefault(codes[parent], []).append(codes[i])
    return groups
