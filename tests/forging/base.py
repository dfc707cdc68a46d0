"""Forgers of texts and of the documents beside them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

Forger = Callable[[Path], None]
META, STRUCTURE = ".meta.json", ".structure.xml"


def swap(old: str, new: str, beside: str = "") -> Forger:
    """Return a forger that puts another text in the place of the first such one."""

    def forge(path: Path) -> None:
        file = path.with_name(path.name + beside)
        text = file.read_bytes().decode()
        assert old in text, old
        file.write_bytes(text.replace(old, new, 1).encode())

    return forge


def end(more: str, beside: str = "") -> Forger:
    """Return a forger that adds a text at the end."""

    def forge(path: Path) -> None:
        file = path.with_name(path.name + beside)
        file.write_bytes(file.read_bytes() + more.encode())

    return forge


def start(more: str) -> Forger:
    """Return a forger that adds a text at the start."""

    def forge(path: Path) -> None:
        path.write_bytes(more.encode() + path.read_bytes())

    return forge


def told(change: Callable[[dict[str, Any]], Any], beside: str = META) -> Forger:
    """Return a forger that changes a JSON document."""

    def forge(path: Path) -> None:
        file = path.with_name(path.name + beside)
        document = json.loads(file.read_text("utf-8"))
        change(document)
        file.write_text(json.dumps(document, ensure_ascii=False, indent=2) + "\n", "utf-8")

    return forge
