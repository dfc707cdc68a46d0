"""Pictures as PNG: SVG drawn by resvg, with the fonts of this package and no others."""

from __future__ import annotations

from pathlib import Path

from discreet.extras import with_extra

FONTS = Path(__file__).parent / "fonts"
FAMILY = "DejaVu Sans"


@with_extra()
def png(svg: str, scale: float = 2) -> bytes:
    """Return a picture as PNG, the same on every machine."""
    from resvg_py import svg_to_bytes

    return bytes(
        svg_to_bytes(
            svg_string=svg,
            zoom=scale,
            skip_system_fonts=True,
            font_files=[str(path) for path in sorted(FONTS.glob("*.ttf"))],
            font_family=FAMILY,
            sans_serif_family=FAMILY,
            serif_family=FAMILY,
        )
    )
