"""The routes of the API. Tables are answered from bytes that are kept."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from types import SimpleNamespace
from typing import Any, TypeVar

from fastapi import FastAPI, Request
from pydantic import BaseModel
from starlette.responses import Response
from starlette.routing import Route

from discreet.errors import Starting
from discreet.release.formats.sdmx import STRUCTURE
from discreet.release.formats.tidy import META
from discreet.server import models, openapi
from discreet.server.errors import Failure
from discreet.server.parse import Model, read_body, read_query
from discreet.server.settings import Settings
from discreet.service import File, Service

Endpoint = TypeVar("Endpoint", bound=Callable[..., Any])
Handler = Callable[[Request], Awaitable[Response]]
TABLE = "/api/v1/datasets/{dataset}/table"


def add(app: FastAPI, service: Service, settings: Settings) -> None:
    """Add the routes to an application."""

    def get(path: str, name: str) -> Callable[[Endpoint], Endpoint]:
        return app.get(path, operation_id=name, response_class=Response, **openapi.OF[name])

    @get("/api/v1/datasets", "datasets")
    async def datasets(request: Request) -> Response:
        """List the data sets."""
        _asked(request, models.Nothing)
        _opened(service)
        return _json(models.DataSets.model_validate({"datasets": service.datasets()}))

    @get("/api/v1/datasets/{dataset}", "dataset")
    async def dataset(request: Request) -> Response:
        """Describe a data set: variables, levels and categories, and what may be asked."""
        _asked(request, models.Nothing)
        return _file(request, await service.description(request.path_params["dataset"]))

    @get("/api/v1/datasets/{dataset}/check", "check")
    async def check(request: Request) -> Response:
        """Say how many cells a question has and whether it may be asked. Nothing is counted."""
        given = _asked(request, models.Typed)
        asked = service.ask(request.path_params["dataset"], *_question(given))
        return _json(models.Checked(**service.check(asked)))

    @get(TABLE, "table")
    async def table(request: Request) -> Response:
        """Answer a question with a protected table."""
        given = _asked(request, models.TypedTable)
        return await _table(request, request.path_params["dataset"], given)

    # The same function once more in front of all: what FastAPI does for a route besides documenting
    # it takes longer than answering from what is kept.
    app.router.routes.insert(0, Route(TABLE, _named(table), methods=["GET"]))

    @app.post(
        TABLE,
        operation_id="post_table",
        response_class=Response,
        **openapi.OF["post_table"],
    )
    async def post_table(request: Request) -> Response:
        """Answer a question that is too long for an address."""
        _asked(request, models.Nothing)
        given = read_body(await _body(request, settings.max_body))
        return await _table(request, request.path_params["dataset"], given)

    async def _table(
        request: Request, dataset: str, given: models.TypedTable | models.Posted
    ) -> Response:
        typed = None
        if isinstance(given, models.TypedTable):
            typed = (dataset, given.by, given.where, given.totals, given.format)
        file = None if typed is None else service.at_hand(*typed)
        if file is None:
            asked = service.ask(dataset, *_question(given))
            key = service.file_key(asked, given.format)
            if _holds(request, key.hex()):
                # Only who was given the answer can know its name: it need not be made again.
                request.state.cache = "hit"
                return _unchanged(request, key.hex(), asked.public)
            request.state.cache = "hit" if service.holds(asked) else "miss"
            file = await service.file(asked, given.format)
            if typed is not None:
                service.remember(key, *typed)
        else:
            request.state.cache = "hit"
        return _file(request, file)

    @get(f"{TABLE}/meta", "table_meta")
    async def table_meta(request: Request) -> Response:
        """Return what belongs beside a file: question, notes, quality, columns and signature."""
        return await _beside(request, META, _asked(request, models.TypedMeta))

    @get(f"{TABLE}/structure", "table_structure")
    async def table_structure(request: Request) -> Response:
        """Return the SDMX structure of a table."""
        return await _beside(request, STRUCTURE, _asked(request, models.TypedStructure))

    async def _beside(
        request: Request, ending: str, given: models.TypedMeta | models.TypedStructure
    ) -> Response:
        asked = service.ask(request.path_params["dataset"], *_question(given))
        request.state.cache = "hit" if service.holds(asked) else "miss"
        return _file(request, await service.beside(asked, given.format, ending))

    @get("/api/v1/config", "config")
    async def config(request: Request) -> Response:
        """Return the limits and the formats."""
        _asked(request, models.Nothing)
        limits = {
            "requests_per_minute": settings.rate,
            "burst": settings.burst,
            "query_bytes": settings.max_query,
            "body_bytes": settings.max_body,
        }
        found = service.config()
        return _json(models.Config(**{**found, "limits": {**found["limits"], **limits}}))

    @get("/healthz", "healthz")
    async def healthz() -> Response:
        """Say that the program runs."""
        return _json(models.Status(status="alive"))

    @get("/readyz", "readyz")
    async def readyz() -> Response:
        """Say whether every store is open and warm."""
        _opened(service)
        return _json(models.Status(status="ready"))


def _named(handler: Handler) -> Handler:
    """Return a handler that leaves its route for the log, as FastAPI does."""

    async def handle(request: Request) -> Response:
        request.scope["route"] = _TABLE_ROUTE
        return await handler(request)

    return handle


_TABLE_ROUTE = SimpleNamespace(path=TABLE)


def _opened(service: Service) -> None:
    if not service.ready:
        raise Starting("The server is starting.")


def _asked(request: Request, model: type[Model]) -> Model:
    """Return what the query string says."""
    return read_query(request.scope["query_string"], model)


def _question(given: models.Typed | models.Posted) -> tuple[Any, Any, str]:
    return given.by, given.where or None, given.totals


async def _body(request: Request, most: int) -> bytes:
    parts, size = [], 0
    async for part in request.stream():
        size += len(part)
        if size > most:
            raise Failure(413, "BODY_TOO_LARGE", f"The body may have at most {most:,} bytes.")
        parts.append(part)
    return b"".join(parts)


def _json(answer: BaseModel) -> Response:
    body = answer.model_dump_json()
    return Response(body, headers={"Cache-Control": "no-cache"}, media_type="application/json")


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
    if file.link:
        headers["Link"] = f'<{file.link}>; rel="describedby"; type="application/json"'
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
