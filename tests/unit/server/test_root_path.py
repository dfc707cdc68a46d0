"""A server under a path: whatever a reader or a program can follow leads back to it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from html import unescape
from pathlib import Path
from urllib.parse import urljoin, urlsplit

import httpx
import pytest

from applications import GENEROUS, Client, serving
from discreet.errors import ParameterError
from discreet.people.people import People
from discreet.server.settings import Settings
from persons import PASSWORD, licensed_town, person, quick_hashes
from stores import build_town

ROOT = "/stat"
LINKS = re.compile(r'(?:href|src|action|formaction|data-check)="([^"]*)"')
FOLLOWED = re.compile(r'"(https?://test[^"\s]*|/(?:api|px|sdmx|stat)/[^"\s]*)"')
HOST = "http://test"


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    folder = tmp_path_factory.mktemp("root")
    store = build_town(folder / "data", folder / "store", rows=5_000)
    with serving([store], replace(GENEROUS, root_path=ROOT)) as client:
        yield client


def links(page: httpx.Response, address: str) -> list[str]:
    """Return the addresses that a page names, as a browser resolves them."""
    found = [unescape(link) for link in LINKS.findall(page.text)]
    return [urljoin(HOST + address, link).split("#")[0] for link in found]


def test_every_link_of_every_page_stays_under_the_path(client: Client) -> None:
    table = f"{ROOT}/datasets/town/table?by=sex,health"
    client.publish(table)
    todo, seen = [f"{ROOT}/", table], set[str]()
    shapes = set[tuple[str, str]]()
    while todo:
        address = todo.pop()
        parts = urlsplit(address)
        # One address of each kind: those of a form differ in what they ask.
        shape = (parts.path, ",".join(sorted(re.findall(r"(format=[\w-]+|\w+=)", parts.query))))
        if address in seen or shape in shapes:
            continue
        seen.add(address)
        shapes.add(shape)
        answer = client.get(address)
        where = answer.headers.get("location")
        assert answer.status_code in (200, 303, 403, 400), (address, answer.status_code)
        found = [urljoin(HOST + address, where)] if where else []
        if answer.headers.get("content-type", "").startswith("text/html"):
            found += links(answer, address)
        for link in found:
            if link.startswith(HOST):
                local = link.removeprefix(HOST)
                assert local == ROOT or local.startswith(f"{ROOT}/"), (address, local)
                todo.append(local)
    for kind in ("/static/", "/api/openapi.json", "/method", "/build", "format=csv", "/chart.svg"):
        assert any(kind in address for address in seen), kind
    assert len(seen) > 30


@pytest.mark.parametrize("path", ["/", "/datasets/town", "/api/v1/datasets", "/readyz"])
def test_a_proxy_may_take_the_path_off_or_not(client: Client, path: str) -> None:
    whole, bare = client.get(ROOT + path), client.get(path)
    assert (whole.status_code, bare.status_code) == (200, 200)
    assert re.sub(r"\w{16}", "", whole.text) == re.sub(r"\w{16}", "", bare.text)


def test_only_a_whole_part_of_the_path_is_taken_off(client: Client) -> None:
    assert client.get("/statistics").status_code == 404
    assert client.get(ROOT).status_code == 200


def test_what_programs_follow_is_under_the_path(client: Client) -> None:
    names = [
        "/api/v1/collection", "/api/v1/catalogue", "/px/v2/tables", "/px/v2/tables/town/metadata",
        "/px/v2/config", "/sdmx/dataflow", "/api/v1/datasets/town",
        "/px/v2/tables/town/data?valueCodes[sex]=*", "/sdmx/data/TOWN/2._T._T._T._T._T._T",
    ]  # fmt: skip
    followed = 0
    for name in names:
        answer = client.get(ROOT + name)
        assert answer.status_code in (200, 400), (name, answer.text[:200])
        for link in FOLLOWED.findall(answer.text):
            local = link.removeprefix(HOST)
            assert local.startswith(f"{ROOT}/"), (name, link)
            followed += 1
            if not local.endswith("/api/v1"):  # what all addresses of the API begin with
                assert client.get(unescape(local)).status_code != 404, local
    assert followed > 5
    openapi = client.get(f"{ROOT}/api/openapi.json").json()
    assert openapi["servers"] == [{"url": ROOT}]


def test_what_is_cited_is_the_address_that_readers_know(client: Client) -> None:
    client.publish(f"{ROOT}/datasets/town/table?by=sex")
    page = client.get(f"{ROOT}/datasets/town/table?by=sex").text
    assert f'id="permalink" href="{HOST}{ROOT}/datasets/town/table?by=sex' in page
    assert f"url = &#34;{HOST}{ROOT}/api/v1/datasets/town/table?by=sex" in page


@pytest.mark.parametrize("page", ["/datasets/town", "/datasets/town/table?by=sex"])
def test_what_search_engines_read_has_the_path_once(client: Client, page: str) -> None:
    client.publish(f"{ROOT}/datasets/town/table?by=sex")
    said = re.findall(r'ld\+json">(.*?)</script>', client.get(ROOT + page).text, re.S)
    found = re.findall(rf'"({HOST}/[^"]*)"', said[0])
    assert f"{HOST}{ROOT}/datasets/town" in found
    for address in found:
        assert address.removeprefix(HOST).startswith(f"{ROOT}/")
        assert address.count(ROOT) == 1


def test_failures_lead_back_too(client: Client) -> None:
    page = client.get(f"{ROOT}/nowhere")
    assert page.status_code == 404
    assert f'href="{ROOT}/"' in page.text
    error = client.get(f"{ROOT}/api/nowhere").json()["error"]
    assert error["code"] == "NOT_FOUND"
    assert error["hint"] == f"See {ROOT}/api/openapi.json."
    px = client.get(f"{ROOT}/px/v2/tables/nowhere").json()
    assert px["detail"] == px["error"]["hint"] == f"GET {ROOT}/api/v1/datasets lists them."


@pytest.mark.parametrize("path", ["stat", "/stat/", "//stat", "/a b", "/stat/..", "/"])
def test_a_path_is_checked(path: str) -> None:
    with pytest.raises(ParameterError, match="root_path must be a path"):
        Settings(root_path=path)


def test_who_signs_in_comes_back_to_where_they_wanted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    quick_hashes(monkeypatch)
    store = licensed_town(tmp_path)
    person(People.of_store(store), "ada@example.org")
    with serving([store], replace(GENEROUS, root_path=ROOT)) as client:
        led = client.get(f"{ROOT}/me")
        assert (led.status_code, led.headers["location"]) == (
            303,
            f"{ROOT}/sign-in?next=%2Fstat%2Fme",
        )
        form = client.get(led.headers["location"])
        assert f'action="{ROOT}/sign-in"' in form.text
        assert "Path=/;" in form.headers["set-cookie"], "__Host- cookies must be for the host"
        values = dict(re.findall(r'name="(\w+)" value="([^"]*)"', form.text))
        values |= {"email": "ada@example.org", "password": PASSWORD}
        cookie = {"cookie": form.headers["set-cookie"].split(";")[0], "origin": HOST}
        entered = client.post(f"{ROOT}/sign-in", data=values, headers=cookie)
        assert (entered.status_code, entered.headers["location"]) == (303, f"{ROOT}/me")
        session = {"cookie": entered.headers["set-cookie"].split(";")[0]}
        mine = client.get(f"{ROOT}/me", headers=session)
        assert mine.status_code == 200
        assert {link.split(HOST)[-1].split("/")[1] for link in links(mine, f"{ROOT}/me")} == {
            "stat"
        }
