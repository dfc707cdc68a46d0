"""Kernels compiled by numba, and kept on disk wherever there is a place for them.

Numba keeps them in the folder of the program, else in the home of the user. Where neither can be
written to, it refuses to compile at all; they are then kept in a folder for temporary files.
"""

from __future__ import annotations

import os
import stat
import sys
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numba


def njit(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Return `numba.njit`, with another place for the cache if numba finds none."""

    def compiled(function: Callable[..., Any]) -> Any:
        try:
            return numba.njit(**options)(function)
        except RuntimeError:
            if not options.get("cache"):
                raise
            numba.config.CACHE_DIR = _temporary()
            options["cache"] = bool(numba.config.CACHE_DIR)
            return numba.njit(**options)(function)

    return compiled


@cache
def _temporary() -> str:
    """Return a folder of this user alone for temporary kernels, and say so; "" if none can be."""
    try:
        folder = _own(Path(tempfile.gettempdir()) / f"discreet-kernels-{os.geteuid()}")
    except OSError:
        folder = None
    place = f"in {folder}" if folder else "nowhere"
    print(
        f"discreet: compiled kernels are kept {place}, because neither the folder of the program "
        "nor the home folder can be written to.",
        file=sys.stderr,
    )
    return str(folder or "")


def _own(folder: Path) -> Path | None:
    """Return the folder, made if need be; none if others can write to it, or this user cannot."""
    folder.mkdir(mode=0o700, exist_ok=True)
    found = folder.lstat()
    own = found.st_uid == os.geteuid() and stat.S_ISDIR(found.st_mode)
    return folder if own and stat.S_IMODE(found.st_mode) == 0o700 else None
