"""A short soak: half a minute of what `make soak` does for ten."""

from __future__ import annotations

from pathlib import Path

import pytest

from soaking import QUESTIONS, Soak

pytestmark = pytest.mark.slow


def test_nothing_but_right_answers_and_503(tmp_path: Path) -> None:
    seen = Soak(tmp_path, 20, users=8, kills=1).run()
    assert not seen.wrong
    assert not seen.failures, seen.statuses
    assert seen.kills == 1
    assert seen.builds >= 1
    assert seen.hangs >= 1
    assert len(seen.answers) > len(QUESTIONS) // 2
    assert sum(text.startswith("[403") for text in seen.answers.values()) <= 1
