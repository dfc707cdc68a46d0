"""What a version says of itself: manifest.json, which has a checksum of its own.

Versions are ordered by a number that each build counts up. The clock may be set back; a count is
not.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from discreet.errors import Damaged, ParameterError
from discreet.files import sync

FORMAT = 2
NAME = "manifest.json"
FEDERATION = "federation.json"
"""The file that a version has whose records are at other offices."""

_TYPES: dict[str, type] = {
    "dataset": str,
    "created": str,
    "number": int,
    "rows": int,
    "hypercube": bool,
    "modulus": int,
    "secret": str,
    "accepted_differencing": list,
    "files": dict,
}


def read(path: Path) -> dict[str, Any]:
    """Return the manifest of the version in a folder, or raise where it is not as written."""
    try:
        found = loose(path)
    except OSError:
        found = {}
    if not found:
        raise Damaged(f"{path} holds no readable version. Build again.")
    if found.get("format") != FORMAT:
        raise ParameterError(
            f"{path} has store format {found.get('format')!r}; this program reads format "
            f"{FORMAT}. Build the data set again, or use the program that made it."
        )
    if found.get("checksum") != _checksum(found):
        raise Damaged(f"{path / NAME} does not have its checksum. Build again.")
    sound = all(isinstance(found.get(name), kind) for name, kind in _TYPES.items())
    if not sound or not all(map(_facts, found["files"].values())):
        raise Damaged(f"{path / NAME} is damaged. Build again.")
    return found


def _facts(given: object) -> bool:
    """Whether something says how large a file is, and what its checksum is."""
    return (
        isinstance(given, dict)
        and isinstance(given.get("bytes"), int)
        and isinstance(given.get("blake2b"), str)
    )


def loose(path: Path) -> dict[str, Any]:
    """Return a manifest of any format as it stands; empty where there is none, or nonsense."""
    try:
        found = json.loads((path / NAME).read_bytes())
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        return {}
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def number(path: Path) -> int:
    """Return the number of the build that made a version, 0 where its manifest is damaged.

    A disk that fails is an error: by a wrong number the wrong version would be removed.
    """
    found = loose(path).get("number", 0)
    return found if isinstance(found, int) else 0


def write(path: Path, facts: dict[str, Any]) -> None:
    """Write the manifest of the version in a folder, with its format and its checksum."""
    described = {"format": FORMAT, **facts}
    text = json.dumps({**described, "checksum": _checksum(described)}, indent=1)
    with (path / NAME).open("w", encoding="utf-8") as file:
        file.write(text + "\n")
    (path / NAME).chmod(0o600)
    sync(path / NAME)


def _checksum(facts: dict[str, Any]) -> str:
    said = json.dumps({k: v for k, v in facts.items() if k != "checksum"}, sort_keys=True)
    return hashlib.blake2b(said.encode(), digest_size=16).hexdigest()
