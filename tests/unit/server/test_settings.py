"""Settings: checked before anything listens, and all of them documented."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import pytest

from discreet.errors import ParameterError
from discreet.server.settings import Settings, read_settings
from discreet.service import Limits

DOCS = Path(__file__).parents[3] / "docs" / "settings.md"


def test_a_file_is_read(tmp_path: Path) -> None:
    file = tmp_path / "server.toml"
    digest = "0" * 64
    file.write_text(
        f'rate = 10\nproxies = ["127.0.0.1"]\n[limits]\nseconds = 5\n'
        f'[keys.office]\nsha256 = "{digest}"\nrate = 100\n'
    )
    settings = read_settings(file)
    assert (settings.rate, settings.proxies, settings.limits.seconds) == (10, ("127.0.0.1",), 5)
    assert [(key.name, key.digest, key.rate) for key in settings.keys] == [("office", digest, 100)]
    assert settings.burst == Settings().burst


def test_every_mistake_is_told_at_once(tmp_path: Path) -> None:
    file = tmp_path / "server.toml"
    file.write_text(
        'rat = 10\nburst = "x"\n[limits]\nqueue = -1\n[keys.a]\nsha256 = "z"\nrate = 1\n'
    )
    with pytest.raises(ParameterError) as told:
        read_settings(file)
    text = str(told.value)
    for mistake in ("'rat'", "'burst'", "queue must be an integer of at least 0", "sha256 of key"):
        assert mistake in text


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"rate": 0}, "rate must be an integer of at least 1. Got 0."),
        ({"metrics_port": 70_000}, "metrics_port must be at most 65535. Got 70000."),
        ({"proxies": ("proxy.example",)}, "proxies must be addresses or networks"),
        ({"max_body": 1.5}, "max_body must be an integer"),
    ],
)
def test_values_are_checked(given: dict[str, object], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        Settings(**given)  # type: ignore[arg-type]


def test_every_setting_is_documented() -> None:
    text = DOCS.read_text(encoding="utf-8")
    names = [f.name for f in fields(Settings)] + [f"limits.{f.name}" for f in fields(Limits)]
    missing = [name for name in names if f"`{name}`" not in text]
    assert not missing
