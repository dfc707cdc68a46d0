"""The routes of the API. Tables are answered from bytes that are kept."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar
from urllib.parse import parse_qsl

import orjson
from fastapi import FastAPI, Request
from starlette.responses import Response

from discreet.errors import ParameterError, unknown
from discreet.release.service import DEFAULT_FORMAT, File, Service, Starting
from discreet.server import openapi
from discreet.server.errors import Failure
from discreet.server.settings import Settings

Route = TypeVar("Route", bound=Callable[..., Any])
_ASKED = ("by", "where", "totals")


def add(app: FastAPI, service: Service, settings: Settings) -> None:
    """Add the routes to an application."""

    def get(path: str, name: str) -> Callable[[Route], Route]:
        return app.get(path, operation_id=name, response_class=Response, **openapi.OF[name])

    @get("/api/v1/datasets", "datasets")
    async def datasets(request: Request) -> Response:
        """List the data sets."""
        _only(request)
        _opened(service)
        return _json({"datasets": service.datasets()})

    @get("/api/v1/datasets/{dataset}", "dataset")
    async def dataset(request: Request) -> Response:
        """Describe a data set: variables, levels and categories, and what may be asked."""
        _only(request)
        return _file(request, await service.description(request.path_params["dataset"]))

    @get("/api/v1/datasets/{dataset}/check", "check")
    async def check(request: Request) -> Response:
        """Say how many cells a question has and whether it may be asked. Nothing is counted."""
        given = _only(request, *_ASKED)
        asked = service.ask(request.path_params["dataset"], **_question(given))
        return _json(service.check(asked))

    @get("/api/v1/datasets/{dataset}/table", "table")
    async def table(request: Request) -> Response:
        """Answer a question with a protected table."""
        given = _only(request, *_ASKED, "format")
        return await _table(request, request.path_params["dataset"], given)

    @app.post(
        "/api/v1/datasets/{dataset}/table",
        operation_id="post_table",
        response_class=Response,
        **openapi.OF["post_table"],
    )
    async def post_table(request: Request) -> Response:
        """Answer a question that is too long for an address."""
        _only(request)
        given = _posted(await _body(request, settings.max_body))
        return await _table(request, request.path_params["dataset"], given)

    async def _table(request: Request, dataset: str, given: dict[str, Any]) -> Response:
        form = given.pop("format", DEFAULT_FORMAT)
        where = given.get("where") or ""
        plain = isinstance(given.get("by"), str) and isinstance(where, str)
        typed = (dataset, given.get("by", ""), where, given.get("totals", "none"), form)
        file = service.at_hand(*typed) if plain else None
        if file is None:
            asked = service.ask(dataset, **_question(given))
            key = service.file_key(asked, form)
            if _holds(request, key.hex()):
                # Only who was given the answer can know its name: it need not be made again.
                request.state.cache = "hit"
                return _unchanged(request, key.hex(), asked.public)
            request.state.cache = "hit" if service.holds(asked) else "miss"
            file = await service.file(asked, form)
            if plain:
                service.remember(key, *typed)
        else:
            request.state.cache = "hit"
        return _file(request, file)

    @get("/api/v1/config", "config")
    async def config(request: Request) -> Response:
        """Return the limits and the formats."""
        _only(request)
        limits = {
            "requests_per_minute": settings.rate,
            "burst": settings.burst,
            "query_bytes": settings.max_query,
            "body_bytes": settings.max_body,
        }
        found = service.config()
        return _json({**found, "limits": {**found["limits"], **limits}})

    @get("/healthz", "healthz")
    async def healthz() -> Response:
        """Say that the program runs."""
        return _json({"status": "alive"})

    @get("/readyz", "readyz")
    async def readyz() -> Response:
        """Say whether every store is open and warm."""
        _opened(service)
        return _json({"status": "ready"})


def _opened(service: Service) -> None:
    if not service.ready:
        raise Starting("The server is starting.")


def _only(request: Request, *names: str) -> dict[str, str]:
    """Return the query's values; a name that is not known or given twice is an error."""
    raw: bytes = request.scope["query_string"]
    found: dict[str, str] = {}
    try:
        pairs = parse_qsl(raw.decode("ascii"), keep_blank_values=True, errors="strict")
    except ValueError:
        raise ParameterError("the query string must be percent-encoded UTF-8.") from None
    for name, value in pairs:
        if name == "tier":
            raise ParameterError("a tier cannot be asked for: over HTTP every reader is public.")
        if name not in names:
            raise unknown("parameter", name[:64], names)
        if name in found:
            raise ParameterError(f"'{name}' must be given once. It is given again.")
        found[name] = value
    return found


