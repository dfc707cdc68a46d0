"""Builds on a file system that is too small; run in a mount namespace of its own.

Usage: full_driver.py DATASET.toml LARGER.toml STORE. Prints a JSON line for a build into a new
folder, and one for a build over a smaller version.
"""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path

from discreet.build import build
from discreet.errors import ParameterError


def contents(folder: Path) -> dict[str, str] | None:
    if not folder.exists():
        return None
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != ".lock"
    }


def attempt(dataset: Path, store: Path) -> dict[str, object]:
    before = contents(store)
    try:
        build(dataset, store)
        said = None
    except ParameterError as error:
        said = str(error)
    return {"said": said, "same": contents(store) == before, "exists": store.exists()}


def main() -> None:
    dataset, larger, store = map(Path, sys.argv[1:])
    print(json.dumps(attempt(larger, store)))
    build(dataset, store)
    print(json.dumps(attempt(larger, store)))


if __name__ == "__main__":
    main()
