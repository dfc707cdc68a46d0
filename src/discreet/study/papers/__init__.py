"""The studies of the papers as study files, with the published figures beside them."""

from __future__ import annotations

from pathlib import Path

FOLDER = Path(__file__).parent
NAMES = tuple(sorted(path.stem for path in FOLDER.glob("*.toml")))
