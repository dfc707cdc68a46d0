"""What the contract says of each route, made from the models; `schemathesis` holds us to it."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

from discreet.server import models
from discreet.service import FORMATS

Schema = dict[str, Any]


_SUGGESTED = models.Suggested(
    text="Use a larger area: Ward instead of Output area", by="ward,religion", where=""
)
_TOLD: dict[int, tuple[str, str, str, str | None]] = {
    400: (
        "Malformed, or a name that is not known; the message lists the choices.",
        "BAD_REQUEST",
        "No variable 'agee'; did you mean 'age'? Choices: sex, age, age_band",
        "See /api/openapi.json.",
    ),
    401: (
        "The key is not known here.",
        "UNKNOWN_KEY",
        "The key in Authorization is not known here.",
        None,
    ),
    403: (
        "A disclosure rule refuses the question; `hints` are coarser questions to try.",
        "NOT_AVAILABLE",
        "Not available. This table could tell too much about too few people.",
        f"{_SUGGESTED.text}.",
    ),
    404: (
        "There is no such data set.",
        "UNKNOWN_DATASET",
        "No data set 'x'; Choices: census",
        "GET /api/v1/datasets lists them.",
    ),
    408: (
        "The body did not arrive in time.",
        "REQUEST_TIMEOUT",
        "The body must arrive within 20 seconds.",
        None,
    ),
    413: (
        "The table would have too many cells, or the body too many bytes.",
        "MAX_CELLS",
        "A table may have at most 100,000 cells. This one has 1,204,000.",
        "Use fewer variables or categories, or keep some of them by a filter.",
    ),
    414: (
        "The query string is too long.",
        "QUERY_TOO_LONG",
        "The query string may have at most 8,192 bytes.",
        "POST the question instead.",
    ),
    429: (
        "Too many requests from this address, or with this key.",
        "TOO_MANY_REQUESTS",
        "Too many requests came from this address or with this key.",
        "Ask again in 2 seconds.",
    ),
    431: (
        "There are too many bytes before the body.",
        "HEADERS_TOO_LARGE",
        "What comes before the body may have at most 32,768 bytes.",
        None,
    ),
    500: (
        "Our mistake; the id finds it in our log.",
        "INTERNAL",
        "Something went wrong here.",
        "Tell us the id of this error.",
    ),
    503: (
        "Starting, too busy, the question took too long, or the data cannot be read.",
        "BUSY",
        "The server is busy.",
        "Ask again in a moment.",
    ),
}
"""Of each failure what it means, and an example: code, message, hint."""


def _failure(status: int) -> Schema:
    if status == 304:
        return {"description": "The answer whose ETag was sent is still the answer."}
    description, code, message, hint = _TOLD[status]
    more: Schema = {"hints": [_SUGGESTED]} if status == 403 else {}
    told = models.Told(code=code, message=message, hint=hint, id="75f43675f71ec584", **more)
    example = models.Failed(error=told).model_dump(exclude_unset=True)
    wait = {"Retry-After": {"description": "Seconds to wait.", "schema": {"type": "integer"}}}
    return {
        "model": models.Failed,
        "description": description,
        "headers": wait if status in (429, 503) else {},
        "content": {"application/json": {"example": example}},
    }


_ALL = (400, 401, 414, 429, 431, 500, 503)
_TABLE = (*_ALL, 403, 404, 413, 304)

_PATH = {
    "name": "dataset",
    "in": "path",
    "required": True,
    "description": "The id of the data set.",
    "schema": {"type": "string", "pattern": "^[a-z0-9_-]{1,64}$"},
    "example": "census",
}
_HELD = {
    "name": "If-None-Match",
    "in": "header",
    "description": "ETags of answers that are held already.",
    "schema": {"type": "string"},
}


def _json(model: type[BaseModel], description: str) -> Schema:
    return {"model": model, "description": description}


def _table() -> Schema:
    text = {"type": "string"}
    return {
        "description": "The table. The same question has the same answer and ETag until the data "
        "are published anew.",
        "headers": {
            "ETag": {"description": "The name of this answer.", "schema": text},
            "Link": {
                "description": 'Where its notes and signature are (`rel="describedby"`), for '
                "formats that have no place for them.",
                "schema": text,
            },
        },
        "content": {
            kind: {"schema": {}}
            for kind in sorted({one.media_type.split(";")[0] for one in FORMATS.values()})
        },
    }


def _typed(model: type[models.Given]) -> list[Schema]:
    """Return the parameters of an address, as the model that checks them has them."""
    schema = model.model_json_schema()
    found = []
    for name, said in schema.get("properties", {}).items():
        parameter = {"name": name, "in": "query", "required": name in schema.get("required", ())}
        if examples := said.pop("examples", None):
            parameter["examples"] = {one: {"value": one} for one in examples}
        said.pop("title", None)
        found.append({**parameter, "description": said.pop("description"), "schema": said})
    return found


def _of(
    success: Schema,
    failures: tuple[int, ...],
    asked: type[models.Given] = models.Nothing,
    *parameters: Schema,
    **more: Any,
) -> dict[str, Any]:
    return {
        "responses": {200: success, **{status: _failure(status) for status in failures}},
        "openapi_extra": {"parameters": [*parameters, *_typed(asked)], **more},
    }


_STRUCTURE = {
    "description": "The SDMX 2.1 structure: FILE.structure.xml beside a file.",
    "content": {"application/xml": {"schema": {}}},
}
_BODY = {
    "required": True,
    "content": {"application/json": {"schema": models.Posted.model_json_schema()}},
}
OF: dict[str, dict[str, Any]] = {
    "datasets": _of(_json(models.DataSets, "What there is."), _ALL),
    "dataset": _of(
        _json(models.DataSet, "Variables, their levels, their categories, and what may be asked."),
        (*_ALL, 304, 403, 404),
        models.Nothing,
        _PATH,
        _HELD,
    ),
    "check": _of(
        _json(models.Checked, "Whether the question may be asked."),
        (*_ALL, 403, 404),
        models.Typed,
        _PATH,
    ),
    "ledger": _of(
        _json(models.LedgerAnswer, "Where the figures would come from; nothing is counted."),
        (*_ALL, 403, 404, 413),
        models.Typed,
        _PATH,
    ),
    "table": _of(_table(), _TABLE, models.TypedTable, _PATH, _HELD),
    "table_meta": _of(
        _json(
            models.Meta,
            "Question, notes, quality, columns and signature: FILE.meta.json beside a file.",
        ),
        _TABLE,
        models.TypedMeta,
        _PATH,
        _HELD,
    ),
    "table_structure": _of(_STRUCTURE, _TABLE, models.TypedStructure, _PATH, _HELD),
    "post_table": _of(_table(), (*_TABLE, 408), models.Nothing, _PATH, _HELD, requestBody=_BODY),
    "me": _of(_json(models.Me, "Who asks, what they may use and have left."), _ALL),
    "config": _of(_json(models.Config, "Limits and formats."), _ALL),
    "healthz": _of(_json(models.Status, "The program runs."), (414, 431, 500)),
    "readyz": _of(
        _json(models.Status, "Every store is open; `degraded` if one is not at its new version."),
        (414, 431, 500, 503),
    ),
}
