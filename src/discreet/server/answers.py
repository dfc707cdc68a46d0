"""Answers with their headers: who may keep them, under which name, compressed or not."""

from __future__ import annotations

from typing import Any

import orjson
from fastapi import Request
from pydantic import BaseModel
from starlette.responses import Response

from discreet.service import File

CSVW = "application/csvm+json"
"""What says which column of a CSV file is what."""


def as_json(answer: BaseModel) -> Response:
    """Return an answer in JSON."""
    body = answer.model_dump_json()
    return Response(body, headers={"Cache-Control": "no-cache"}, media_type="application/json")


def plain_json(answer: dict[str, Any]) -> Response:
    """Return plain values in JSON, as the protocols of others have them."""
    body = orjson.dumps(answer)
    return Response(body, headers={"Cache-Control": "no-cache"}, media_type="application/json")


def _tag(name: str, compressed: bool) -> str:
    return f'"{name}-gzip"' if compressed else f'"{name}"'


def holds(request: Request, name: str) -> bool:
    """Whether the reader says that they have this answer already."""
    given = request.headers.get("if-none-match", "")
    tags = {tag.strip().removeprefix("W/") for tag in given.split(",")}
    return _tag(name, False) in tags or _tag(name, True) in tags


def _caching(request: Request, public: bool) -> str:
    """Return who may keep an answer; always to ask again, for the data may be published anew."""
    known = hasattr(request.state, "key") or hasattr(request.state, "who")
    everyone = public and not known
    return "public, no-cache" if everyone else "private, no-cache"


def unchanged(request: Request, name: str, public: bool) -> Response:
    """Return that the reader's answer is still the answer."""
    headers = {
        "ETag": _tag(name, takes_gzip(request)),
        "Cache-Control": _caching(request, public),
        "Vary": "Accept, Accept-Encoding",
    }
    return Response(status_code=304, headers=headers)


def file_of(request: Request, file: File) -> Response:
    """Return a file as it is kept, or that the reader has it already."""
    given = request.headers.get("if-none-match", "")
    if given and (given.strip() == "*" or holds(request, file.tag)):
        return unchanged(request, file.tag, file.public)
    if takes_gzip(request):
        file = file.zipped
    compressed = takes_gzip(request) and bool(file.compressed)
    headers = {
        "ETag": _tag(file.tag, compressed),
        "Cache-Control": _caching(request, file.public),
        "Content-Disposition": f'inline; filename="{file.name}"',
    }
    if file.link:
        headers["Link"] = f'<{file.link}>; rel="describedby"; type="application/json"'
        if file.media_type.startswith("text/csv") and "format=csv&" in f"{file.link}&":
            typed = file.link.replace("table/meta", "table/csvw", 1).replace("&format=csv", "")
            headers["Link"] += f', <{typed}>; rel="describedby"; type="{CSVW}"'
    headers["Vary"] = "Accept, Accept-Encoding" if file.long else "Accept"
    if compressed:
        headers["Content-Encoding"] = "gzip"
    body = file.compressed if compressed else file.body
    return Response(body, headers=headers, media_type=file.media_type)


def takes_gzip(request: Request) -> bool:
    """Whether the reader takes an answer in gzip."""
    for part in request.headers.get("accept-encoding", "").split(","):
        name, _, quality = part.strip().partition(";")
        if name.strip().lower() in ("gzip", "*"):
            return quality.replace(" ", "") not in ("q=0", "q=0.0", "q=0.00", "q=0.000")
    return False
