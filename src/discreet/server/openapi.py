"""What the contract says of each route, with examples; `schemathesis` holds the server to it."""

from __future__ import annotations

from typing import Any

from discreet.release.formats import with_beside
from discreet.release.formats.sdmx import STRUCTURE
from discreet.release.formats.tidy import META
from discreet.service import FORMATS

Schema = dict[str, Any]

_TEXT: Schema = {"type": "string"}
_MAYBE_TEXT: Schema = {"type": ["string", "null"]}


def _object(required: dict[str, Schema], optional: dict[str, Schema] | None = None) -> Schema:
    return {
        "type": "object",
        "properties": {**required, **(optional or {})},
        "required": list(required),
    }


_HINT = _object({"text": _TEXT, "by": _TEXT, "where": _TEXT})
_ERROR = _object(
    {
        "error": _object(
            {"code": _TEXT, "message": _TEXT, "hint": _MAYBE_TEXT, "id": _TEXT},
            {"hints": {"type": "array", "items": _HINT}},
        )
    }
)
_DATASET: dict[str, Schema] = {
    "id": _TEXT,
    "title": _TEXT,
    "unit": _TEXT,
    "data_version": _TEXT,
    "data_date": _TEXT,
    "policy_version": _TEXT,
}
_CATEGORY = _object({"code": _TEXT, "label": _TEXT})
_LEVEL = _object(
    {
        "id": _TEXT,
        "label": _TEXT,
        "available": {"type": "boolean"},
        "categories": {"type": "array", "items": _CATEGORY},
    }
)
_VARIABLE = _object(
    {
        "id": _TEXT,
        "label": _TEXT,
        "definition": _TEXT,
        "geography": {"type": "boolean"},
        "levels": {"type": "array", "items": _LEVEL},
    }
)
_CHECKED = _object(
    {
        "allowed": {"type": "boolean"},
        "cells": {"type": "integer", "minimum": 1},
        "question": _TEXT,
        "totals": _TEXT,
        "code": _MAYBE_TEXT,
        "message": _MAYBE_TEXT,
    }
)
_STATUS = _object({"status": _TEXT})


def _error(code: str, message: str, hint: str | None = None, **more: Any) -> Schema:
    told = {"code": code, "message": message, "hint": hint, "id": "75f43675f71ec584", **more}
    return {"error": told}


def _failure(description: str, example: Schema, *headers: str) -> Schema:
    return {
        "description": description,
        "headers": {
            name: {"description": "Seconds to wait.", "schema": {"type": "integer"}}
            for name in headers
        },
        "content": {"application/json": {"schema": _ERROR, "example": example}},
    }


def _success(description: str, schema: Schema, example: Any) -> Schema:
    content = {"application/json": {"schema": schema, "example": example}}
    return {"description": description, "content": content}


_BAD = _failure(
    "Malformed, or a name that is not known; the message lists the choices.",
    _error(
        "BAD_REQUEST",
        "No variable 'agee'; did you mean 'age'? Choices: sex, age, age_band",
        "See /api/openapi.json.",
    ),
)
_KEY = _failure(
    "The key is not known here.",
    _error("UNKNOWN_KEY", "The key in X-API-Key is not known here."),
)
_REFUSED = _failure(
    "A disclosure rule refuses the question; `hints` are questions that would be answered.",
    _error(
        "SPARSE",
        "Too many of the figures would be very small.",
        "Use a larger area: Ward instead of Output area.",
        hints=[
            {
                "text": "Use a larger area: Ward instead of Output area",
                "by": "ward,religion",
                "where": "",
            }
        ],
    ),
)
_MISSING = _failure(
    "There is no such data set.",
    _error(
        "UNKNOWN_DATASET", "No data set 'x'; Choices: census", "GET /api/v1/datasets lists them."
    ),
)
_LARGE = _failure(
    "The table would have too many cells, or the body too many bytes.",
    _error(
        "MAX_CELLS",
        "A table may have at most 100,000 cells. This one has 1,204,000.",
        "Use fewer variables or categories, or keep some of them by a filter.",
    ),
)
_LONG = _failure(
    "The query string is too long.",
    _error(
        "QUERY_TOO_LONG",
        "The query string may have at most 8,192 bytes.",
        "POST the question instead.",
    ),
)
_OFTEN = _failure(
    "Too many requests from this address, or with this key.",
    _error(
        "TOO_MANY_REQUESTS",
        "Too many requests came from this address or with this key.",
        "Ask again in 2 seconds.",
    ),
    "Retry-After",
)
_INTERNAL = _failure(
    "Our mistake; the id finds it in our log.",
    _error("INTERNAL", "Something went wrong here.", "Tell us the id of this error."),
)
_BUSY = _failure(
    "Starting, too busy, or the question took too long.",
    _error("BUSY", "The server is busy.", "Ask again in a moment."),
    "Retry-After",
)
_ALL = {400: _BAD, 401: _KEY, 414: _LONG, 429: _OFTEN, 500: _INTERNAL, 503: _BUSY}
_UNCHANGED: Schema = {"description": "The answer whose ETag was sent is still the answer."}

