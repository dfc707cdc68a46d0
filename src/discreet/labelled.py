"""Labelled tables as plain arrays, and back: measures and methods take what people have.

Long: columns of codes, then figures in one called count, freq or value. Wide: figures, with labels
in the index and the header (polars: in the first column). Whatever was given comes back as what it
was, with other figures.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError

FIGURES = ("count", "freq", "value")
TOTAL = "_T"
Back = Callable[[NDArray[Any]], Any]


def array_of(given: Any) -> Any:
    """Return the figures of a labelled table as an array; anything else as it is."""
    return unlabelled(given)[0]


def unlabelled(given: Any) -> tuple[Any, Back]:
    """Return the figures of a table, and what makes a table like it of other figures."""
    package = type(given).__module__.partition(".")[0]
    if package == "xarray":
        return given.to_numpy(), lambda values: given.copy(data=values)
    if package == "pandas" and hasattr(given, "columns"):
        return _pandas(given)
    if package == "pandas":
        return _series(given)
    if package == "polars":
        return _polars(given)
    return given, lambda values: values


def _figures(names: list[Any]) -> str | None:
    """Return the column of figures of a long table, None where it is wide."""
    found = [name for name in names if str(name).lower() in FIGURES]
    return found[0] if len(found) == 1 and len(names) > 1 else None


def _pandas(frame: Any) -> tuple[Any, Back]:
    name = _figures(list(frame.columns))
    if name is None:
        values = np.asarray(frame.to_numpy())
        return _numbers(values), lambda new: type(frame)(new, frame.index, frame.columns)
    rows = _rows([frame[c].astype(str).to_numpy() for c in frame.columns if c != name])
    array = _placed(_numbers(frame[name].to_numpy()), *rows)
    return array, lambda new: frame.assign(**{str(name): new[rows[0]]})


def _series(series: Any) -> tuple[Any, Back]:
    index = series.index
    levels = [index.get_level_values(i).astype(str).to_numpy() for i in range(index.nlevels)]
    rows = _rows(levels)
    array = _placed(_numbers(series.to_numpy()), *rows)
    return array, lambda new: type(series)(new[rows[0]], index, name=series.name)


def _polars(frame: Any) -> tuple[Any, Back]:
    names = list(frame.columns)
    name = _figures(names)
    if name is not None:
        rows = _rows([frame[c].cast(str).to_numpy() for c in names if c != name])
        array = _placed(_numbers(frame[name].to_numpy()), *rows)
        return array, lambda new: frame.with_columns(type(frame[name])(name, new[rows[0]]))
    labels = [c for c in names if not frame[c].dtype.is_numeric()]
    shown = [c for c in names if c not in labels]
    array = _numbers(frame.select(shown).to_numpy())

    def back(new: NDArray[Any]) -> Any:
        return frame.with_columns(type(frame[c])(c, new[:, i]) for i, c in enumerate(shown))

    return array, back


def _numbers(values: NDArray[Any]) -> NDArray[Any]:
    """Return figures as numbers: those of pandas may come as objects."""
    if values.dtype.kind != "O":
        return values
    try:
        return values.astype(np.int64)
    except (TypeError, ValueError):
        raise ParameterError("a table must have a figure in every cell. One is missing.") from None


def _rows(columns: list[NDArray[Any]]) -> tuple[tuple[NDArray[np.intp], ...], tuple[int, ...]]:
    """Return where each row of a long table lies, and the shape of the table.

    Categories are in the order of their codes, so that two tables with other orders of rows fit.
    """
    found = [np.unique(column, return_inverse=True) for column in columns]
    if any(TOTAL in codes for codes, _ in found):
        raise ParameterError(f"a table must come without its totals ('{TOTAL}').")
    return tuple(place for _, place in found), tuple(len(codes) for codes, _ in found)


def _placed(
    values: NDArray[Any], places: tuple[NDArray[np.intp], ...], shape: tuple[int, ...]
) -> NDArray[Any]:
    where = np.ravel_multi_index(places, shape)
    if len(where) != prod(shape) or len(np.unique(where)) != len(where):
        raise ParameterError(
            f"a long table must have a row for each of its {prod(shape):,} cells, once. "
            f"Got {len(where):,} rows."
        )
    array = np.empty(shape, values.dtype)
    array[places] = values
    return array
