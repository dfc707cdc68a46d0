"""The routes of the API. Tables are answered from bytes that are kept."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from fastapi import FastAPI, Request
from starlette.responses import Response
from starlette.routing import Match, Route
from starlette.types import Receive, Scope, Send

from discreet.errors import Forbidden, Starting
from discreet.people.model import Who
from discreet.people.people import People
from discreet.release.formats.sdmx import STRUCTURE
from discreet.release.formats.tidy import META
from discreet.server import models, openapi
from discreet.server.answers import as_json, file_of, holds, takes_gzip, unchanged
from discreet.server.errors import Failure
from discreet.server.parse import Model, read_body, read_query
from discreet.server.settings import Live, Settings
from discreet.service import FORMATS, Asked, File, Opened, Service
from discreet.service.service import Known

Handler = Callable[[Request], Awaitable[Response]]

TABLE = "/api/v1/datasets/{dataset}/table"
_BY_TYPE = {
    kind.media_type.partition(";")[0]: name
    for name, kind in reversed(FORMATS.items())
    if kind.media_type.partition(";")[0] != "text/html"  # browsers name it, and want the default
}
"""The format of each media type, the first where several have one."""

ROUTES = {
    "datasets": "/api/v1/datasets",
    "dataset": "/api/v1/datasets/{dataset}",
    "check": "/api/v1/datasets/{dataset}/check",
    "ledger": "/api/v1/datasets/{dataset}/ledger",
    "table": TABLE,
    "post_table": TABLE,
    "table_meta": f"{TABLE}/meta",
    "table_structure": f"{TABLE}/structure",
    "me": "/api/v1/me",
    "config": "/api/v1/config",
    "healthz": "/healthz",
    "readyz": "/readyz",
}
"""The path of each handler."""


class Noted(Route):
    """A route that the log knows by its path, as it does FastAPI's."""

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Return whether a request is for it, and what is then known."""
        match, found = super().matches(scope)
        return match, {**found, "route": self}


class Direct(Noted):
    """A route that is answered without any layer in between; what its handler raises is told."""

    def __init__(self, path: str, answer: Handler) -> None:
        super().__init__(path, answer, methods=["GET"])
        self._answer = answer

    def takes(self, scope: Scope, path: str) -> bool:
        """Whether a request is for it; if so, what the path says is then in its scope."""
        found = self.path_regex.match(path) if scope["method"] == "GET" else None
        if found is not None:
            scope["path_params"], scope["route"] = found.groupdict(), self
        return found is not None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        response = await self._answer(Request(scope, receive, send))
        await response(scope, receive, send)


def add_noted(app: FastAPI, path: str, handler: Handler, method: str = "GET") -> None:
    """Add a route that the OpenAPI document does not show."""
    app.router.routes.append(Noted(path, handler, methods=[method], include_in_schema=False))


def add(app: FastAPI, service: Service, live: Live, people: People) -> Api:
    """Add the routes to an application, and return what answers on them."""
    api = Api(service, live, people)

    # The front goes this way without asking the others: what they do for a route takes longer than
    # answering from what is kept.
    app.state.direct = Direct(TABLE, api.table)
    for name, path in ROUTES.items():
        app.add_api_route(
            path,
            getattr(api, name),
            methods=["POST" if name == "post_table" else "GET"],
            operation_id=name,
            response_class=Response,
            **openapi.OF[name],
        )
    return api


@dataclass
class Api:
    """What is answered on each route."""

    service: Service
    live: Live
    people: People

    @property
    def settings(self) -> Settings:
        """The settings that hold now."""
        return self.live.settings

    async def datasets(self, request: Request) -> Response:
        """List the data sets."""
        _asked(request, models.Nothing)
        self._opened()
        return as_json(models.DataSets.model_validate({"datasets": self.service.datasets()}))

    async def dataset(self, request: Request) -> Response:
        """Describe a data set: variables, levels and categories, and what may be asked."""
        _asked(request, models.Nothing)
        opened = self.service.opened(_name(request), known(request))
        tell_tier(request, opened)
        return file_of(request, await self.service.description(opened))

    async def check(self, request: Request) -> Response:
        """Say how many cells a question has and whether it may be asked. Nothing is counted."""
        given = _asked(request, models.Typed)
        asked = self.ask(request, given)
        left = await self._left(request, asked.opened)
        return as_json(models.Checked(**self.service.check(asked), left=left))

    async def ledger(self, request: Request) -> Response:
        """Say whether a table is released, would be added up or new, or is used up."""
        given = _asked(request, models.Typed)
        asked = self.ask(request, given)
        left = await self._left(request, asked.opened)
        return as_json(models.LedgerAnswer(**self.service.ledger(asked), left=left))

    async def table(self, request: Request) -> Response:
        """Answer a question with a protected table."""
        given = _accepted(request, _asked(request, models.TypedTable))
        typed = (_name(request), given.by, given.where, given.totals, given.format)
        # What is kept by how it was typed is the public's.
        held = None if known(request) else self.service.at_hand(*typed)
        if held is None or (takes_gzip(request) and held.compressed is None and held.long):
            return await self._table(request, given, typed)
        request.state.cache = "hit"
        return file_of(request, held)

    async def post_table(self, request: Request) -> Response:
        """Answer a question that is too long for an address."""
        _asked(request, models.Nothing)
        refuse_session(request)
        return await self._table(request, read_body(await self.body(request)), claim=True)

    async def _table(
        self,
        request: Request,
        given: models.TypedTable | models.Posted,
        typed: tuple[str, ...] | None = None,
        claim: bool | None = None,
    ) -> Response:
        asked = self.ask(request, given)
        key = self.service.file_key(asked, given.format)
        if holds(request, key.hex()):
            # Only who was given the answer can know its name: it need not be made again.
            request.state.cache = "hit"
            return unchanged(request, key.hex(), asked.public)
        request.state.cache = "hit" if self.service.holds(asked, key) else "miss"
        claim = claims(request, asked) if claim is None else claim
        zipped = takes_gzip(request)
        file: File = await self.service.file(asked, given.format, claim, zipped)
        if typed is not None and known(request) is None:
            self.service.remember(key, *typed)
        return file_of(request, file)

    async def table_meta(self, request: Request) -> Response:
        """Return what belongs beside a file: question, notes, quality, columns and signature."""
        return await self._beside(request, META, _asked(request, models.TypedMeta))

    async def table_structure(self, request: Request) -> Response:
        """Return the SDMX structure of a table."""
        return await self._beside(request, STRUCTURE, _asked(request, models.TypedStructure))

    async def _beside(
        self, request: Request, ending: str, given: models.TypedMeta | models.TypedStructure
    ) -> Response:
        asked = self.ask(request, given)
        request.state.cache = "hit" if self.service.holds(asked) else "miss"
        file = await self.service.beside(asked, given.format, ending, claims(request, asked))
        return file_of(request, file)

    async def config(self, request: Request) -> Response:
        """Return the limits and the formats."""
        _asked(request, models.Nothing)
        found, settings = self.service.config(), self.settings
        limits = {
            **found["limits"],
            "requests_per_minute": settings.rate,
            "burst": settings.burst,
            "query_bytes": settings.max_query,
            "body_bytes": settings.max_body,
        }
        return as_json(models.Config(**{**found, "limits": limits}))

    async def me(self, request: Request) -> Response:
        """Say who asks, in which tier of each data set, and what they have left."""
        _asked(request, models.Nothing)
        who = getattr(request.state, "who", None)
        tiers = []
        for opened in self.seen(request):
            tiers.append(models.Licensed(dataset=opened.id, tier=opened.tier.id))
        return as_json(
            models.Me(
                name=None if who is None else who.person.name,
                role="public" if who is None else who.person.role.value,
                project=None if who is None or who.project is None else who.project.id,
                datasets=tiers,
                left=None if who is None else await self._left_to(who),
            )
        )

    def seen(self, request: Request) -> list[Opened]:
        """Return the data sets as whoever asks sees them; what a key is not for is left out."""
        found = []
        for name in self.service.catalogue.datasets:
            with suppress(Forbidden):
                found.append(self.service.opened(name, known(request)))
        return found

    async def _left(self, request: Request, opened: Opened) -> models.Left | None:
        """Return what whoever asks has left; the public's is not counted by person."""
        return None if opened.public else await self._left_to(request.state.who)

    async def _left_to(self, who: Who) -> models.Left:
        found = await asyncio.to_thread(self.people.uses.left, who)
        mine, ours = found["person"], found.get("project")
        return models.Left(
            person=mine.left,
            of_person=mine.quota,
            project=None if ours is None else ours.left,
            of_project=None if ours is None else ours.quota,
        )

    async def healthz(self) -> Response:
        """Say that the program runs."""
        return as_json(models.Status(status="alive"))

    async def readyz(self) -> Response:
        """Say whether every store is open and warm, and at its current version."""
        if self.live.draining:
            wait = {"Retry-After": "1"}
            raise Failure(503, "STOPPING", "The server is stopping.", headers=wait)
        self._opened()
        return as_json(models.Status(**self.service.catalogue.health()))

    def ask(self, request: Request, given: models.Typed | models.Posted) -> Asked:
        """Return the question of a request, asked in the tier of whoever sent it."""
        asked = self.service.ask(_name(request), *_question(given), who=known(request))
        tell_tier(request, asked.opened)
        return asked

    def _opened(self) -> None:
        if not self.service.ready:
            raise Starting("The server is starting.")

    async def body(self, request: Request) -> bytes:
        """Return the body of a request, or refuse one that is too long."""
        most = self.settings.max_body
        parts, size = [], 0
        async for part in request.stream():
            size += len(part)
            if size > most:
                raise Failure(413, "BODY_TOO_LARGE", f"The body may have at most {most:,} bytes.")
            parts.append(part)
        return b"".join(parts)