_PATH = {
    "name": "dataset",
    "in": "path",
    "required": True,
    "description": "The id of the data set.",
    "schema": {"type": "string", "pattern": "^[a-z0-9_-]{1,64}$"},
    "example": "census",
}
_BY = {
    "name": "by",
    "in": "query",
    "required": True,
    "description": "Variables or levels, `name` or `name@level`, comma-separated.",
    "schema": {"type": "string", "minLength": 1},
    "examples": {
        "two": {"summary": "Sex by age band", "value": "sex,age_band"},
        "level": {"summary": "A level of a variable", "value": "age@age_band,tenure"},
    },
}
_WHERE = {
    "name": "where",
    "in": "query",
    "description": "Who is counted: `name=code` or `name=code|code`, comma-separated; inside a "
    "code `, = | @ %` are percent-encoded (and once more in an address).",
    "schema": {"type": "string"},
    "examples": {
        "one": {"summary": "One region", "value": "region=1"},
        "more": {"summary": "Women in two age bands", "value": "sex=2,age_band=7|8"},
    },
}
_TOTALS_SCHEMA = {
    "type": "string",
    "enum": ["none", "protected", "summed"],
    "default": "none",
}
_TOTALS = {
    "name": "totals",
    "in": "query",
    "description": "Totals, as far as the policy allows; their code is `_T`.",
    "schema": _TOTALS_SCHEMA,
}
_FORMAT_SCHEMA = {"type": "string", "enum": list(FORMATS), "default": "json-stat"}
_FORMAT = {
    "name": "format",
    "in": "query",
    "description": "What the answer is written as.",
    "schema": _FORMAT_SCHEMA,
}
_HELD = {
    "name": "If-None-Match",
    "in": "header",
    "description": "ETags of answers that are held already.",
    "schema": {"type": "string"},
}


def _tables() -> Schema:
    kinds = sorted({kind.media_type.split(";")[0] for kind in FORMATS.values()})
    return {
        "description": "The table. The same question has the same answer and ETag until the data "
        "are published anew.",
        "headers": {
            "ETag": {"description": "The name of this answer.", "schema": {"type": "string"}},
            "Link": {
                "description": 'Where its notes and signature are (`rel="describedby"`), for '
                "formats that have no place for them.",
                "schema": {"type": "string"},
            },
        },
        "content": {kind: {"schema": {}} for kind in kinds},
    }


def _of_formats(ending: str, usual: str) -> Schema:
    """Return the parameter `format` of what is beside files of some formats."""
    schema = {"type": "string", "enum": with_beside(ending), "default": usual}
    return {**_FORMAT, "description": "Beside a file of which format.", "schema": schema}


_META_EXAMPLE = {
    "title": "Persons by sex",
    "population": "Synthetic census of 1,500,000 people",
    "unit": "persons",
    "filters": [],
    "notes": ["Figures are perturbed and need not add up; use the published total."],
    "quality": {"cells": 2, "altered": True},
    "availability": None,
    "withheld": [],
    "provenance": {"dataset": "census", "question": "by=sex", "totals": "none"},
    "format": "csv",
    "columns": {"dimensions": [{"id": "sex", "code": "sex"}], "value": "value"},
    "proof": None,
}
_META = _object(
    {
        "title": _TEXT,
        "population": _TEXT,
        "unit": _TEXT,
        "filters": {"type": "array", "items": {"type": "object"}},
        "notes": {"type": "array", "items": _TEXT},
        "quality": {"type": "object"},
        "availability": _MAYBE_TEXT,
        "withheld": {"type": "array", "items": _CATEGORY},
        "provenance": {"type": "object"},
        "format": _TEXT,
        "columns": {"type": "object"},
        "proof": {"type": ["object", "null"]},
    }
)

