"""The routes of PxWebApi 2. Figures come from the service, as on every other route."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl

from fastapi import FastAPI, Request
from starlette.responses import Response

from discreet import __version__
from discreet.errors import ParameterError, unknown
from discreet.page.visit import root_of
from discreet.server.answers import file_of, plain_json
from discreet.server.errors import Failure
from discreet.server.levels import levels_of, variables_of
from discreet.server.parse import read_object
from discreet.server.parts import ask_part, part_of
from discreet.server.px import tables
from discreet.server.px.answer import json_stat
from discreet.server.px.selection import (
    Selected,
    codelist_id,
    read_address,
    read_posted,
    selected,
    together,
)
from discreet.server.routes import Api, add_noted, claims, known, refuse_session, tell_tier
from discreet.service import File
from discreet.service.opened import Opened

PREFIX = "/px/v2"
FORMATS = {"json-stat2": "", "csv": "csv", "px": "px", "xlsx": "xlsx", "html": "html",
           "parquet": "parquet"}  # fmt: skip
"""Formats by the name they have here, and ours; JSON-stat is written here."""


def add(app: FastAPI, api: Api) -> None:
    """Add the routes to an application."""
    px = Px(api)
    for path, handler in {
        "/config": px.config,
        "/tables": px.tables,
        "/tables/{dataset}": px.table,
        "/tables/{dataset}/metadata": px.metadata,
        "/tables/{dataset}/defaultselection": px.default_selection,
        "/tables/{dataset}/data": px.data,
        "/codelists/{codelist}": px.codelist,
    }.items():
        add_noted(app, PREFIX + path, handler)
    add_noted(app, PREFIX + "/tables/{dataset}/data", px.post_data, "POST")


@dataclass
class Px:
    """What is answered on each route."""

    api: Api

    async def config(self, request: Request) -> Response:
        """Return the limits; a client splits what is larger into batches."""
        _plain(request, "lang")
        service, settings = self.api.service, self.api.settings
        cells = [one.tier.question.max_cells for one in self.api.seen(request)]
        return plain_json(
            {
                "apiVersion": tables.VERSION,
                "appVersion": __version__,
                "languages": [{"id": tables.LANGUAGE, "label": "English"}],
                "defaultLanguage": tables.LANGUAGE,
                "maxDataCells": min([service.limits.max_cells, *cells]),
                "maxCallsPerTimeWindow": settings.rate,
                "timeWindow": 60,
                "license": "",
                "sourceReferences": [],
                "defaultDataFormat": "json-stat2",
                "dataFormats": list(FORMATS),
                "features": [{"id": "CORS", "params": [{"key": "enabled", "value": "True"}]}],
            }
        )

    async def tables(self, request: Request) -> Response:
        """List the tables, or those that a search finds."""
        names = ("lang", "query", "pastDays", "includeDiscontinued", "pageNumber", "pageSize")
        given = _plain(request, *names)
        found = self.api.seen(request)
        return plain_json(tables.listed(found, given, _base(request)))

    async def table(self, request: Request) -> Response:
        """Return a table in brief."""
        _plain(request, "lang")
        return plain_json(tables.summary(self._opened(request), _base(request)))

    async def metadata(self, request: Request) -> Response:
        """Return the variables of a table, their values and code lists."""
        _plain(request, "lang", "defaultSelection")
        return plain_json(tables.metadata(self._opened(request), _base(request)))

    async def default_selection(self, request: Request) -> Response:
        """Return what is answered where nothing is selected."""
        _plain(request, "lang")
        opened = self._opened(request)
        return plain_json(tables.default_selection(opened, selected(opened, [])))

    async def codelist(self, request: Request) -> Response:
        """Return a level as a code list."""
        _plain(request, "lang")
        dataset, _, name = str(request.path_params["codelist"]).partition(".")
        opened = self._seen(request, dataset)
        found = {lv.id: (v, lv) for v in variables_of(opened) for lv in levels_of(opened, v)}
        if name not in found:
            choices = (codelist_id(opened, level) for _, level in found.values())
            error = unknown("code list", f"{dataset}.{name}"[:64], choices)
            raise Failure(404, "NOT_FOUND", str(error))
        return plain_json(tables.codelist(opened, *found[name], _base(request)))

    async def data(self, request: Request) -> Response:
        """Return the figures that an address selects."""
        plain, chosen = read_address(request.scope["query_string"])
        return await self._figures(request, plain, chosen, None)

    async def post_data(self, request: Request) -> Response:
        """Return the figures that a body selects."""
        refuse_session(request)
        plain, chosen = read_address(request.scope["query_string"])
        posted = read_posted(read_object(await self.api.body(request)))
        return await self._figures(request, plain, together(chosen, posted), True)

    async def _figures(
        self,
        request: Request,
        plain: Mapping[str, str],
        chosen: list[dict[str, Any]],
        claim: bool | None,
    ) -> Response:
        _language(plain)
        opened, kind = self._opened(request), plain.get("outputFormat", "json-stat2")
        if kind not in FORMATS:
            raise unknown("format", kind[:64], FORMATS)
        wanted = selected(opened, chosen)
        picked = {one.variable.id: (one.level, one.codes) for one in wanted}
        service = self.api.service
        asked = ask_part(service, opened.id, picked, known(request))
        claim = claims(request, asked) if claim is None else claim
        if FORMATS[kind]:
            _written_whole(wanted, asked.question.filters)
            return file_of(request, await service.file(asked, FORMATS[kind], claim))
        part = await part_of(service, asked, picked, claim, self.api.settings.root_path)
        key = opened.tag(asked.key.hex(), "px", *(code for one in wanted for code in one.codes))
        body = await service.light.run(lambda stop: json_stat(part))
        name = f"{asked.stem}.json"
        return file_of(request, File.of(body, "application/json", name, key, asked.public))

    def _opened(self, request: Request) -> Opened:
        return self._seen(request, str(request.path_params["dataset"]))

    def _seen(self, request: Request, dataset: str) -> Opened:
        """Return a data set as whoever asks sees it."""
        opened = self.api.service.opened(dataset, known(request))
        tell_tier(request, opened)
        return opened


def _written_whole(wanted: tuple[Selected, ...], filters: tuple[Any, ...]) -> None:
    """Refuse what only JSON-stat can have: a part of a variable that no filter may name."""
    limited = {f.variable.id for f in filters}
    for one in wanted:
        if not one.whole and one.variable.id not in limited:
            raise ParameterError(
                f"outputFormat must be json-stat2 for some categories of '{one.variable.id}'."
            )


def _plain(request: Request, *names: str) -> dict[str, str]:
    """Return the parameters of an address, each of these names at most once."""
    found: dict[str, str] = {}
    for name, value in parse_qsl(request.url.query, keep_blank_values=True):
        if name not in names:
            raise unknown("parameter", name[:64], names)
        if name in found:
            raise ParameterError(f"'{name}' must be given once. It is given again.")
        found[name] = value
    _language(found)
    return found


def _language(given: Mapping[str, str]) -> None:
    if given.get("lang", tables.LANGUAGE) != tables.LANGUAGE:
        raise unknown("language", given["lang"][:64], [tables.LANGUAGE])


def _base(request: Request) -> str:
    return root_of(request.scope) + PREFIX
