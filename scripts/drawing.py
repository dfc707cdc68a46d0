"""What the drawing scripts share: colours, the style of a picture, and how it is saved.

Pictures are the same every time they are drawn: no date, no random ids. With `--png FOLDER` a
script writes PNG files to look at instead of the pictures of the documents.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "docs" / "pictures"
INK, QUIET, BLUE, AMBER, PALE = "#1f2933", "#7b8794", "#1d5b8f", "#c2641a", "#d6e6f2"


def set_style(frame: bool = False, options: dict[str, Any] | None = None) -> None:
    """Set fonts and colours; `frame` keeps the lines above and to the right of a plot.

    `options` are matplotlib's own, for a script whose pictures are of another kind.
    """
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
            **(options or {}),
        }
    )


def save(name: str, **options: Any) -> None:
    """Write the current figure to the pictures of the documents, and close it."""
    if "--png" in sys.argv:
        folder = Path(sys.argv[sys.argv.index("--png") + 1])
        plt.savefig(folder / f"{name}.png", dpi=100, **options)
    else:
        FOLDER.mkdir(parents=True, exist_ok=True)
        path = FOLDER / f"{name}.svg"
        plt.savefig(path, metadata={"Date": None, "Creator": None}, **options)
        lines = path.read_text(encoding="utf-8").splitlines()
        path.write_text("\n".join(line.rstrip() for line in lines) + "\n", encoding="utf-8")
    plt.close()
