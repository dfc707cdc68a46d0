"""A table as bars, drawn by matplotlib: a figure each, beside each other where there are two."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.errors import ParameterError
from discreet.extras import with_extra

if TYPE_CHECKING:
    from discreet.table.protected import ProtectedTable


def bars(table: ProtectedTable, title: str, unit: str, ax: Any = None) -> Any:
    """Return axes with the figures of a table of one or two variables, totals left out."""
    inner = table.inner
    if len(table.dimensions) > 2:
        raise ParameterError(
            f"a plot must be of one or two variables. This table has {len(table.dimensions)}."
        )
    with with_extra():
        from matplotlib import pyplot as plt
    if ax is None:
        ax = plt.subplots()[1]
    figures = np.where(table.withheld, np.nan, table.values)[inner]
    figures = figures.reshape(len(figures), -1)
    first, *others = table.dimensions
    labels = list(others[0].labels[inner[1]]) if others else [""]
    places, width = np.arange(len(figures)), 0.8 / len(labels)
    for j, label in enumerate(labels):
        ax.bar(places + (j - (len(labels) - 1) / 2) * width, figures[:, j], width, label=label)
    ax.set_xticks(places, list(first.labels[inner[0]]))
    ax.set_xlabel(first.label)
    ax.set_ylabel(unit)
    ax.set_title(title)
    if others:
        ax.legend(title=others[0].label)
    return ax
