"""Strict reading of JSON: one object, no name twice, no number that is none."""

from __future__ import annotations

import json
from typing import Any

from discreet.errors import ParameterError


def parsed(text: str | bytes, where: str) -> dict[str, Any]:
    """Return the object in a JSON text, or complain that `where` holds none.

    Programs disagree on which of two equal names counts, so a text with one is refused; so are
    NaN and Infinity, which JSON does not have, and nesting that no file of ours has.
    """
    try:
        value = json.loads(text, object_pairs_hook=_once, parse_constant=_none)
    except RecursionError:
        raise ParameterError(f"{where} must not be nested so deeply.") from None
    except ParameterError as error:
        raise ParameterError(f"{where} must be proper JSON. {error}") from None
    except ValueError:
        value = None
    if not isinstance(value, dict):
        raise ParameterError(f"{where} must be a JSON object.")
    return value


def canonical(value: Any) -> bytes:
    """Return a value as JSON in one form: equal values, and only they, give equal bytes."""
    text = json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return text.encode("utf-8", "surrogatepass")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        seen: set[str] = set()
        for twice, _ in pairs:
            if twice in seen:
                break
            seen.add(twice)
        raise ParameterError(f"The name '{twice:.40}' is there twice.")
    return found


def _none(word: str) -> Any:
    raise ParameterError(f"{word} is no number.")
