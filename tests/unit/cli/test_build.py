"""What Ctrl-C left is used only if somebody at a terminal says so; stages are told once."""

from __future__ import annotations

import io

import pytest

from discreet.cli import build
from discreet.cli.progress import shown


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("stdin", "taken"),
    [(io.StringIO("y\n"), False), (Terminal("y\n"), True), (Terminal("\n"), False)],
)
def test_offered(stdin: io.StringIO, taken: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    # Nobody answers for a pipe, and Enter alone is no.
    monkeypatch.setattr("sys.stdin", stdin)
    assert build._offered("A base.") is taken


def test_what_follows_a_colon_is_no_stage_of_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    with shown() as tell:
        tell("polishing: off by 3.1", 0, 2)
        tell("polishing: off by 2.2", 1, 2)
    assert capsys.readouterr().err == "Polishing …\n"
