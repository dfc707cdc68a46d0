"""What can be set about a server; docs/deploy.md has them all, and a test compares."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import partial
from ipaddress import IPv4Network, IPv6Network, ip_network
from pathlib import Path
from typing import Any

from discreet.checks import whole
from discreet.errors import ParameterError, unknown
from discreet.people.mail import Mail
from discreet.service import Limits
from discreet.toml import Mistakes, Section, load

Network = IPv4Network | IPv6Network
_ROOT = re.compile(r"(/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)*")
_AGENCY = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,63}")


@dataclass(frozen=True)
class Key:
    """A key that has a limit of its own instead of the address's; `digest` is its SHA-256."""

    name: str
    digest: str
    rate: int

    def __post_init__(self) -> None:
        if len(self.digest) != 64 or set(self.digest) - set("0123456789abcdef"):
            raise ParameterError(
                f"sha256 of key '{self.name}' must be 64 lower-case hexadecimal digits: "
                "printf %s KEY | sha256sum"
            )
        whole("rate", self.rate, 1)


@dataclass(frozen=True)
class Settings:
    """Settings of a server. Frozen and checked: a mistake is told before anything listens."""

    # Requests a minute from one address (of IPv6: one /64), and how many may come at once.
    rate: int = 300
    burst: int = 100
    # Requests a minute of one account, whatever its address.
    account_rate: int = 600
    # Bytes of a query string, of a body, and of everything before the body.
    max_query: int = 8_192
    max_body: int = 262_144
    max_header: int = 32_768
    # Seconds in which a request must have arrived: what comes before the body, and the body; and in
    # which a reader must have taken some of an answer.
    header_seconds: int = 10
    body_seconds: int = 20
    send_seconds: int = 30
    # Seconds that a connection may be idle between two requests.
    idle_seconds: int = 5
    # Connections at a time, as far as the system allows as many open files.
    connections: int = 2_000
    # Seconds between two readings of every file of a store; 0 for none.
    verify: int = 3_600
    # The certificate and its private key, in PEM, where the server itself speaks TLS.
    certificate: str = ""
    certificate_key: str = ""
    # Networks whose X-Forwarded-For is believed.
    proxies: tuple[str, ...] = ()
    # The address under which readers know this server, for sign-on: https://tables.example.org
    public_url: str = ""
    # Whether people may sign in by password: yes or no.
    passwords: str = "yes"
    # A header by which a configured proxy says who somebody is (their e-mail address), and one
    # with their groups; nobody else is believed.
    proxy_user_header: str = ""
    proxy_groups_header: str = ""
    # An OpenID provider: its address, our id and secret there, and the claim that lists groups.
    oidc_issuer: str = ""
    oidc_client: str = ""
    oidc_secret: str = ""
    oidc_groups: str = "groups"
    # The role of somebody whom a proxy or provider knows and who has no account yet: reader or
    # licensed; empty for nobody.
    sign_on_role: str = ""
    # Where messages to people go: a folder, or a mail server (smtp_tls: starttls, tls or none).
    mail_folder: str = ""
    mail_from: str = ""
    smtp_host: str = ""
    smtp_port: int = 587
    smtp_user: str = ""
    smtp_password: str = field(default="", repr=False)
    smtp_tls: str = "starttls"
    # Where Prometheus finds the metrics; 0 for nowhere.
    metrics_host: str = "127.0.0.1"
    metrics_port: int = 0
    # Seconds that running requests are given to finish when the server is told to stop.
    grace: int = 30
    # Seconds before that in which it still answers, and says at /readyz that it is not ready.
    drain: int = 0
    # The path under which readers find the server where others share its host: /stat, say.
    root_path: str = ""
    # What the office is called as an agency in SDMX.
    agency: str = "DISCREET"
    # Keys with a limit of their own.
    keys: tuple[Key, ...] = ()
    # Memory, time and concurrency of questions.
    limits: Limits = field(default_factory=Limits)

    def __post_init__(self) -> None:
        for one in fields(self):
            if one.type == "int" and one.name not in ("metrics_port", "verify", "drain"):
                whole(one.name, getattr(self, one.name), 1)
        whole("metrics_port", self.metrics_port, 0, 65_535)
        whole("smtp_port", self.smtp_port, 1, 65_535)
        whole("verify", self.verify, 0)
        whole("drain", self.drain, 0)
        if not _AGENCY.fullmatch(self.agency):
            raise ParameterError(
                "agency must be letters, digits, '_', '-' or '.' after a letter, as SDMX has it. "
                f"Got {self.agency!r}."
            )
        if not _ROOT.fullmatch(self.root_path):
            raise ParameterError(
                "root_path must be a path like '/stat', without a '/' at its end. "
                f"Got {self.root_path!r}."
            )
        self.networks  # noqa: B018  (raises on a proxy that is no network)

    @property
    def networks(self) -> tuple[Network, ...]:
        """The proxies as networks."""
        found = []
        for text in self.proxies:
            try:
                found.append(ip_network(text))
            except ValueError:
                raise ParameterError(
                    f"proxies must be addresses or networks like '10.0.0.0/8'. Got {text!r}."
                ) from None
        return tuple(found)

    @property
    def mail(self) -> Mail | None:
        """Where messages go, None for nowhere."""
        if not self.mail_folder and not self.smtp_host:
            return None
        return Mail(
            self.mail_from, self.public_url, self.mail_folder, self.smtp_host, self.smtp_port,
            self.smtp_user, self.smtp_password, self.smtp_tls,
        )  # fmt: skip


