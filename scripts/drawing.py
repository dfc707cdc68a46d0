"""What the drawing scripts share: colours, the style of a picture, and how it is saved.

Pictures are the same every time they are drawn: no date, no random ids.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt

FOLDER = Path(__file__).parents[1] / "docs" / "pictures"
INK, QUIET, BLUE, AMBER, PALE = "#1f2933", "#7b8794", "#1d5b8f", "#c2641a", "#d6e6f2"


def set_style(frame: bool = False) -> None:
    """Set fonts and colours; `frame` keeps the lines above and to the right of a plot."""
    mpl.rcParams.update(
        {
            "svg.hashsalt": "discreet",
            "svg.fonttype": "path",
            "font.family": "DejaVu Sans",
            "font.size": 9,
            "axes.edgecolor": QUIET,
            "axes.labelcolor": INK,
            "axes.titlesize": 10,
            "axes.titlecolor": INK,
            "axes.spines.top": frame,
            "axes.spines.right": frame,
            "text.color": INK,
            "xtick.color": INK,
            "ytick.color": INK,
            "figure.facecolor": "white",
        }
    )


def save(name: str, **options: Any) -> None:
    """Write the current figure to the pictures of the documents, and close it."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    plt.savefig(FOLDER / f"{name}.svg", metadata={"Date": None, "Creator": None}, **options)
    plt.close()
