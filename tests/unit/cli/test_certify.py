from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from attacked import build_census
from discreet.cli.program import app
from discreet.study import attacks
from discreet.study.attacks.reading import Reading


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_census(tmp_path_factory.mktemp("certified"))


def certify(store: Path, monkeypatch: pytest.MonkeyPatch, attack: Reading, out: Path) -> int:
    monkeypatch.setattr(attacks, "ATTACKS", (attack,))
    told = CliRunner().invoke(app, ["certify", str(store), "--seconds", "5", "--out", str(out)])
    return told.exit_code


def test_a_store_within_all_limits_is_certified(
    store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Of small counts 3 alone stays what it is under rounding to base 3: no more than all are right.
    assert certify(store, monkeypatch, Reading(margin=1.0), tmp_path) == 0
    found = json.loads((tmp_path / "attack.json").read_text())
    assert found["passed"]
    assert [f["name"] for f in found["findings"]] == ["reading"]
    assert "reading" in (tmp_path / "attack.html").read_text()


def test_an_attack_beyond_its_limit_ends_with_4(
    store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # No share is below nothing.
    assert certify(store, monkeypatch, Reading(margin=-1.0), tmp_path) == 4
    assert not json.loads((tmp_path / "attack.json").read_text())["passed"]
