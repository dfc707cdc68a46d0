"""Pictures of results as Vega-Lite: notebooks draw them, and files are SVG, PNG or JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from discreet.desk.drawing import FONT, draw
from discreet.errors import ParameterError
from discreet.files import written
from discreet.pictures import png

SCHEMA = "https://vega.github.io/schema/vega-lite/v5.json"
BLUE, ORANGE, GREY, PALE = "#00586a", "#b4501a", "#76827f", "#e8eeed"


@dataclass(frozen=True)
class Chart:
    """A picture as a Vega-Lite specification."""

    spec: dict[str, Any]

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        return {"application/vnd.vegalite.v5+json": self.spec, "image/svg+xml": self.to_svg()}

    def to_svg(self) -> str:
        """Return the picture as SVG."""
        return draw(self.spec)

    def write(self, path: str | Path) -> None:
        """Write the picture; the end of the name says how: .svg, .png or .json.

        It may show true figures: its owner alone can read the file.
        """
        target = Path(path)
        if target.suffix == ".png":
            content = png(self.to_svg())
        elif target.suffix == ".svg":
            content = self.to_svg().encode()
        elif target.suffix == ".json":
            content = json.dumps(self.spec, indent=2, ensure_ascii=False).encode()
        else:
            raise ParameterError(f"a picture must be .svg, .png or .json. Got {target.name}.")
        with written(target) as file:
            file.write(content)


def chart(title: str, rows: Sequence[dict[str, Any]], **parts: Any) -> Chart:
    """Return a chart of rows of data with a title; `parts` are the rest of the specification."""
    return Chart(
        {
            "$schema": SCHEMA,
            "title": {"text": title, "anchor": "start"},
            "data": {"values": list(rows)},
            "background": "white",
            "config": {"font": FONT, "view": {"stroke": None}, "axis": {"titleFontWeight": 400}},
            **parts,
        }
    )


def axis(field: str, kind: str, title: str, **more: Any) -> dict[str, Any]:
    """Return the encoding of a field: quantitative, nominal or ordinal."""
    return {"field": field, "type": kind, "title": title, **more}


def colours(field: str, title: str, of: dict[str, str]) -> dict[str, Any]:
    """Return the encoding of a field by colours that have a meaning."""
    scale = {"domain": list(of), "range": list(of.values())}
    return axis(field, "nominal", title, scale=scale)
