"""Draws the picture of docs/suppression.md: a table of firms, and what is withheld of it and why.

Run: python scripts/draw_suppression.py [--png FOLDER]
"""

from __future__ import annotations

import re
from pathlib import Path
from tempfile import TemporaryDirectory

import matplotlib.pyplot as plt
import numpy as np
from drawing import ROOT, save, set_style
from matplotlib.patches import Rectangle

from discreet.desk.cells import read_records
from discreet.desk.sensitivity import PriorPosterior
from discreet.desk.suppress.insiders import Contributions
from discreet.desk.suppress.method import Suppressed, Suppression

PAGE = ROOT / "docs" / "suppression.md"
# Okabe and Ito's colours, told apart by everyone; and lighter for what follows from another.
PRIMARY, SECONDARY, TOTAL = "#D55E00", "#56B4E9", "#f2f2f2"

STYLE = {"svg.fonttype": "none", "font.family": "sans-serif", "font.size": 10}


def protected() -> Suppressed:
    """The turnover of the firms by region and industry, under the p% rule."""
    found = re.search(r'^```csv title="firms.csv"\n(.*?)^```$', PAGE.read_text(), re.M | re.S)
    assert found is not None, "the page must hold the records of the firms"
    with TemporaryDirectory() as folder:
        path = Path(folder) / "firms.csv"
        path.write_text(found[1])
        records = read_records(path, ["region", "industry"], "turnover", "firm")
    method = Suppression((PriorPosterior(10.0),))
    return method.apply(records.table(), Contributions.of_records(records))


def draw(found: Suppressed) -> plt.Figure:
    """Two panels: the true table with the pattern, and the publication with its intervals."""
    rows, columns = found.cells.codes
    figure, axes = plt.subplots(1, 2, figsize=(10.5, 3.4))
    for axis, title in zip(
        axes, ("What the office knows", "What is published, and what can be proved"), strict=True
    ):
        axis.set_title(title, loc="left", fontsize=11, pad=24)
        axis.set_xlim(-1.05, len(columns))
        axis.set_ylim(len(rows), 0)
        axis.axis("off")
        for j, code in enumerate(columns):
            axis.text(j + 0.5, -0.12, _label(code), ha="center", va="bottom")
        for i, code in enumerate(rows):
            axis.text(-0.1, i + 0.5, _label(code), ha="right", va="center")
    for (i, j), mark in np.ndenumerate(found.marks):
        total = rows[i] == "_T" or columns[j] == "_T"
        colour = (TOTAL if total else "white", PRIMARY, SECONDARY)[mark]
        for axis in axes:
            axis.add_patch(
                Rectangle((j + 0.03, i + 0.04), 0.94, 0.92, facecolor=colour, edgecolor="#cccccc")
            )
        ink = "white" if mark == 1 else "black"
        figure_text = f"{found.cells.values[i, j]:,.0f}"
        axes[0].text(j + 0.5, i + 0.5, figure_text, ha="center", va="center", color=ink)
        shown = f"{found.low[i, j]:,.0f}–{found.high[i, j]:,.0f}" if mark else figure_text
        axes[1].text(
            j + 0.5, i + 0.5, shown, ha="center", va="center", color=ink, fontsize=9 if mark else 10
        )
    for place, (name, colour) in enumerate(
        (("primary: sensitive itself", PRIMARY), ("secondary: protects others", SECONDARY))
    ):
        figure.patches.append(
            Rectangle((0.09 + 0.22 * place, 0.025), 0.015, 0.04, transform=figure.transFigure,
                      facecolor=colour)
        )  # fmt: skip
        figure.text(0.111 + 0.22 * place, 0.045, name, va="center")
    figure.subplots_adjust(left=0.02, right=0.99, top=0.78, bottom=0.12, wspace=0.06)
    return figure


def _label(code: str) -> str:
    return "All" if code == "_T" else code


def main() -> None:
    """Write the picture, or a PNG of it into a folder to look at."""
    set_style(options=STYLE)
    draw(protected())
    save("suppression-firms")


if __name__ == "__main__":
    main()
