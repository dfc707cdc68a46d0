"""What the pages of people have in common: who may see them, their forms, their failures."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

from fastapi import APIRouter, FastAPI, Request
from starlette.responses import RedirectResponse, Response

from discreet.errors import DiscreetError, Forbidden, ParameterError, Unavailable
from discreet.page.claims import posted
from discreet.page.post import Post
from discreet.page.visit import Visit, render
from discreet.people.model import Role, Who
from discreet.people.people import People
from discreet.service import Opened, Service
from discreet.service.service import Known


@dataclass
class About:
    """How people sign in here, and are told of things; it may change while a server runs."""

    post: Post
    organisation: str = ""
    """The address of the office's own sign-on, empty for none."""
    passwords: bool = True


@dataclass(frozen=True, eq=False)
class Context:
    """One request to a page of people."""

    request: Request
    visit: Visit
    service: Service
    people: People
    about: About

    @property
    def who(self) -> Who:
        """Who has signed in; asked for on pages for such people only."""
        assert self.visit.who is not None
        return self.visit.who

    @property
    def secure(self) -> bool:
        """Whether the reader's connection is encrypted."""
        return bool(getattr(self.request.state, "secure", False))

    @property
    def known(self) -> Known | None:
        """How whoever asks sees data sets."""
        return getattr(self.request.state, "known", None)

    def opened(self, dataset: str) -> Opened:
        """Return a data set as whoever asks sees it."""
        return self.service.opened(dataset, self.known)

    def years(self) -> int:
        """Return how long the record is kept, by the longest of the policies."""
        found = [opened.policy.record_years for opened in self.service.catalogue.datasets.values()]
        return max(found, default=5)

    def number(self) -> int:
        """Return the number in the address."""
        text = self.request.path_params["id"]
        if not text.isdigit() or len(text) > 12:
            raise ParameterError("there is no such page.")
        return int(text)


Handler = Callable[[Context], Awaitable[Response]]
EVERYBODY: tuple[Role, ...] = tuple(Role)


@dataclass(frozen=True)
class Page:
    """A page of people: what answers on GET and POST, and who may; None: also nobody known."""

    path: str
    get: Handler | None = None
    post: Handler | None = None
    roles: tuple[Role, ...] | None = EVERYBODY


def mount(
    app: FastAPI, service: Service, people: People, pages: tuple[Page, ...], about: About
) -> None:
    """Add pages to an application."""
    router = APIRouter(include_in_schema=False)
    for page in pages:
        for method, handler in (("GET", page.get), ("POST", page.post)):
            if handler is not None:
                route = _route(service, people, about, page, handler)
                router.add_api_route(page.path, route, methods=[method], response_class=Response)
    app.include_router(router)


def _route(
    service: Service, people: People, about: About, page: Page, handler: Handler
) -> Callable[[Request], Awaitable[Response]]:
    async def answer(request: Request) -> Response:
        from discreet.page.signing import from_here

        pairs = await posted(request) if request.method == "POST" else []
        visit = replace(Visit.of(request, pairs), private=request.method == "POST")
        context = Context(request, visit, service, people, about)
        try:
            if not visit.accounts and not page.path.startswith("/sign-in/organisation"):
                return _failed(visit, 404, "error.unknown")
            if page.roles is not None and visit.who is None:
                return see(visit.link("/sign-in", next=request.url.path))
            if page.roles is not None and context.who.person.role not in page.roles:
                raise Forbidden("ROLE", visit.t("error.forbidden"))
            if request.method == "POST":
                if not from_here(request.headers, request.headers.get("host", "")):
                    raise Forbidden("FORM", visit.t("error.form"))
                if page.roles is not None:
                    visit.check_form()
            found = await handler(context)
        except Forbidden as error:
            return _failed(visit, 403, "error.forbidden", str(error))
        except Unavailable:
            return _failed(visit, 503, "error.ledger")
        except (ParameterError, DiscreetError) as error:
            text = str(error)
            return _failed(visit, 400, "error.not_done", text[:1].upper() + text[1:])
        found.headers.setdefault("Cache-Control", "no-store")
        return found

    return answer


def _failed(visit: Visit, status: int, text: str, detail: str = "") -> Response:
    return render(
        visit, "error.html", status, {"Cache-Control": "no-store"}, said=visit.t(text), place="",
        detail=detail, number="", build="",
    )  # fmt: skip


def see(address: str) -> Response:
    """Lead to another page of this server."""
    return RedirectResponse(address, 303, {"Cache-Control": "no-store"})
