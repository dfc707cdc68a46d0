"""Draws the picture of docs/base.md: one table three ways, and what of it adds up."""

from __future__ import annotations

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from drawing import AMBER, BLUE, INK, PALE, QUIET, save, set_style
from numpy.typing import NDArray

from discreet.protect import KeyMix, ProtectedBase
from discreet.protect.records.protected_base import Areas, Column, Design, Records
from discreet.synth.geography import lay_out
from discreet.synth.variables import IDS
from discreet.synth.writer import draw

SECRET = bytes(range(32))
WARD = 1
ROWS = ("Owned", "Mortgage", "Social rented", "Private rented")
COLUMNS = (
    "Very\ngood", "Good", "Fair", "Bad", "Very\nbad",
    "Total", "Total,\nby sex", "Total,\nby religion",
)  # fmt: skip
APART = 0.3
"""How far the totals of other tables stand from the table."""


class People:
    """A small synthetic census, its base, and noise by cell keys."""

    def __init__(self) -> None:
        geography = lay_out(30_000, 4)
        block = draw(geography, 4, 0, geography.size)
        codes = []
        for name, column in zip(IDS, block.columns, strict=True):
            own = column // 5 if name == "age" else column
            codes.append((own - own.min()).astype(np.uint8))
        words = KeyMix(SECRET, "people").words(np.arange(len(codes[0]), dtype=np.uint64))
        self.records = Records(codes, block.oa.astype(np.int64) - 1, words)
        self.sizes = [int(column.max()) + 1 for column in codes]
        self.ward = geography.ward_of_oa
        levels = [np.arange(geography.size), self.ward, geography.la_of_ward[self.ward]]
        design = Design.of([Column(size) for size in self.sizes])
        self.method = ProtectedBase()
        fitted = self.method.apply(self.records, Areas.nested(levels, 2), design, SECRET)
        self.donor, self.area = fitted.donor, fitted.area

    def noisy(self, *names: str) -> NDArray[np.int64]:
        """Figures of a ward with noise by their cell keys."""
        here = self.ward[self.records.area] == WARD
        counts, sums = (
            self._counts(names, np.flatnonzero(here), weight)
            for weight in (None, self.records.keys[here])
        )
        noise = self.method.noise(1, SECRET)
        return noise.figures(counts.astype(np.int32), (sums % 2**32).astype(np.uint32))

    def base(self, *names: str) -> NDArray[np.int64]:
        """Figures of a ward, counted on the base."""
        return self._counts(names, self.donor[self.ward[self.area] == WARD], None)

    def _counts(self, names: Any, rows: NDArray[np.int64], weight: Any) -> NDArray[np.int64]:
        numbers = [IDS.index(name) for name in names]
        found = np.zeros([1, *(self.sizes[i] for i in numbers)], np.int64)
        place = (np.zeros(len(rows), int), *(self.records.codes[i][rows] for i in numbers))
        np.add.at(found, place, 1 if weight is None else weight.astype(np.int64))
        return np.asarray(found[0] if names else found)


def panel(axes: Any, title: str, figures: NDArray[np.int64], right: NDArray[np.bool_]) -> None:
    """Write figures; what does not add up is marked, on amber."""
    axes.axis("off")
    axes.set_title(title, loc="left")
    axes.set_xlim(-2.2, len(COLUMNS) + APART)
    axes.set_ylim(len(figures) - 0.4, -1.7)
    places = [j + APART * (j > 5) for j in range(len(COLUMNS))]
    for name, x in zip(COLUMNS, places, strict=True):
        axes.text(x + 0.85, -0.95, name, ha="right", va="center", fontsize=7)
    for i, row in enumerate(figures.tolist()):
        name = (*ROWS, "Total")[i]
        axes.text(-2.2, i, name, va="center", weight="bold" if i == 4 else "normal", fontsize=8)
        for j, (figure, x) in enumerate(zip(row, places, strict=True)):
            total = i == 4 or j >= 5
            if total:
                colour = PALE if right[i, j] else "#f6d9c2"
                axes.add_patch(plt.Rectangle((x + 0.05, i - 0.42), 0.9, 0.84, color=colour, lw=0))
            ink = INK if not total else BLUE if right[i, j] else AMBER
            said = f"{figure:,}" if right[i, j] else f"≠ {figure:,}"
            axes.text(x + 0.85, i, said, ha="right", va="center", color=ink, fontsize=8)


def laid_out(
    inner: NDArray[np.int64],
    rows: NDArray[np.int64],
    foot: NDArray[np.int64],
    others: list[NDArray[np.int64]],
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return a table with its totals and with those of other tables, and what adds up."""
    columns = [np.append(column, column.sum()) for column in (rows, *others)]
    figures = np.column_stack([np.vstack([inner, foot[:5]]), *columns])
    figures[4, 5] = foot[5]
    right = np.ones(figures.shape, bool)
    right[:4, 5] = inner.sum(axis=1) == rows
    right[4, :5] = inner.sum(axis=0) == foot[:5]
    right[4, 5] = (rows.sum() == foot[5]) and (foot[:5].sum() == foot[5])
    right[:, 6:] = figures[:, 6:] == figures[:, 5:6]
    return figures, right


def main() -> None:
    people = People()
    set_style()
    _, places = plt.subplots(3, 1, figsize=(7.6, 6.6))
    inner, rows = people.noisy("tenure", "health"), people.noisy("tenure")
    foot = np.append(people.noisy("health"), people.noisy().ravel())
    figures, right = laid_out(inner, rows, foot, [rows, rows])
    figures[4, 6:], right[4, 6:] = foot[5], True  # the same people, the same figure
    panel(places[0], "Cell keys: each total has noise of its own", figures, right)
    foot = np.append(inner.sum(axis=0), inner.sum())
    others = [people.noisy("tenure", name).sum(axis=1) for name in ("sex", "religion")]
    panel(
        places[1],
        "Cell keys with sums: totals differ between tables",
        *laid_out(inner, inner.sum(axis=1), foot, others),
    )
    base = people.base("tenure", "health")
    foot = np.append(base.sum(axis=0), base.sum())
    others = [people.base("tenure", name).sum(axis=1) for name in ("sex", "religion")]
    panel(
        places[2],
        "A protected base: everything adds up",
        *laid_out(base, base.sum(axis=1), foot, others),
    )
    plt.figtext(
        0.02, 0.005, "Blue: adds up. Amber, ≠: does not. On the right, the same totals in tables "
        "of tenure by sex and by religion.", fontsize=7.5, color=QUIET,
    )  # fmt: skip
    plt.tight_layout(rect=(0, 0.02, 1, 1))
    save("base-adds-up")


if __name__ == "__main__":
    main()
