"""Who may keep an answer."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from discreet.server.answers import _caching


@pytest.mark.parametrize(
    ("state", "public", "said"),
    [
        ({}, True, "public, no-cache"),
        ({}, False, "private, no-cache"),
        (
            {"key": "a key"},
            True,
            "private, no-cache",
        ),  # not for all
        ({"key": "a key"}, False, "private, no-cache"),
    ],
)
def test_only_what_is_for_everyone_may_be_kept_by_everyone(
    state: dict[str, str], public: bool, said: str
) -> None:
    request: Any = SimpleNamespace(state=SimpleNamespace(**state))
    assert _caching(request, public) == said