def claims(request: Request, asked: Asked) -> bool:
    """Whether a request by address may release a table: not one that wants none, or not yet."""
    ahead = request.headers.get("sec-purpose", request.headers.get("purpose", ""))
    quiet = getattr(request.state, "quiet", False) or "prefetch" in ahead
    who = getattr(request.state, "who", None)
    quiet = quiet or (who is not None and who.by_session)  # a link of anybody's uses nothing up
    return asked.claims and not quiet


def refuse_session(request: Request) -> None:
    """Refuse a body of a browser, which sends its cookie whoever wrote the form; pages have tokens.

    Programs say who they are by a key.
    """
    who = getattr(request.state, "who", None)
    if who is not None and who.by_session:
        raise Failure(403, "KEY_NEEDED", "Programs say who they are by a key.")


def known(request: Request) -> Known | None:
    """Return who sent a request, if that is known."""
    return getattr(request.state, "known", None)


def tell_tier(request: Request, opened: Opened) -> None:
    """Have the answer say in which tier it was asked for."""
    request.state.tier = opened.tier.id


def _accepted(request: Request, given: models.TypedTable) -> models.TypedTable:
    """Return what is asked for, in the format that `Accept` names where the address names none."""
    if "format" in given.model_fields_set:
        return given
    for part in request.headers.get("accept", "").split(","):
        name = _BY_TYPE.get(part.partition(";")[0].strip().lower())
        if name is not None:
            return given.model_copy(update={"format": name})
    return given


def _name(request: Request) -> str:
    found: str = request.path_params["dataset"]
    return found


def _asked(request: Request, model: type[Model]) -> Model:
    """Return what the query string says."""
    return read_query(request.scope["query_string"], model)


def _question(given: models.Typed | models.Posted) -> tuple[Any, Any, str]:
    return given.by, given.where or None, given.totals
