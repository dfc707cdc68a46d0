"""The routes of SDMX REST: those of version 1 (SDMX 2.1) and of version 2 (SDMX 3.0)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import parse_qsl, unquote

from fastapi import FastAPI, Request
from starlette.responses import Response

from discreet import __version__
from discreet.errors import ParameterError, Starting, unknown
from discreet.server.answers import file_of
from discreet.server.errors import Failure
from discreet.server.parts import ask_part, part_of
from discreet.server.routes import Api, add_noted, claims, known, tell_tier
from discreet.server.sdmx import data, structures
from discreet.server.sdmx.key import picked
from discreet.server.sdmx.names import VERSION, Flow
from discreet.service import File

PREFIX = "/sdmx"
_ANY = ("", "all", "ALL", "*", "latest", "~", "+", "1.0+")
_STRUCTURE = "application/vnd.sdmx.structure+xml; version=2.1"
_XML = "application/vnd.sdmx.structurespecificdata+xml; version=2.1"
_CSV = "application/vnd.sdmx.data+csv; version=1.0.0"
_CSV2 = "application/vnd.sdmx.data+csv; version=2.0.0"
_HIERARCHIES = ("hierarchicalcodelist", "hierarchy")
_NO_TIME = ("startPeriod", "endPeriod", "firstNObservations", "lastNObservations")
_PARAMETERS = ("dimensionAtObservation", "detail", "references", "attributes", "measures", "mode",
               "includeHistory", "format")  # fmt: skip


def add(app: FastAPI, api: Api) -> None:
    """Add the routes to an application."""
    add_noted(app, PREFIX + "/{path:path}", Sdmx(api).answer)


@dataclass
class Sdmx:
    """What is answered; the first part of a path says what is asked for."""

    api: Api

    async def answer(self, request: Request) -> Response:
        """Return structures, data, or which codes there are."""
        kind, *rest = [unquote(part) for part in str(request.path_params["path"]).split("/")]
        given = _parameters(request)
        if kind == "structure":  # version 2
            kind, *rest = rest or [""]
        if kind == "data":
            return await self._data(request, rest, given)
        if kind in ("availableconstraint", "availability"):
            return await self._availability(request, rest)
        if kind in (*structures.KINDS, *_HIERARCHIES, "*"):
            return await self._structure(request, kind, rest, given)
        choices = ("data", "availableconstraint", *structures.KINDS, *_HIERARCHIES)
        raise Failure(404, "NOT_FOUND", str(unknown("resource", kind[:64], choices)))

    def _flows(self, request: Request, agency: str = "all") -> list[Flow]:
        """Return the dataflows of an agency, as whoever asks sees them."""
        ours = self.api.settings.agency
        if agency not in (*_ANY, ours, "SDMX"):
            raise Failure(404, "NOT_FOUND", str(unknown("agency", agency[:64], [ours])))
        found = self.api.seen(request)
        if not self.api.service.catalogue.datasets:
            raise Starting("The server is starting.")
        return [Flow(opened, ours) for opened in found]

    def _flow(self, request: Request, agency: str, name: str, version: str) -> Flow:
        flows = self._flows(request, agency)
        for flow in flows:
            if flow.id == name and version in (*_ANY, VERSION, f"{VERSION}.0"):
                tell_tier(request, flow.opened)
                return flow
        error = unknown("dataflow", f"{name}({version})"[:64], (flow.id for flow in flows))
        raise Failure(404, "NOT_FOUND", str(error))

    async def _structure(
        self, request: Request, kind: str, rest: list[str], given: dict[str, str]
    ) -> Response:
        agency, name, version, *_ = [*rest, *[""] * (3 - len(rest))]
        flows = self._flows(request, agency)
        if not flows:
            raise Failure(404, "NOT_FOUND", "There is no dataflow for this key.")
        more = given.get("references", "none") != "none"
        # What is kept is known by all data sets in it, and by the tier each is seen in.
        seen = [(flow.opened.version.id, flow.opened.tier.id) for flow in flows]
        of = f"{kind} {name} {more} {seen}"
        if version not in (*_ANY, VERSION, f"{VERSION}.0"):
            raise Failure(404, "NOT_FOUND", str(unknown("version", version[:64], [VERSION])))

        def write() -> bytes:
            if kind in _HIERARCHIES:
                return structures.hierarchies(self._of_hierarchy(flows, name))
            kinds = structures.KINDS[:4] if kind == "*" else (kind,)
            found = structures.message(flows, kinds, None if name in _ANY else name, more)
            if not found:
                raise Failure(404, "NOT_FOUND", f"There is no {kind} '{name[:64]}'.")
            return found

        return await self._made(request, flows[0], _STRUCTURE, of, write)

    def _of_hierarchy(self, flows: list[Flow], name: str) -> Flow:
        for flow in flows:
            if name in _ANY or name.startswith(f"HCL_{flow.id}_"):
                return flow
        raise Failure(404, "NOT_FOUND", f"There is no hierarchy '{name[:64]}'.")

    async def _availability(self, request: Request, rest: list[str]) -> Response:
        flow, _ = self._asked(request, rest)
        return await self._made(
            request, flow, _STRUCTURE, "availability", lambda: structures.availability(flow)
        )

    async def _made(
        self, request: Request, flow: Flow, kind: str, of: str, write: Callable[[], bytes]
    ) -> Response:
        """Return what is written of a data set, kept as everything is that takes time to write."""
        key = flow.opened.tag("sdmx", flow.agency, of, __version__)

        def made() -> File:
            return File.of(write(), kind, f"{flow.id}.xml", key, flow.opened.public).zipped

        return file_of(request, await self.api.service.made(flow.opened, key, made))

    def _asked(self, request: Request, rest: list[str]) -> tuple[Flow, str]:
        """Return the dataflow and the key of a path of either version."""
        if rest[:1] == ["dataflow"] and len(rest) > 2:
            agency, name, version, key, *_ = [*rest[1:], *[""] * 3]
            return self._flow(request, agency, name, version), key
        named, key, *_ = [*rest, "", ""]
        parts = named.split(",")
        if not 1 <= len(parts) <= 3 or not named:
            raise ParameterError("a dataflow must be named, like data/AGENCY,FLOW,1.0/key.")
        agency, name, version = {
            1: ("", parts[0], ""),
            2: (*parts, ""),
            3: tuple(parts),
        }[len(parts)]
        return self._flow(request, agency, name, version), key

    async def _data(self, request: Request, rest: list[str], given: dict[str, str]) -> Response:
        flow, key = self._asked(request, rest)
        kind = _wanted(request, given)
        wanted = picked(flow, key, given)
        service = self.api.service
        asked = ask_part(service, flow.opened.id, wanted, known(request))
        root = self.api.settings.root_path
        part = await part_of(service, asked, wanted, claims(request, asked), root)
        along = given.get("dimensionAtObservation", "")
        keys_only = given.get("detail") in ("serieskeysonly", "nodata")

        def write() -> bytes:
            if kind == _XML:
                return data.xml(flow, part, along, keys_only)
            return data.text(flow, part, kind == _CSV2)

        body = await service.light.run(lambda stop: write())
        codes = (code for _, chosen in wanted.values() for code in chosen)
        tag = flow.opened.tag(
            asked.key.hex(), flow.agency, kind, along, str(keys_only), __version__, *codes
        )
        name = f"{asked.stem}{'.xml' if kind == _XML else '.csv'}"
        return file_of(request, File.of(body, kind, name, tag, asked.public))


def _parameters(request: Request) -> dict[str, str]:
    """Return the parameters of an address, each once; what is about time is refused."""
    found: dict[str, str] = {}
    for name, value in parse_qsl(request.url.query, keep_blank_values=True):
        if name in _NO_TIME:
            raise ParameterError(f"'{name}' must be left out: figures have no time dimension.")
        if name not in _PARAMETERS and not name.startswith("c["):
            raise unknown("parameter", name[:64], (*_PARAMETERS, "c[DIMENSION]"))
        if name in found:
            raise ParameterError(f"'{name[:64]}' must be given once. It is given again.")
        found[name] = value
    return found


def _wanted(request: Request, given: dict[str, str]) -> str:
    """Return the media type that is asked for: XML unless it is CSV that is."""
    accept = given.get("format") or request.headers.get("accept", "")
    for part in accept.lower().replace(" ", "").split(","):
        if "csv" in part:
            return _CSV2 if "version=2" in part else _CSV
        if not part or part.startswith(("*/*", "application/*")) or "xml" in part:
            return _XML
    raise Failure(
        406, "NOT_ACCEPTABLE", f"Data are written as {_XML}, {_CSV} or {_CSV2}, and nothing else."
    )
