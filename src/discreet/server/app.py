"""The application: the API, and the pages if they are installed, over one service."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from fastapi import FastAPI, Request
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.routing import Match

from discreet import __version__, page
from discreet.page.desk import About
from discreet.page.people import mount_people
from discreet.page.post import Post
from discreet.people.people import People
from discreet.population import Store
from discreet.server import discover, px, routes, sdmx, sign_on
from discreet.server.errors import of_status
from discreet.server.front import Front
from discreet.server.identity import Identity
from discreet.server.keeper import Keeper
from discreet.server.log import Log
from discreet.server.metrics import Metrics
from discreet.server.rates import Rates
from discreet.server.settings import Live, Settings
from discreet.service import Service
from discreet.service.shared import Seat

_ABOUT = """Any table of these data sets, protected by the rules that its office has set.

Ask `check` whether a question may be asked, and `table` for the answer. The same question always
has the same answer until the data are published anew; answers carry an ETag."""


def create_app(
    stores: Sequence[Path], settings: Settings | None = None, seat: Seat | None = None
) -> FastAPI:
    """Return the application that serves some stores, alone or as one of several workers.

    The service is `app.state.service`; pages get it by `discreet.page.mount(app, service)`.
    """
    settings = settings or Settings()
    log = Log(worker=None if seat is None else seat.number)
    service = Service(stores, settings.limits, log.trouble, seat)
    metrics = Metrics(service, seat)
    keeper = Keeper(service, log, settings.verify)
    live = Live(settings)
    identity = Identity(People.of_store(stores[0]))
    shared = None if seat is None else seat.shared.tokens
    rates = Rates(settings, shared, identity.people.kept.database, _key_of(stores[0]))

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        await service.start()
        keeper.start()
        rates.start()
        yield
        rates.stop()
        await keeper.stop()
        await service.stop()
        await asyncio.to_thread(app.state.about.post.close)
        identity.people.close()

    app = FastAPI(
        title="Discreet",
        version=__version__,
        description=_ABOUT,
        lifespan=lifespan,
        openapi_url="/api/openapi.json",
        docs_url=None,  # they load scripts from elsewhere
        redoc_url=None,
        redirect_slashes=False,
    )
    app.state.service, app.state.live = service, live
    app.state.identity, app.state.rates = identity, rates
    app.state.log, app.state.metrics, app.state.keeper = log, metrics, keeper
    app.state.api = routes.add(app, service, live, identity.people)
    discover.add(app, app.state.api)
    px.add(app, app.state.api)
    sdmx.add(app, app.state.api)
    page.mount(app, service)
    check(settings)
    about = app.state.about = About(Post(log.trouble))
    sign_on.add(app, service, identity.people, about, live)
    mount_people(app, service, identity.people, about)
    app.exception_handler(HTTPException)(_http)
    app.add_middleware(
        Front, live=live, log=log, metrics=metrics, identity=identity, rates=rates,
        direct=app.state.direct,
    )  # fmt: skip
    reload(app, settings)
    return app


def _key_of(store: Path) -> bytes:
    """Return what the servers of a store alone know, for names that nobody else can read."""
    try:
        return Store(store).secret.read_bytes()
    except OSError:
        return b""  # the store is sealed: nobody is answered


def check(settings: Settings) -> None:
    """Complain about settings that cannot be meant together."""
    sign_on.check(settings)
    settings.mail  # noqa: B018  (raises)


def reload(app: FastAPI, settings: Settings) -> None:
    """Let other settings hold from the next request on."""
    service, mail = app.state.service, settings.mail
    app.state.live.settings = settings
    app.state.rates.use(settings)
    sign_on.reload(app.state.about, app.state.live)
    app.state.about.post.mail = mail
    app.state.keeper.seconds = settings.verify
    service.use(settings.limits)


async def _http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    allow = {"Allow": ", ".join(_allowed(request))} if error.status_code == 405 else {}
    # The front tells it: as a page to people, as JSON to programs.
    raise of_status(error.status_code, allow)


def _allowed(request: Request) -> list[str]:
    """Return the methods of all routes of a path; Starlette would tell those of the first."""
    found: set[str] = set()
    for route in request.app.router.routes:
        if route.matches(request.scope)[0] is not Match.NONE:
            found |= getattr(route, "methods", None) or set()
    return sorted(found | ({"HEAD"} if "GET" in found else set()))
