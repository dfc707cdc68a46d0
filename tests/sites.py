"""A server with people, and a browser without scripts."""

from __future__ import annotations

import re
from html import unescape

import httpx

from applications import Client
from discreet.people.model import Person
from discreet.people.people import People
from persons import person, project

FINE = "by=age_band,district,health,sex&columns=sex"


class Site:
    """A server with people, and what a browser without scripts does."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.people: People = client.app.state.identity.people
        self.ada, self.bob = (person(self.people, f"{n}@example.org") for n in ("ada", "bob"))
        project(self.people, "homes", self.ada, self.bob)
        self.cyd = person(self.people, "cyd@example.org")
        project(self.people, "health", self.cyd)
        self.custodian = person(self.people, "cus@example.org", "custodian")
        self.auditor = person(self.people, "aud@example.org", "auditor")

    def browser(self, who: Person | None = None) -> Browser:
        made = Browser(self.client)
        if who is not None:
            made.cookies["discreet"] = self.people.entrance.begin(who, "test")
        return made


class Browser:
    """Keeps cookies, and fills in forms."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.cookies: dict[str, str] = {}

    def _sent(self, method: str, url: str, **options: object) -> httpx.Response:
        cookie = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        headers = {**({"Cookie": cookie} if cookie else {}), **options.pop("headers", {})}  # type: ignore[dict-item]
        answer = self.client.request(method, url, headers=headers, **options)
        for line in answer.headers.get_list("set-cookie"):
            name, value = line.split(";")[0].split("=", 1)
            if "Max-Age=0" in line or value == '""':
                self.cookies.pop(name, None)
            else:
                self.cookies[name] = value
        return answer

    def get(self, url: str, **options: object) -> httpx.Response:
        return self._sent("GET", url, **options)

    def post(self, url: str, data: dict[str, str], **options: object) -> httpx.Response:
        return self._sent("POST", url, data=data, **options)

    def fill(self, page: str, to: str | None = None, **values: str) -> httpx.Response:
        """Send a form of a page: what is hidden in it, and these values."""
        text = self.get(page).text
        hidden = dict(re.findall(r'type="hidden" name="([\w.]+)" value="([^"]*)"', text))
        return self.post(to or page, {k: unescape(v) for k, v in hidden.items()} | values)

    def sign_in(self, email: str, password: str, **more: str) -> httpx.Response:
        return self.fill("/sign-in", email=email, password=password, **more)


def publish(one: Browser, question: str = FINE) -> httpx.Response:
    page = one.get(f"/datasets/town/build?{question}")
    token = re.search(r'name="token" value="(\w+)"', page.text)
    assert token is not None, page.text
    form = dict(pair.split("=", 1) for pair in question.split("&"))
    return one.post("/datasets/town/table", {**form, "token": token[1]})
