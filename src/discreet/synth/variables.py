"""The variables of the synthetic census, as census.toml describes them, in the order of its file.

The classifications follow those of the census of England and Wales; the people and the places are
invented. Codes start at 1 (age at 0) and are positions in the lists of categories.
"""

from __future__ import annotations

import tomllib
from pathlib import Path

DESCRIBED = Path(__file__).with_name("census.toml").read_text(encoding="utf-8")
_CENSUS = tomllib.loads(DESCRIBED)

CATEGORIES: dict[str, tuple[str, ...]] = {
    name: tuple(variable.get("categories", {}).values())
    for name, variable in _CENSUS["variables"].items()
}
"""The labels of each variable's codes; age has none, its codes are the years themselves."""

IDS = tuple(CATEGORIES)
AREAS = tuple(level["id"] for level in _CENSUS["geography"])
"""The levels of the geography, the smallest areas first."""

OLDEST: int = _CENSUS["variables"]["age"]["range"][1]  # ages above are recorded as this one
ADULT = 16  # no occupation, qualification or marriage below