def _question(given: dict[str, Any]) -> dict[str, Any]:
    if not given.get("by"):
        raise ParameterError("by must name at least one variable, like by=sex,age_band.")
    return {
        "by": given["by"],
        "where": given.get("where") or None,
        "totals": given.get("totals", "none"),
    }


async def _body(request: Request, most: int) -> bytes:
    parts, size = [], 0
    async for part in request.stream():
        size += len(part)
        if size > most:
            raise Failure(413, "BODY_TOO_LARGE", f"The body may have at most {most:,} bytes.")
        parts.append(part)
    return b"".join(parts)


def _posted(body: bytes) -> dict[str, Any]:
    """Return the question in a body, every value of the type it must have."""
    try:
        given = orjson.loads(body)
    except orjson.JSONDecodeError:
        raise ParameterError("the body must be JSON.") from None
    if not isinstance(given, dict):
        raise ParameterError("the body must be an object with 'by', and perhaps 'where'.")
    for name in given:
        if name == "tier":
            raise ParameterError("a tier cannot be asked for: over HTTP every reader is public.")
        if name not in (*_ASKED, "format"):
            raise unknown("parameter", name[:64], (*_ASKED, "format"))
    by, where = given.get("by"), given.get("where", {})
    if not _texts(by):
        raise ParameterError('by must be a list of names, like ["sex", "age_band"].')
    if not isinstance(where, dict) or not all(map(_texts, where.values())):
        raise ParameterError('where must map names to lists of codes, like {"sex": ["2"]}.')
    for name in ("totals", "format"):
        if name in given and not isinstance(given[name], str):
            raise ParameterError(f"{name} must be a text.")
    return given


def _texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(one, str) for one in value)


def _json(values: Any) -> Response:
    return Response(
        orjson.dumps(values), headers={"Cache-Control": "no-cache"}, media_type="application/json"
    )


def _tag(name: str, compressed: bool) -> str:
    return f'"{name}-gzip"' if compressed else f'"{name}"'


def _holds(request: Request, name: str) -> bool:
    """Whether the reader says that they have this answer already."""
    given = request.headers.get("if-none-match", "")
    tags = {tag.strip().removeprefix("W/") for tag in given.split(",")}
    return _tag(name, False) in tags or _tag(name, True) in tags


def _caching(request: Request, public: bool) -> str:
    """Return who may keep an answer; always to ask again, for the data may be published anew."""
    everyone = public and not hasattr(request.state, "key")
    return "public, no-cache" if everyone else "private, no-cache"


def _unchanged(request: Request, name: str, public: bool) -> Response:
    headers = {
        "ETag": _tag(name, _takes_gzip(request)),
        "Cache-Control": _caching(request, public),
        "Vary": "Accept-Encoding",
    }
    return Response(status_code=304, headers=headers)


def _file(request: Request, file: File) -> Response:
    given = request.headers.get("if-none-match", "")
    if given and (given.strip() == "*" or _holds(request, file.tag)):
        return _unchanged(request, file.tag, file.public)
    compressed = file.compressed is not None and _takes_gzip(request)
    headers = {
        "ETag": _tag(file.tag, compressed),
        "Cache-Control": _caching(request, file.public),
        "Content-Disposition": f'inline; filename="{file.name}"',
    }
    if file.compressed is not None:
        headers["Vary"] = "Accept-Encoding"
    if compressed:
        headers["Content-Encoding"] = "gzip"
    body = file.compressed if compressed else file.body
    return Response(body, headers=headers, media_type=file.media_type)


def _takes_gzip(request: Request) -> bool:
    for part in request.headers.get("accept-encoding", "").split(","):
        name, _, quality = part.strip().partition(";")
        if name.strip().lower() in ("gzip", "*"):
            return quality.replace(" ", "") not in ("q=0", "q=0.0", "q=0.00", "q=0.000")
    return False
