"""The pages' routes. The address says all there is to know.

A GET publishes nothing: a table that is not released yet is published by the button of the builder
alone, which posts a token that only the server can make.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from fastapi import APIRouter, FastAPI, Request
from starlette.responses import RedirectResponse, Response

from discreet.errors import (
    Busy,
    Forbidden,
    NotReleased,
    ParameterError,
    QueryRefused,
    Starting,
    TooLong,
    Unavailable,
    UnknownDataset,
)
from discreet.page import actions, assets, certificate, pages, result
from discreet.page.claims import Claims, posted
from discreet.page.foresight import Foresight
from discreet.page.state import State
from discreet.page.texts import texts
from discreet.page.visit import ROBOTS, Visit, render, root_of
from discreet.pictures import png
from discreet.policy import Margins
from discreet.population import Schema
from discreet.release import Release
from discreet.rules import Code
from discreet.service import Opened, Service
from discreet.service.service import Known

Page = Callable[[Service, Request, Visit], Awaitable[Response]]


def mount(app: FastAPI, service: Service) -> None:
    """Add the pages to an application."""
    router = APIRouter(include_in_schema=False)
    for path, page in PAGES.items():
        router.add_api_route(path, _guarded(service, page), response_class=Response)
    router.add_api_route(TABLE, _claimed(service), methods=["POST"], response_class=Response)
    router.add_api_route("/static/{name}", _static, response_class=Response)
    router.add_api_route("/robots.txt", _robots, response_class=Response)
    app.include_router(router)


async def _home(service: Service, request: Request, visit: Visit) -> Response:
    return pages.home(service, visit)


async def _accessibility(service: Service, request: Request, visit: Visit) -> Response:
    return render(visit, "accessibility.html", place="accessibility")


async def _api(service: Service, request: Request, visit: Visit) -> Response:
    return pages.api(service, visit, str(request.base_url).rstrip("/"))


async def _dataset(service: Service, request: Request, visit: Visit) -> Response:
    base = str(request.base_url).rstrip("/")
    return pages.dataset(service, _opened(service, request), visit, base)


async def _method(service: Service, request: Request, visit: Visit) -> Response:
    return pages.method(_opened(service, request), visit)


async def _certificate(service: Service, request: Request, visit: Visit) -> Response:
    opened = _opened(service, request)
    return certificate.page(opened, visit, pages.common(opened))


async def _certificate_file(service: Service, request: Request, visit: Visit) -> Response:
    return certificate.as_file(_opened(service, request))


async def _build(service: Service, request: Request, visit: Visit) -> Response:
    opened = _opened(service, request)
    moved = _edited(request, visit, opened.schema)
    return moved or pages.build(Foresight(service, opened), visit)


async def _table(service: Service, request: Request, visit: Visit) -> Response:
    opened = _opened(service, request)
    moved = _edited(request, visit, opened.schema)
    if moved is not None:
        return moved
    state, foresight = State.read(visit.values, opened.schema), Foresight(service, opened)
    if not state.by:
        return RedirectResponse(visit.link(f"/datasets/{opened.id}/build", state), 303)
    try:
        release = await _release(foresight, state, visit)
    except NotReleased:
        return pages.build(foresight, visit)
    except QueryRefused as refused:
        if refused.code in BAR:
            return pages.build(foresight, visit, BAR[refused.code])
        return result.refused(foresight, state, refused, visit)
    origin = str(request.base_url).rstrip("/").removesuffix(visit.root)
    return result.table(foresight, state, release, visit, origin)


TABLE = "/datasets/{dataset}/table"
# Refusals of which the bar of the builder gives the reason.
BAR: dict[str, int] = {Code.USED_UP: 403, Code.TOO_LARGE: 413}


def _claimed(service: Service) -> Callable[[Request], Awaitable[Response]]:
    """Return the route of the button that publishes."""
    claims = Claims(service)

    async def answer(request: Request) -> Response:
        pairs = await posted(request)

        async def page(service: Service, request: Request, visit: Visit) -> Response:
            return await claims.claim(_opened(service, request), visit, pairs)

        return await _answer(service, request, Visit.of(request, pairs), page)

    return answer


async def _robots(request: Request) -> Response:
    away = (
        "/api/",
        "/me",
        "/office",
        "/sign-in",
        "/invitation/",
        "/datasets/*/table",
        "/datasets/*/build",
        "/datasets/*/chart.",
        "/datasets/*/shown.",
    )
    lines = ["User-agent: *", *(f"Disallow: {root_of(request.scope)}{path}" for path in away)]
    return Response("\n".join(lines) + "\n", media_type="text/plain")


async def _chart(service: Service, request: Request, visit: Visit) -> Response:
    form = request.path_params["form"]
    if form not in ("svg", "png"):
        return failed(visit, 404, "error.unknown")
    drawn = result.chart_file(*await _released(service, request, visit), visit)
    if drawn is None:
        return failed(visit, 404, "chart.none")
    svg, stem = drawn
    if form == "svg":
        return _named(svg, f"{stem}.svg", "image/svg+xml")
    return _named(await asyncio.to_thread(png, svg), f"{stem}.png", "image/png")


async def _shown(service: Service, request: Request, visit: Visit) -> Response:
    released = await _released(service, request, visit)
    file, stem = await asyncio.to_thread(result.shown_file, *released, visit)
    return _named(file, stem, "text/csv; charset=utf-8")


PAGES: dict[str, Page] = {
    "/": _home,
    "/accessibility": _accessibility,
    "/api": _api,
    "/datasets/{dataset}": _dataset,
    "/datasets/{dataset}/method": _method,
    "/datasets/{dataset}/certificate": _certificate,
    "/datasets/{dataset}/certificate.json": _certificate_file,
    "/datasets/{dataset}/build": _build,
    TABLE: _table,
    "/datasets/{dataset}/chart.{form}": _chart,
    "/datasets/{dataset}/shown.csv": _shown,
}


async def _static(name: str) -> Response:
    found = assets.files().get(name)
    if found is None:
        return Response(status_code=404)
    kept = {"Cache-Control": "public, max-age=31536000, immutable"}
    return Response(found[0], headers=kept, media_type=found[1])


def _opened(service: Service, request: Request) -> Opened:
    opened = service.opened(request.path_params["dataset"], known(request))
    request.state.tier = opened.tier.id
    return opened


def known(request: Request) -> Known | None:
    """Return who sent a request, if that is known."""
    return getattr(request.state, "known", None)


async def _released(
    service: Service, request: Request, visit: Visit
) -> tuple[Opened, State, Release]:
    """Return the data set, the state and the release that an address asks for."""
    opened = _opened(service, request)
    state = State.read(visit.values, opened.schema)
    return opened, state, await _release(Foresight(service, opened), state, visit)


async def _release(foresight: Foresight, state: State, visit: Visit) -> Release:
    """Return a release if that publishes nothing; raises `NotReleased` otherwise."""
    if state.question is None:
        raise ParameterError("by must name at least one variable, like by=sex,age_band.")
    service, opened = foresight.service, foresight.opened
    asked = foresight.asked(state.question, result.totals(opened, visit))
    if not service.holds(asked) and service.published(asked) and not foresight.decided(asked):
        asked = foresight.asked(state.question, Margins.NONE.value)  # its totals are not published
    return await service.release(asked, claim=False)


def _named(content: str | bytes, name: str, kind: str) -> Response:
    told = {"Content-Disposition": f'inline; filename="{name}"', "Cache-Control": "no-cache"}
    return Response(content, headers=told | ROBOTS, media_type=kind)


def _edited(request: Request, visit: Visit, schema: Schema) -> Response | None:
    """Return where a change of the form leads: to the address that says the new state."""
    pairs = request.query_params.multi_items()
    values = visit.values
    if "first" in values:
        state, opened = pages.sentence(values, schema), None
    elif actions.is_edit(pairs):
        state, opened = actions.edited(State.read(values, schema), pairs)
    else:
        return None
    kept = {key: values[key] for key in ("find", "area") if values.get(key, "").strip()}
    action = values.get("do", "")
    if action.startswith(("only:", "also:", "clear:geography")):
        kept.pop("area", None)
    target = visit.link(visit.path, state, open=opened, **kept)
    return RedirectResponse(target, 303)


def failed(visit: Visit, status: int, text: str, retry: int | None = None, **more: Any) -> Response:
    """Return the page of a failure; `text` is the key of its sentence."""
    said = visit.t(text, n=retry) if retry is not None else visit.t(text)
    headers = {"Cache-Control": "no-store"}
    if retry is not None:
        headers["Retry-After"] = str(retry)
    more = {"detail": "", "number": "", "build": "", **more}
    return render(visit, "error.html", status, headers, said=said, place="", **more)


def error_page(
    status: int,
    code: str,
    message: str,
    hint: str | None,
    hints: tuple[Any, ...],
    number: str,
    root: str = "",
) -> Response:
    """Return the page of a failure outside the pages themselves, such as too many requests."""
    visit = Visit(texts("en"), None, "/", {}, root=root)
    if status == 404:
        return failed(visit, status, "error.unknown")
    if status >= 500:
        return failed(visit, status, "error.failed", number=number)
    return render(
        visit, "error.html", status, said=" ".join(filter(None, [message, hint])),
        place="", detail="", number=number, build="",
    )  # fmt: skip


def _guarded(service: Service, page: Page) -> Callable[[Request], Awaitable[Response]]:
    """Return a route that tells its failures in the language of the page."""

    async def answer(request: Request) -> Response:
        return await _answer(service, request, Visit.of(request), page)

    return answer


async def _answer(service: Service, request: Request, visit: Visit, page: Page) -> Response:
    name = request.path_params.get("dataset")
    build = "" if name is None else visit.link(f"/datasets/{name}/build")
    try:
        return await page(service, request, visit)
    except UnknownDataset:
        return failed(visit, 404, "error.dataset")
    except Forbidden as error:
        return failed(visit, 403, "error.forbidden", detail=str(error), build=build)
    except NotReleased:
        here = visit.link(f"/datasets/{name}/build", None, **_asked(visit))
        return failed(visit, 403, "error.not_released", build=here)
    except (ParameterError, QueryRefused) as error:
        return failed(visit, 400, "error.link", detail=_sentence(error), build=build)
    except Unavailable:
        return failed(visit, 503, "error.ledger", 30, build=build)
    except Busy as error:
        return failed(visit, 503, "error.busy", error.retry_after, build=build)
    except TooLong:
        return failed(visit, 503, "error.slow", 30, build=build)
    except Starting:
        return failed(visit, 503, "error.starting", 2)


def _asked(visit: Visit) -> dict[str, str]:
    """Return the question of an address, as it is."""
    return {
        key: visit.values[key]
        for key in ("by", "columns", "layers", "where")
        if key in visit.values
    }


def _sentence(error: BaseException) -> str:
    text = str(error)
    return text[:1].upper() + text[1:]
