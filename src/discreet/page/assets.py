"""Static files under names that hold a hash of their content, so that they may be kept for long."""

from __future__ import annotations

import hashlib
import re
from functools import cache
from importlib import resources

_TYPES = {
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}
_IMPORT = re.compile(r'from "\./([a-z]+\.js)"')
_URL = re.compile(r"url\(([a-z-]+\.svg)\)")


@cache
def files() -> dict[str, tuple[bytes, str]]:
    """Return every file by its hashed name, with its media type."""
    return {hashed(name): (_content(name), _TYPES[name.rsplit(".", 1)[1]]) for name in _names()}


def address_of(name: str) -> str:
    """Return the address of a static file."""
    return f"/static/{hashed(name)}"


@cache
def hashed(name: str) -> str:
    """Return the name of a file with the hash of what is served under it."""
    stem, ending = name.rsplit(".", 1)
    return f"{stem}.{hashlib.sha256(_content(name)).hexdigest()[:12]}.{ending}"


def _names() -> list[str]:
    folder = resources.files("discreet.page") / "static"
    return sorted(f.name for f in folder.iterdir() if f.name.rsplit(".", 1)[-1] in _TYPES)


@cache
def _content(name: str) -> bytes:
    """Return a file with the names of the files it uses hashed; they must not use each other."""
    file = resources.files("discreet.page") / "static" / name
    text = file.read_text(encoding="utf-8")
    text = _IMPORT.sub(lambda m: f'from "./{hashed(m[1])}"', text)
    text = _URL.sub(lambda m: f"url({hashed(m[1])})", text)
    return text.encode()
