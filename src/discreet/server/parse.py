"""From the bytes of a request to a question, or all that is wrong with it at once."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, TypeVar
from urllib.parse import parse_qsl

import orjson
from pydantic import ValidationError

from discreet.errors import ParameterError, unknown
from discreet.server.models import Given, Posted

Model = TypeVar("Model", bound=Given)
_TIER = "a tier cannot be asked for: it follows from the account or the key."


def read_query(raw: bytes, model: type[Model]) -> Model:
    """Return what a query string says; a name given twice is an error."""
    found: dict[str, str] = {}
    try:
        pairs = parse_qsl(raw.decode("ascii"), keep_blank_values=True, errors="strict")
    except ValueError:
        raise ParameterError("the query string must be percent-encoded UTF-8.") from None
    for name, value in pairs:
        if name in found:
            raise ParameterError(f"'{name[:64]}' must be given once. It is given again.")
        found[name] = value
    return checked(model, found)


def read_body(raw: bytes) -> Posted:
    """Return the question in a body."""
    return checked(Posted, read_object(raw, "'by', and perhaps 'where'"))


def read_object(raw: bytes, what: str = "a selection") -> dict[str, Any]:
    """Return the object in a body, in which no name is given twice; `what` says what is in it."""
    try:
        given = orjson.loads(raw)
    except orjson.JSONDecodeError:
        raise ParameterError("the body must be JSON.") from None
    if not isinstance(given, dict):
        raise ParameterError(f"the body must be an object with {what}.")
    try:
        json.loads(raw, object_pairs_hook=_once)  # orjson takes the last of two
    except RecursionError:
        raise ParameterError("the body must be JSON.") from None
    return given


def _once(pairs: list[tuple[str, Any]]) -> None:
    """Refuse a name that is given twice: two programs could read two different questions."""
    seen: set[str] = set()
    for name, _ in pairs:
        if name in seen:
            raise ParameterError(f"'{name[:64]}' must be given once. It is given again.")
        seen.add(name)


def checked(model: type[Model], given: Mapping[str, Any]) -> Model:
    """Return values as the model has them, or one error with all that is wrong."""
    try:
        return model.model_validate(given)
    except ValidationError as error:
        told = dict.fromkeys(_told(error, model))  # a list may have many wrong parts
        raise ParameterError(" ".join(told)) from None


def _told(error: ValidationError, model: type[Given]) -> Iterator[str]:
    for one in error.errors(include_url=False):
        name = str(one["loc"][0])
        if one["type"] == "extra_forbidden":
            text = _TIER if name == "tier" else str(unknown("parameter", name, model.model_fields))
        elif one["type"] == "value_error":
            text = str(one["ctx"]["error"])
        else:
            text = model.MUST[name]
        yield f"{text[:1].upper()}{text[1:].removesuffix('.')}."
