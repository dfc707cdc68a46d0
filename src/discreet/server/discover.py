"""What portals and search engines read: a JSON-stat collection, and the data sets in DCAT-AP."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import orjson
from fastapi import FastAPI, Request
from starlette.responses import Response

from discreet import __version__
from discreet.release.formats.csvw import description
from discreet.release.text import clean
from discreet.server import models
from discreet.server.answers import CSVW, file_of, plain_json
from discreet.server.levels import first_table
from discreet.server.parse import read_query
from discreet.server.routes import TABLE, Api, add_noted, claims
from discreet.service import FORMATS, File
from discreet.service.opened import Opened

CONTEXT = {
    "dcat": "http://www.w3.org/ns/dcat#",
    "dct": "http://purl.org/dc/terms/",
    "foaf": "http://xmlns.com/foaf/0.1/",
    "xsd": "http://www.w3.org/2001/XMLSchema#",
}


def add(app: FastAPI, api: Api) -> None:
    """Add the routes to an application."""
    found = Discover(api)
    for path, handler in (("collection", found.collection), ("catalogue", found.catalogue)):
        add_noted(app, f"/api/v1/{path}", handler)
    add_noted(app, f"{TABLE}/csvw", found.csvw)


@dataclass
class Discover:
    """What is answered on each route; no figure is in it."""

    api: Api

    async def collection(self, request: Request) -> Response:
        """Return the data sets as a JSON-stat collection of their first tables."""
        read_query(request.scope["query_string"], models.Nothing)
        base = _base(request)
        items = [
            {
                "class": "dataset",
                "href": _table(base, opened, "json-stat"),
                "label": clean(opened.schema.title),
                "updated": str(opened.version.manifest["created"]),
                "extension": {"discreet": {"description": f"{base}/api/v1/datasets/{opened.id}"}},
            }
            for opened in self._opened()
        ]
        label = "Data sets of this server"
        return plain_json(
            {"version": "2.0", "class": "collection", "label": label, "link": {"item": items}}
        )

    async def catalogue(self, request: Request) -> Response:
        """Return the data sets in DCAT-AP, as JSON-LD."""
        read_query(request.scope["query_string"], models.Nothing)
        base, agency = _base(request), self.api.settings.agency
        body = {
            "@context": CONTEXT,
            "@id": f"{base}/api/v1/catalogue",
            "@type": "dcat:Catalog",
            "dct:title": "Data sets of this server",
            "dct:description": "Any table of these data sets, protected against disclosure.",
            "dct:publisher": _agent(agency),
            "dcat:dataset": [_dataset(base, opened, agency) for opened in self._opened()],
            "dcat:service": {
                "@type": "dcat:DataService",
                "dct:title": "Discreet",
                "dcat:endpointURL": {"@id": f"{base}/api/v1"},
                "dcat:endpointDescription": {"@id": f"{base}/api/openapi.json"},
            },
        }
        headers = {"Cache-Control": "no-cache"}
        return Response(orjson.dumps(body), headers=headers, media_type="application/ld+json")

    async def csvw(self, request: Request) -> Response:
        """Return what the columns of the CSV file of a table are: CSV on the Web."""
        given = read_query(request.scope["query_string"], models.Typed)
        asked, service = self.api.ask(request, given), self.api.service
        release = await service.release(asked, claims(request, asked))
        body = description(release, asked.link("../table", "csv"))
        key = asked.opened.tag(asked.key.hex(), "csvw", __version__)
        name = f"{asked.stem}.csv-metadata.json"
        return file_of(request, File.of(body, CSVW, name, key, asked.public))

    def _opened(self) -> list[Opened]:
        return list(self.api.service.catalogue.datasets.values())


def _dataset(base: str, opened: Opened, agency: str) -> dict[str, Any]:
    schema = opened.schema
    date = {"@value": str(opened.version.manifest["created"]), "@type": "xsd:dateTime"}
    return {
        "@id": f"{base}/datasets/{opened.id}",
        "@type": "dcat:Dataset",
        "dct:identifier": opened.id,
        "dct:title": clean(schema.title),
        "dct:description": f"Tables of {clean(schema.unit)} by "
        + ", ".join(clean(v.label) for v in schema.variables),
        "dct:publisher": _agent(agency),
        "dct:modified": date,
        "dcat:keyword": [clean(v.label) for v in schema.variables],
        "dcat:landingPage": {"@id": f"{base}/datasets/{opened.id}"},
        "dcat:distribution": [
            {
                "@type": "dcat:Distribution",
                "dct:title": kind.label,
                "dcat:accessURL": {"@id": _table(base, opened, name)},
                "dcat:mediaType": kind.media_type.partition(";")[0],
            }
            for name, kind in FORMATS.items()
        ],
    }


def _agent(name: str) -> dict[str, str]:
    return {"@type": "foaf:Agent", "foaf:name": name}


def _table(base: str, opened: Opened, format: str) -> str:
    """Return the address of the small table that is shown first."""
    by = ",".join(level.id for level in first_table(opened))
    return f"{base}/api/v1/datasets/{opened.id}/table?by={by}&format={format}"


def _base(request: Request) -> str:
    return str(request.base_url).rstrip("/")
