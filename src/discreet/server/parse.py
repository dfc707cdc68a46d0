"""From the bytes of a request to the parts of a question, each of the type it must have."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qsl

import orjson

from discreet.errors import ParameterError, unknown

ASKED = ("by", "where", "totals")


def typed(raw: bytes, *names: str) -> dict[str, str]:
    """Return the values of a query string; a name not among `names` or given twice is an error."""
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


def posted(body: bytes) -> dict[str, Any]:
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
        if name not in (*ASKED, "format"):
            raise unknown("parameter", name[:64], (*ASKED, "format"))
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