_BODY = {
    "required": True,
    "content": {
        "application/json": {
            "schema": {
                "type": "object",
                "properties": {
                    "by": {"type": "array", "items": _TEXT, "minItems": 1, "maxItems": 6},
                    "where": {
                        "type": "object",
                        "additionalProperties": {"type": "array", "items": _TEXT, "minItems": 1},
                    },
                    "totals": _TOTALS_SCHEMA,
                    "format": _FORMAT_SCHEMA,
                },
                "required": ["by"],
                "additionalProperties": False,
            },
            "example": {
                "by": ["sex", "age_band"],
                "where": {"region": ["1", "2"]},
                "format": "csv",
            },
        }
    },
}
_TABLE_FAILURES = {**_ALL, 403: _REFUSED, 404: _MISSING, 413: _LARGE}
_SUMMARY_EXAMPLE = {
    "id": "census",
    "title": "Synthetic census of 1,500,000 people",
    "unit": "persons",
    "data_version": "20260101T120000000000-0a1b2c",
    "data_date": "2026-01-01T12:00:00+00:00",
    "policy_version": "rounding-3/1",
}
_DATASET_EXAMPLE = {
    **_SUMMARY_EXAMPLE,
    "totals": ["none", "protected"],
    "limits": {"variables": 5, "cells": 100_000, "categories": 1_000, "not_filtered": []},
    "variables": [
        {
            "id": "sex",
            "label": "Sex",
            "definition": "",
            "geography": False,
            "levels": [
                {
                    "id": "sex",
                    "label": "Sex",
                    "available": True,
                    "categories": [
                        {"code": "1", "label": "Male"},
                        {"code": "2", "label": "Female"},
                    ],
                }
            ],
        }
    ],
}
_CHECK_EXAMPLE = {
    "allowed": True,
    "cells": 42,
    "question": "by=sex,age_band",
    "totals": "none",
    "code": None,
    "message": None,
}
_CONFIG_EXAMPLE = {
    "version": "0.1.0",
    "formats": ["json-stat", "csv"],
    "limits": {"seconds": 30, "max_cells": 1_000_000, "requests_per_minute": 300},
}


def _of(success: Schema, failures: dict[int, Schema], *parameters: Schema, **more: Any) -> Schema:
    return {
        "responses": {200: success, **failures},
        "openapi_extra": {"parameters": list(parameters), **more},
    }


OF: dict[str, dict[str, Any]] = {
    "datasets": _of(
        _success(
            "What there is.",
            _object({"datasets": {"type": "array", "items": _object(_DATASET)}}),
            {"datasets": [_SUMMARY_EXAMPLE]},
        ),
        _ALL,
    ),
    "dataset": _of(
        _success(
            "Variables, their levels, their categories, and what may be asked.",
            _object(
                {
                    **_DATASET,
                    "totals": {"type": "array", "items": _TEXT},
                    "limits": {"type": "object"},
                    "variables": {"type": "array", "items": _VARIABLE},
                }
            ),
            _DATASET_EXAMPLE,
        ),
        {**_ALL, 304: _UNCHANGED, 404: _MISSING},
        _PATH,
        _HELD,
    ),
    "check": _of(
        _success("Whether the question may be asked.", _CHECKED, _CHECK_EXAMPLE),
        {**_ALL, 404: _MISSING},
        _PATH,
        _BY,
        _WHERE,
        _TOTALS,
    ),
    "table": _of(
        _tables(),
        {**_TABLE_FAILURES, 304: _UNCHANGED},
        _PATH,
        _BY,
        _WHERE,
        _TOTALS,
        _FORMAT,
        _HELD,
    ),
    "table_meta": _of(
        _success(
            "Question, notes, quality, columns and signature: FILE.meta.json beside a file.",
            _META,
            _META_EXAMPLE,
        ),
        {**_TABLE_FAILURES, 304: _UNCHANGED},
        _PATH,
        _BY,
        _WHERE,
        _TOTALS,
        _of_formats(META, "csv"),
        _HELD,
    ),
    "table_structure": _of(
        {
            "description": "The SDMX 2.1 structure: FILE.structure.xml beside a file.",
            "content": {"application/xml": {"schema": {}}},
        },
        {**_TABLE_FAILURES, 304: _UNCHANGED},
        _PATH,
        _BY,
        _WHERE,
        _TOTALS,
        _of_formats(STRUCTURE, "sdmx-ml"),
        _HELD,
    ),
    "post_table": _of(
        _tables(), {**_TABLE_FAILURES, 304: _UNCHANGED}, _PATH, _HELD, requestBody=_BODY
    ),
    "config": _of(
        _success(
            "Limits and formats.",
            _object(
                {
                    "version": _TEXT,
                    "formats": {"type": "array", "items": _TEXT},
                    "limits": {"type": "object", "additionalProperties": {"type": "integer"}},
                }
            ),
            _CONFIG_EXAMPLE,
        ),
        _ALL,
    ),
    "healthz": _of(
        _success("The program runs.", _STATUS, {"status": "alive"}), {414: _LONG, 500: _INTERNAL}
    ),
    "readyz": _of(
        _success("Every store is open.", _STATUS, {"status": "ready"}),
        {414: _LONG, 500: _INTERNAL, 503: _BUSY},
    ),
}
