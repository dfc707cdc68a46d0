"""What the names of files must end in: it says what is in them, and who may read it."""

from __future__ import annotations

from pathlib import Path

from discreet.errors import ParameterError

PATTERNS = (".csv", ".json", ".hst")
"""What the pattern of a table may be written as."""
JJ_PATTERNS = (".csv", ".jj")
"""What the pattern of a JJ file may be written as."""
_TRUE_FIGURES = {
    ".jj": "a JJ file has a figure for every cell, those withheld too. --pattern FILE.jj (of a JJ "
    "file) and --problem FILE.jj write true figures for other solvers",
    ".json": "--pattern FILE.json writes the pattern with true figures for R",
    ".hst": "--pattern FILE.hst writes the sensitive cells for τ-ARGUS",
    ".tab": "--tab FILE.tab writes the true table for τ-ARGUS",
}


def ending(name: str, path: str | Path, allowed: tuple[str, ...]) -> str:
    """Return what the name of a file ends in, which must be one of those allowed."""
    found = Path(path).suffix.lower()
    if found not in allowed:
        *others, last = allowed
        choices = f"{', '.join(others)} or {last}" if others else last
        raise ParameterError(f"{name} must end in {choices}. Got {Path(path).name}.")
    return found


def check_published(path: str | Path) -> None:
    """Raise where the name of what is published is that of a file with what is withheld."""
    instead = _TRUE_FIGURES.get(Path(path).suffix.lower())
    if instead is not None:
        raise ParameterError(
            f"what is published is written as CSV: {instead}; it is not for publication. Got "
            f"{Path(path).name}."
        )
