"""Tables as people see them in a notebook: short texts, and HTML that any front end can draw."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from itertools import product
from typing import Any

from discreet.table.dimension import Dimension

MOST_ROWS, MOST_COLUMNS = 20, 12


def named(dimensions: Sequence[Dimension]) -> str:
    """Return the dimensions in brief, such as `sex × age (2 × 80)`."""
    names = " × ".join(d.level for d in dimensions)
    return f"{names} ({' × '.join(str(len(d)) for d in dimensions)})"


def rows_html(
    caption: str,
    head: Sequence[str],
    rows: Iterable[Sequence[Any]],
    foot: Sequence[str] = (),
    labels: int = 1,
) -> str:
    """Return rows as an HTML table; the first columns are headings of their row."""
    body = "".join(
        "<tr>"
        + "".join(f'<th scope="row">{escape(str(text))}</th>' for text in row[:labels])
        + "".join(f"<td>{escape(str(value))}</td>" for value in row[labels:])
        + "</tr>"
        for row in rows
    )
    top = "".join(f'<th scope="col">{escape(text)}</th>' for text in head)
    notes = "".join(f"<p>{escape(text)}</p>" for text in foot)
    return (
        f"<table><caption>{escape(caption)}</caption><thead><tr>{top}</tr></thead>"
        f"<tbody>{body}</tbody></table>{notes}"
    )


def table_html(
    caption: str, dimensions: Sequence[Dimension], figures: Any, foot: Sequence[str] = ()
) -> str:
    """Return figures with the last dimension across and the others down, cut where it is long."""
    *down, across = dimensions
    wide: list[tuple[str, tuple[int, ...]]]
    if not down:  # one dimension reads better as a list
        down, wide = [across], [("Figure", ())]
    else:
        wide = [(label, (j,)) for j, label in enumerate(across.labels[:MOST_COLUMNS])]
    many = 1
    for d in down:
        many *= len(d)
    rows: list[list[str]] = []
    for place in product(*(range(len(d)) for d in down)):
        if len(rows) == MOST_ROWS:
            break
        labels = [d.labels[i] for d, i in zip(down, place, strict=True)]
        cells = [figures[(*place, *more)] for _, more in wide]
        rows.append([*labels, *("" if value is None else f"{value:,}" for value in cells)])
    head = [*(d.label for d in down), *(label for label, _ in wide)]
    left = []
    if many > len(rows):
        left.append(f"The first {len(rows)} of {many:,} rows.")
    if len(dimensions) > 1 and len(across) > MOST_COLUMNS:
        left.append(f"The first {MOST_COLUMNS} of {len(across):,} columns.")
    return rows_html(caption, head, rows, [*left, *foot], len(down))
