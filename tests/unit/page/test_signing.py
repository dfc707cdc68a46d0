"""Signing in and out on the pages, invitations, forms of others, pages of other roles."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from uuid import uuid4

import httpx
import pytest

from applications import GENEROUS, serving
from discreet.ledger import Database
from discreet.page.people import PAGES
from discreet.page.signing import local
from discreet.server.app import reload
from persons import PASSWORD
from sites import Site
from stores import forget_releases


def test_without_accounts_there_is_nothing_to_sign_in_to(
    town: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    forget_releases(town)
    monkeypatch.setenv("DISCREET_DATABASE_URL", f"sqlite:///{town / str(uuid4())}.db")
    with Database.of_store(town).reading():
        pass
    with serving([town]) as client:
        assert "/sign-in" not in client.get("/").text
        assert client.get("/sign-in").status_code == 404


def test_somebody_signs_in_and_out(site: Site) -> None:
    one = site.browser()
    assert 'href="/sign-in"' in one.get("/").text
    answer = one.sign_in("ada@example.org", PASSWORD)
    assert (answer.status_code, answer.headers["location"]) == (303, "/me")
    cookie = answer.headers.get_list("set-cookie")[0]
    assert "HttpOnly" in cookie
    assert "SameSite=lax" in cookie
    assert "Path=/" in cookie
    page = one.get("/me").text
    assert "My licence" in page
    assert '<span class="figure">20</span> of 20 new tables left' in page
    assert "Licensed" in page
    answer = one.fill("/me", "/sign-out")
    assert answer.status_code == 303
    assert one.get("/me").headers["location"] == "/sign-in?next=%2Fme"


def test_with_tls_the_cookie_is_secure_and_of_this_host(site: Site) -> None:
    from discreet.page.signing import session_cookie

    assert session_cookie(True) == "__Host-discreet"
    transport = httpx.ASGITransport(site.client.app)

    async def ask() -> httpx.Response:
        async with httpx.AsyncClient(transport=transport, base_url="https://test") as http:
            return await http.get("/sign-in")

    answer = site.client.run(ask())
    assert "Secure" in answer.headers["set-cookie"]


def test_a_failure_says_the_same_whatever_was_wrong(site: Site) -> None:
    """Enumeration: nobody learns whether there is an account, or whether it rests."""
    pages = []
    for email, password in (
        ("ada@example.org", "wrong"),
        ("nobody@example.org", PASSWORD),
        ("", ""),
        *[("bob@example.org", "wrong")] * 5,
        ("bob@example.org", PASSWORD),  # it rests by now
    ):
        answer = site.browser().sign_in(email, password)
        assert answer.status_code == 401
        text = re.sub(r'value="[^"]*"', "", answer.text)
        pages.append(text)
        assert PASSWORD not in answer.text
    assert len(set(pages)) == 1
    assert "E-mail or password is not right." in pages[0]


def test_a_session_is_another_after_signing_in(site: Site) -> None:
    """Fixation: whoever planted a cookie before does not know the one after."""
    one = site.browser()
    one.cookies["discreet"] = planted = site.people.entrance.begin(site.bob, "planted")
    # Signed in already: the form leads away. The session of the attacker is taken over by none.
    assert one.get("/sign-in").status_code == 303
    one.cookies["discreet"] = "chosen-by-somebody-else"
    one.sign_in("ada@example.org", PASSWORD)
    assert one.cookies["discreet"] not in (planted, "chosen-by-somebody-else")
    assert site.people.entrance.by_session("chosen-by-somebody-else") is None


@pytest.mark.parametrize(
    "address",
    [
        "https://evil.example", "//evil.example", "/\\evil.example", "\\\\evil.example",
        "javascript:alert(1)", "/%0d%0aSet-Cookie:x", "evil", "", "/\t/evil.example",
        "///evil.example", "http:/evil.example", " //evil.example",
    ],
)  # fmt: skip
def test_nobody_is_led_elsewhere(site: Site, address: str) -> None:
    """Open redirects: only an address of this server is gone to."""
    if address.startswith("/%"):
        assert local(address) == address  # it stays encoded, and is ours
    else:
        assert local(address) == "/me"
        answer = site.browser().sign_in("ada@example.org", PASSWORD, next=address)
        assert answer.headers["location"] == "/me"


def test_an_own_address_is_gone_to(site: Site) -> None:
    answer = site.browser().sign_in("ada@example.org", PASSWORD, next="/me/tables?of=project")
    assert answer.headers["location"] == "/me/tables?of=project"


def test_an_invitation_is_used_on_its_page(site: Site) -> None:
    new = site.people.accounts.add("new@example.org", "New", "licensed")
    page = f"/invitation/{site.people.entrance.invite(new)}"
    one = site.browser()
    assert "Welcome, New" in one.get(page).text
    # Its address is a secret: it is told to nobody, not even to another page of ours.
    assert one.get(page).headers.get_list("referrer-policy") == ["no-referrer"]
    assert one.fill(page, password="short", again="short").status_code == 400
    assert one.fill(page, password=PASSWORD, again="another").status_code == 400
    assert one.fill(page, password=PASSWORD, again=PASSWORD).headers["location"] == "/sign-in"
    assert one.get(page).status_code == 404
    assert one.sign_in("new@example.org", PASSWORD).status_code == 303


# Forms of others


def test_no_form_is_taken_from_another_page(site: Site) -> None:
    """CSRF: every form that changes something, without its token or from elsewhere."""
    licensed, custodian = site.browser(site.ada), site.browser(site.custodian)
    posts = [page.path for page in PAGES if page.post is not None]
    assert len(posts) >= 8
    for path in posts:
        path = path.replace("{id}", "1").replace("{token}", "x")
        for one in (licensed, custodian):
            for data in ({}, {"csrf": "x" * 43}, {"form": "x" * 43}):
                assert one.post(path, data).status_code == 403, path
    csrf = dict(re.findall(r'name="(csrf)" value="([^"]*)"', licensed.get("/me").text))
    for headers in (
        {"Origin": "https://evil.example"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Origin": "null"},
    ):
        answer = licensed.post("/me/keys", {**csrf, "name": "x"}, headers=headers)
        assert answer.status_code == 403
    other = dict(
        re.findall(r'name="(csrf)" value="([^"]*)"', site.browser(site.bob).get("/me").text)
    )
    assert licensed.post("/me/keys", {**other, "name": "x"}).status_code == 403
    assert site.people.entrance.keys(site.ada) == []
    assert licensed.post("/me/keys", {**csrf, "name": "x"}).status_code == 200


def test_nobody_sees_a_page_of_another_role(site: Site) -> None:
    """Every page, for everybody: nobody, licensed, custodian, auditor."""
    browsers = {
        None: site.browser(), "licensed": site.browser(site.ada),
        "custodian": site.browser(site.custodian), "auditor": site.browser(site.auditor),
    }  # fmt: skip
    for page in PAGES:
        if page.get is None or page.roles is None:
            continue
        path = page.path.replace("{id}", str(site.ada.id))
        for role, one in browsers.items():
            status = one.get(path).status_code
            if role is None:
                assert status == 303, path
            elif role not in page.roles:
                assert status == 403, (path, role)
            else:
                assert status in (200, 400), (path, role)
    assert browsers["custodian"].get("/office/record").status_code == 403
    assert browsers["custodian"].get("/office/record.csv").status_code == 403
    assert browsers["auditor"].get("/office/record").status_code == 200


def test_the_sign_on_is_that_of_the_settings_as_they_were_last_read(site: Site) -> None:
    start, says = "/sign-in/organisation", {"X-Remote-User": "ada@example.org"}
    assert site.browser().get(start, headers=says).status_code == 404
    assert start not in site.browser().get("/sign-in").text
    by_proxy = replace(
        GENEROUS, proxies=("127.0.0.1",), proxy_user_header="X-Remote-User", passwords="no"
    )
    reload(site.client.app, by_proxy)
    page = site.browser().get("/sign-in").text
    assert start in page
    assert 'name="password"' not in page
    assert site.browser().get(start, headers=says).status_code == 303
    site.client._http.cookies.clear()  # which the client keeps too
    reload(site.client.app, GENEROUS)
    assert site.browser().get(start, headers=says).status_code == 404
    assert 'name="password"' in site.browser().get("/sign-in").text


def test_every_page_is_there_in_german(site: Site) -> None:
    ada, custodian = site.browser(site.ada), site.browser(site.custodian)
    for one, path in (
        (site.browser(), "/sign-in"), (ada, "/me"), (ada, "/me/tables"), (ada, "/me/history"),
        (custodian, "/office"), (custodian, "/office/projects/homes"),
        (site.browser(site.auditor), "/office/record"),
    ):  # fmt: skip
        english, german = one.get(path), one.get(f"{path}?lang=de")
        assert english.status_code == german.status_code == 200
        assert '<html lang="de">' in german.text
        heads = [re.findall(r"<h1>(.*?)</h1>", page.text) for page in (english, german)]
        assert heads[0] != heads[1] or "projects" in path
