"""What every page needs: its language, its links, its frame."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from hmac import compare_digest
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import HTMLResponse

from discreet.errors import Forbidden
from discreet.page.actions import Pairs
from discreet.page.assets import address_of
from discreet.page.charts.choose import unit_word
from discreet.page.state import State, address
from discreet.page.texts import LANGUAGES, Texts, choose, texts
from discreet.people.model import Who

ROBOTS = {"X-Robots-Tag": "noindex, nofollow"}
"""What keeps crawlers from tables, and from the pages that make them."""
_RENAMED = {"wafers": "layers", "wafer": "layer"}
"""What old links call layers."""


def root_of(scope: Mapping[str, Any]) -> str:
    """Return the path under which readers find the server; empty where it has a host to itself."""
    return str(scope.get("root_path", "")).rstrip("/")


@dataclass(frozen=True, eq=False)
class Visit:
    """The language of a request and the addresses in it."""

    t: Texts
    asked: str | None
    """The language that the address names; links keep naming it."""
    path: str
    values: Mapping[str, str]
    who: Who | None = None
    """Who has signed in."""
    accounts: bool = False
    """Whether anybody could."""
    private: bool = False
    """Whether the values are of a form, which no address may hold."""
    root: str = ""
    """The path under which readers find the server, such as /stat."""

    @classmethod
    def of(cls, request: Request, posted: Pairs = ()) -> Visit:
        """Return the visit of a request; a form that was posted says more than its address."""
        given = [*request.query_params.multi_items(), *posted]
        values = {_RENAMED.get(key, key): text for key, text in given}
        asked = values.get("lang") if values.get("lang") in LANGUAGES else None
        lang = choose(asked, request.headers.get("accept-language"))
        who = getattr(request.state, "who", None)
        accounts = getattr(request.state, "accounts", False)
        root = root_of(request.scope)
        path = request.url.path.removeprefix(root)
        return cls(texts(lang), asked, path, values, who, accounts, root=root)

    def to(self, path: str) -> str:
        """Return the address of a path, as readers find it."""
        return self.root + path

    def static(self, name: str) -> str:
        """Return the address of a static file."""
        return self.to(address_of(name))

    def check_form(self) -> None:
        """Raise unless a form that was posted is one that this session was given."""
        if self.who is None:
            return
        given, true = self.values.get("csrf", ""), self.who.csrf
        if not true or not compare_digest(given.encode(), true.encode()):
            raise Forbidden("FORM", self.t("error.form"))

    def link(self, path: str, state: State | None = None, **more: object) -> str:
        """Return an address in the language of the page."""
        values: dict[str, str | None] = state.values() if state is not None else {}
        values |= {key: None if value is None else str(value) for key, value in more.items()}
        values["lang"] = self.asked
        return address(self.to(path), values)

    def other_language(self) -> str:
        """Return this page's address in the other language."""
        kept = {} if self.private else self.values
        values: dict[str, str | None] = {**kept, "lang": self.t("language.other_code")}
        return address(self.to(self.path), values)


@cache
def _environment() -> Environment:
    found = Environment(
        loader=PackageLoader("discreet.page"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.globals["svg"] = Markup  # the drawings are our own, with every text in them escaped
    found.globals["unit"] = unit_word
    return found


def render(
    visit: Visit,
    template: str,
    status: int = 200,
    headers: Mapping[str, str] | None = None,
    **context: Any,
) -> HTMLResponse:
    """Return a page."""
    html = (
        _environment()
        .get_template(template)
        .render(
            t=visit.t,
            lang=visit.t.lang,
            visit=visit,
            link=visit.link,
            static=visit.static,
            **context,
        )
    )
    common = {"Cache-Control": "no-cache", "Vary": "Accept-Language"}
    return HTMLResponse(html, status, {**common, **(headers or {})})
