"""`discreet policy`: of a file, a preset, or a store."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from discreet.cli import main
from stores import build_town


def _run(monkeypatch: pytest.MonkeyPatch, *given: str) -> int:
    monkeypatch.setattr(sys, "argv", ["discreet", "policy", *given])
    with pytest.raises(SystemExit) as stopped:
        main()
    return int(stopped.value.code or 0)


def test_the_policy_of_a_store_is_explained_and_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    store = build_town(tmp_path, tmp_path / "store", rows=200)
    assert _run(monkeypatch, "explain", "preset:cell-keys") == 0
    of_preset = capsys.readouterr().out
    assert _run(monkeypatch, "explain", str(store)) == 0
    said = capsys.readouterr().out
    assert "Public (public):" in said
    assert said != of_preset
    assert _run(monkeypatch, "check", str(store)) == 0
    assert f"{store} is a policy: version " in capsys.readouterr().out


def test_a_folder_that_is_no_store_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _run(monkeypatch, "explain", str(tmp_path)) == 2
    assert "is not a store" in capsys.readouterr().err
