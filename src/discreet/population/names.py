"""Ids of data sets, variables and levels: what they may be, and the one that is taken."""

from __future__ import annotations

import re

from discreet.errors import ParameterError

IDENTIFIER = re.compile(r"[a-z0-9_-]{1,64}")
GEOGRAPHY = "geography"
"""The id of the geography among the variables; its levels have ids of their own."""


def identifier(text: object, what: str) -> str:
    """Return the text if it can be an id; the error says what it was meant for."""
    if not isinstance(text, str) or not IDENTIFIER.fullmatch(text):
        raise ParameterError(
            f"{what} must be 1 to 64 lower-case letters, digits, '_' or '-'. Got {text!r}."
        )
    return text
