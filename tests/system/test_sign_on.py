"""Signing in by a real OpenID provider, which npm installs from its lock file, and by a proxy."""

from __future__ import annotations

import re
import shutil
import socket
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from html import unescape
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from applications import GENEROUS, Client, serving
from discreet.errors import ParameterError
from discreet.people.model import Holder
from discreet.people.people import People
from discreet.server.settings import Settings
from persons import YEAR, licensed_town, person

FOLDER = Path(__file__).parent / "oidc"
HERE = "http://test"
BACK = f"{HERE}/sign-in/organisation/back"
CLIENT, SECRET = "discreet", "a secret of the tests"


@pytest.fixture(scope="module")
def town(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return licensed_town(tmp_path_factory.mktemp("town"), rows=1_000)


@pytest.fixture(scope="module")
def provider(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Run the provider; it is skipped where it cannot be installed."""
    if shutil.which("npm") is None or shutil.which("node") is None:
        pytest.skip("the OpenID provider of this test needs Node.js and npm")
    folder = tmp_path_factory.mktemp("oidc")
    for name in ("package.json", "package-lock.json", "provider.mjs"):
        shutil.copy(FOLDER / name, folder)
    made = subprocess.run(
        ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"],
        cwd=folder, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    if made.returncode != 0:
        pytest.skip("npm could not install the OpenID provider of this test")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen(
        ["node", "provider.mjs", str(port), BACK, CLIENT, SECRET],
        cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
    )  # fmt: skip
    assert process.stdout is not None
    line = process.stdout.readline().strip()
    assert line == f"http://127.0.0.1:{port}", line
    yield line
    process.kill()
    process.wait(30)
    process.stdout.close()


def _settings(provider: str, **more: object) -> Settings:
    given = {
        "public_url": HERE, "oidc_issuer": provider, "oidc_client": CLIENT,
        "oidc_secret": SECRET, **more,
    }  # fmt: skip
    return replace(GENEROUS, **given)


@pytest.fixture
def client(town: Path, provider: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Client]:
    # The name of this server is that of no host; the rule on https is tested below.
    monkeypatch.setattr("discreet.server.sign_on.check", lambda settings: None)
    with serving([town], _settings(provider)) as client:
        people: People = client.app.state.identity.people
        if not people.kept.used or not people.accounts.everybody():
            person(people, "ada@example.org")
            people.accounts.allow(Holder.GROUP, "staff", "town", "safe", YEAR)
        yield client


def _through(provider: str, address: str, login: str) -> str:
    """Sign in at the provider as a browser would, and return where it leads back to."""
    with httpx.Client(base_url=provider, trust_env=False, timeout=30) as browser:
        answer = browser.get(address)
        for _ in range(10):
            if answer.is_redirect:
                following = str(answer.headers["location"])
                if following.startswith(BACK):
                    return following
                answer = browser.get(following)
                continue
            form = re.search(r'action="([^"]+)"', answer.text)
            assert form is not None, answer.text
            kind = re.search(r'name="prompt" value="(\w+)"', answer.text)
            data = {"prompt": kind[1] if kind else "consent", "login": login, "password": "x"}
            answer = browser.post(unescape(form[1]), data=data)
    raise AssertionError("the provider does not lead back")


def _leave(client: Client) -> tuple[str, dict[str, str]]:
    answer = client.get("/sign-in/organisation?next=/me/tables")
    assert answer.status_code == 303
    line = answer.headers["set-cookie"]
    assert "HttpOnly" in line
    name, value = line.split(";")[0].split("=", 1)
    return answer.headers["location"], {"Cookie": f"{name}={value}"}


@pytest.mark.slow
def test_somebody_signs_in_with_their_organisation(client: Client, provider: str) -> None:
    address, cookie = _leave(client)
    asked = parse_qs(urlsplit(address).query)
    assert asked["code_challenge_method"] == ["S256"]
    assert len(asked["nonce"][0]) >= 32
    assert asked["response_type"] == ["code"]
    back = _through(provider, address, "ada")
    answer = client.get(back, headers=cookie)
    assert (answer.status_code, answer.headers["location"]) == (303, "/me/tables")
    session = re.search(r"discreet=([\w-]+)", answer.headers["set-cookie"])
    assert session is not None
    signed = {"Cookie": f"discreet={session[1]}"}
    # The claim of groups makes them a member of 'staff', who have a licence.
    assert client.get("/api/v1/datasets/town", headers=signed).headers["discreet-tier"] == "safe"
    people: People = client.app.state.identity.people
    ada = people.accounts.find("ada@example.org")
    assert people.accounts.memberships(ada) == [(Holder.GROUP, "staff")]
    assert people.record.lines()[-1].line.via == "organisation"
    # A code works once, and a cookie that was planted is none of ours.
    assert client.get(back, headers=cookie).status_code == 403


@pytest.mark.slow
@pytest.mark.parametrize("how", ["other state", "no cookie", "other nonce", "other verifier"])
def test_who_did_not_leave_from_here_does_not_come_back(
    client: Client, provider: str, how: str
) -> None:
    address, cookie = _leave(client)
    if how == "other nonce":
        nonce = parse_qs(urlsplit(address).query)["nonce"][0]
        address = address.replace(nonce, "x" * 43)
    back = _through(provider, address, "ada")
    if how == "other state":
        back = re.sub(r"state=[\w-]+", "state=" + "x" * 43, back)
    if how == "other verifier":
        # The cookie of another journey, with the state of this one: as if the code was stolen.
        import base64
        import json

        name, value = cookie["Cookie"].split("=", 1)
        kept = json.loads(base64.urlsafe_b64decode(value))
        kept[2] = "y" * 43
        cookie = {
            "Cookie": f"{name}={base64.urlsafe_b64encode(json.dumps(kept).encode()).decode()}"
        }
    answer = client.get(back, headers={"Cookie": "x=1"} if how == "no cookie" else cookie)
    assert answer.status_code == 403
    assert "discreet=" not in answer.headers.get("set-cookie", "")


@pytest.mark.slow
@pytest.mark.parametrize("login", ["eve", "mal"])
def test_somebody_without_an_account_or_with_an_address_that_is_not_theirs_stays_out(
    client: Client, provider: str, login: str
) -> None:
    address, cookie = _leave(client)
    answer = client.get(_through(provider, address, login), headers=cookie)
    assert answer.status_code == 403


# A proxy

PROXY = {"proxies": ("127.0.0.1",), "proxy_user_header": "X-Remote-User",
         "proxy_groups_header": "X-Remote-Groups"}  # fmt: skip


def test_a_proxy_is_believed_from_its_address_alone(town: Path) -> None:
    says = {"X-Remote-User": "bea@example.org", "X-Remote-Groups": "staff, Other Group"}
    settings = replace(GENEROUS, **PROXY)
    with serving([town], settings) as client:
        people: People = client.app.state.identity.people
        people.accounts.add("bea@example.org", "Bea", "licensed")
        people.accounts.allow(Holder.GROUP, "staff", "town", "safe", YEAR)
        # The header alone is no session: nothing but the page of the sign-on reads it.
        assert (
            client.get("/api/v1/datasets/town", headers=says).headers["discreet-tier"] == "public"
        )
        answer = client.get("/sign-in/organisation", headers=says)
        assert answer.headers["location"] == "/me"
        cookie = re.search(r"discreet=[\w-]+", answer.headers["set-cookie"])
        assert cookie is not None
        mine = client.get("/api/v1/datasets/town", headers={"Cookie": cookie[0]})
        assert mine.headers["discreet-tier"] == "safe"
        twice = [("X-Remote-User", "bea@example.org"), ("X-Remote-User", "x@example.org")]
        for headers in ({}, {"X-Remote-User": "nobody@example.org"}, {"X-Remote-User": ""}, twice):
            assert client.get("/sign-in/organisation", headers=headers).status_code == 403
        # Whoever the proxy says is another is not who the session says.
        other = {"Cookie": cookie[0], "X-Remote-User": "someone@example.org"}
        assert (
            client.get("/api/v1/datasets/town", headers=other).headers["discreet-tier"] == "public"
        )
    with serving([town], settings, peer="10.1.2.3") as client:
        assert client.get("/sign-in/organisation", headers=says).status_code == 403
        forged = {**says, "X-Forwarded-For": "127.0.0.1"}
        assert client.get("/sign-in/organisation", headers=forged).status_code == 403


def test_settings_that_cannot_be_meant_are_refused(town: Path) -> None:
    for more, said in (
        ({"proxy_user_header": "X-Remote-User"}, "needs proxies"),
        ({"oidc_issuer": "https://id.example.org"}, "needs oidc_client"),
        (
            {
                "oidc_issuer": "http://id.example.org", "oidc_client": "x",
                "public_url": "https://tables.example.org",
            },
            "https://",
        ),
        ({"sign_on_role": "custodian"}, "sign_on_role"),
        ({"passwords": "maybe"}, "passwords"),
    ):  # fmt: skip
        with pytest.raises(ParameterError, match=said):
            Client([town], replace(GENEROUS, **more), "127.0.0.1")
