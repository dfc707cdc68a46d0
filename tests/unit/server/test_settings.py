"""Settings: checked before anything listens, and all of them documented."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import pytest

from discreet.errors import ParameterError
from discreet.server.settings import Settings, read_settings, variables
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
        ({"metrics_port": 70_000}, "metrics_port must be an integer from 0 to 65535. Got 70000."),
        ({"proxies": ("proxy.example",)}, "proxies must be addresses or networks"),
        ({"max_body": 1.5}, "max_body must be an integer"),
    ],
)
def test_values_are_checked(given: dict[str, object], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        Settings(**given)  # type: ignore[arg-type]


def test_the_environment_overrides_the_file(tmp_path: Path) -> None:
    file = tmp_path / "server.toml"
    file.write_text("rate = 10\nburst = 5\n[limits]\nseconds = 5\nqueue = 7\n")
    digest = "0" * 64
    settings = read_settings(
        file,
        {
            "DISCREET_RATE": "20",
            "DISCREET_PROXIES": "10.0.0.0/8, ::1",
            "DISCREET_METRICS_HOST": "0.0.0.0",
            "DISCREET_LIMITS_SECONDS": "9",
            "DISCREET_KEYS": f'{{"office": {{"sha256": "{digest}", "rate": 3}}}}',
            "HOME": "/",
        },
    )
    assert (settings.rate, settings.burst) == (20, 5)
    assert (settings.limits.seconds, settings.limits.queue) == (9, 7)
    assert settings.proxies == ("10.0.0.0/8", "::1")
    assert settings.metrics_host == "0.0.0.0"
    assert [(key.name, key.rate) for key in settings.keys] == [("office", 3)]


def test_every_setting_has_a_variable_that_is_read() -> None:
    """As docs/settings.md says: DISCREET_ and the name, of a limit DISCREET_LIMITS_ too."""
    names = {f"DISCREET_{f.name.upper()}" for f in fields(Settings) if f.name != "limits"}
    limits = {f"DISCREET_LIMITS_{f.name.upper()}" for f in fields(Limits)}
    assert set(variables()) == names | limits
    page = DOCS.read_text(encoding="utf-8")
    told = set(re.findall(r"`(DISCREET_[A-Z_]*[A-Z])[`=]", page))
    assert told - {"DISCREET_SERVICE_HOST", "DISCREET_PORT"} <= names | limits
    assert {"DISCREET_RATE", "DISCREET_LIMITS_SECONDS", "DISCREET_PROXIES"} <= told
    texts = {f.name: f.name[0] for f in fields(Settings) if f.type == "str"}
    texts["root_path"] = "/stat"
    assert len(texts) >= 3
    odd = {**texts, "proxies": "::1", "keys": "{}"}
    for variable, (section, name) in variables().items():
        read = read_settings(None, {variable: odd.get(name, "17")})
        value = getattr(read.limits if section else read, name)
        assert value == {**texts, "proxies": ("::1",), "keys": ()}.get(name, 17)


def test_every_mistake_in_the_environment_is_told_at_once() -> None:
    with pytest.raises(ParameterError) as told:
        read_settings(
            None,
            {"DISCREET_RAET": "1", "DISCREET_BURST": "many", "DISCREET_KEYS": "{",
             "DISCREET_LIMITS_SECONDS": "0"},
        )  # fmt: skip
    text = str(told.value)
    assert "no environment variable 'DISCREET_RAET'; did you mean 'DISCREET_RATE'?" in text
    assert "DISCREET_BURST must be an integer. Got 'many'." in text
    assert "DISCREET_KEYS must be JSON" in text
    assert "seconds must be an integer of at least 1. Got 0." in text


def test_variables_of_others_are_left_alone() -> None:
    # What Kubernetes sets for a service called discreet.
    others = {"DISCREET_PORT": "tcp://10.0.0.1:80", "DISCREET_SERVICE_HOST": "10.0.0.1",
              "DISCREET_PORT_80_TCP_ADDR": "10.0.0.1"}  # fmt: skip
    assert read_settings(None, others) == Settings()


def test_every_setting_is_documented() -> None:
    text = DOCS.read_text(encoding="utf-8")
    names = [f.name for f in fields(Settings)] + [f"limits.{f.name}" for f in fields(Limits)]
    missing = [name for name in names if f"`{name}`" not in text]
    assert not missing
