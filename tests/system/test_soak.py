"""A short soak: half a minute of what `make soak` does for ten."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import pytest

from postgres import postgres
from soaking import QUESTIONS, Soak

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("database", ["sqlite", "postgresql"])
def test_nothing_but_right_answers_and_503(
    tmp_path: Path, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DISCREET_DATABASE_URL", "")  # put back afterwards
    with ExitStack() as stack:
        server = stack.enter_context(postgres()) if database == "postgresql" else None
        if server is None:
            monkeypatch.delenv("DISCREET_DATABASE_URL")
        seen = Soak(tmp_path, 20, users=8, kills=1, database=server).run()
    assert not seen.wrong
    assert not seen.failures, seen.statuses
    assert seen.kills == 1
    assert seen.builds >= 1
    assert seen.failed >= 1
    assert len(seen.answers) > len(QUESTIONS) // 2
    assert sum(text.startswith("[403") for text in seen.answers.values()) <= 1