@dataclass
class Live:
    """The settings that hold now; they may be read again while a server runs."""

    settings: Settings
    draining: bool = False
    """Whether the server was told to stop, and finishes what it has."""


def read_settings(
    path: Path | None = None, environment: Mapping[str, str] | None = None
) -> Settings:
    """Return the settings in a TOML file and over them those of the environment.

    Every mistake is told at once.
    """
    mistakes = Mistakes("the environment" if path is None else str(path))
    values = {} if path is None else load(path)
    for (section, name), value in _from_environment(environment or {}, mistakes).items():
        within = values.setdefault(section, {}) if section else values
        if isinstance(within, dict):
            within[name] = value
    top = Section(values, "the settings" if path is None else path.name)
    given: dict[str, Any] = {}
    for name, kind in _PLAIN.items():
        value = mistakes.gather(partial(top.take, name, kind, default=None))
        if value is not None:
            given[name] = value
    proxies = mistakes.gather(partial(top.take, "proxies", list, default=[]))
    given["proxies"] = tuple(str(text) for text in proxies or ())
    limits = mistakes.gather(partial(top.take, "limits", dict, default={}))
    given["limits"] = mistakes.gather(partial(_limits, limits or {}, f"limits in {top.name}"))
    keys = mistakes.gather(partial(top.take, "keys", dict, default={})) or {}
    given["keys"] = tuple(mistakes.gather(partial(_key, *item)) for item in keys.items())
    mistakes.gather(top.end)
    mistakes.end()
    try:
        return Settings(**given)
    except ParameterError as error:
        raise ParameterError(f"{mistakes.title}: {error}") from None


_PLAIN: dict[str, type] = {
    one.name: str if one.type == "str" else int
    for one in fields(Settings)
    if one.type in ("str", "int")
}
PREFIX = "DISCREET_"
# The state database, what the tests and the benchmarks look for, and what Kubernetes sets for a
# service of our name.
_OTHERS = re.compile(r"(CHROMIUM|PEERS|SCREENSHOTS|URL|DATABASE_URL|SERVICE_\w+|PORT|PORT_\d\w*)$")


def variables() -> dict[str, tuple[str, str]]:
    """Return the environment variable of every setting: its section, and its name in it."""
    own = {f"{PREFIX}{name.upper()}": ("", name) for name in (*_PLAIN, "proxies", "keys")}
    limits = {f"{PREFIX}LIMITS_{one.name.upper()}": ("limits", one.name) for one in fields(Limits)}
    return own | limits


def _from_environment(
    environment: Mapping[str, str], mistakes: Mistakes
) -> dict[tuple[str, str], Any]:
    """Return the values of variables by section and name, as a file would have them."""
    known, found = variables(), {}
    for variable, text in environment.items():
        if not variable.startswith(PREFIX) or _OTHERS.match(variable.removeprefix(PREFIX)):
            continue
        if variable in known:
            found[known[variable]] = mistakes.gather(partial(_value, variable, text))
        else:
            mistakes.found.append(str(unknown("environment variable", variable, known)))
    return {place: value for place, value in found.items() if value is not None}


def _value(variable: str, text: str) -> Any:
    """Return the value in a variable: an integer, a text, a list with commas, or keys in JSON."""
    name = variables()[variable][1]
    if _PLAIN.get(name) is str:
        return text
    if name == "proxies":
        return [part.strip() for part in text.split(",") if part.strip()]
    if name == "keys":
        try:
            return json.loads(text)
        except ValueError:
            example = '{"press-office": {"sha256": "…", "rate": 6000}}'
            raise ParameterError(f"{variable} must be JSON like {example}.") from None
    if not re.fullmatch(r"-?\d{1,18}", text.strip()):
        raise ParameterError(f"{variable} must be an integer. Got {text!r}.")
    return int(text)


def _limits(values: dict[str, Any], name: str) -> Limits:
    section = Section(values, name)
    given = {one.name: section.take(one.name, int, default=None) for one in fields(Limits)}
    section.end()
    return Limits(**{key: value for key, value in given.items() if value is not None})


def _key(name: str, values: object) -> Key:
    section = Section(values, f"keys.{name}")
    key = Key(name, section.take("sha256", str), section.take("rate", int))
    section.end()
    return key
