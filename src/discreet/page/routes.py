"""The pages' routes. Every page is a GET; the address says all there is to know."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from fastapi import APIRouter, FastAPI, Request
from starlette.responses import RedirectResponse, Response

from discreet.errors import Busy, ParameterError, QueryRefused, Starting, TooLong, UnknownDataset
from discreet.page import actions, assets, pages, result
from discreet.page.state import State
from discreet.page.texts import texts
from discreet.page.view import View, render
from discreet.release import Release
from discreet.service import Asked, Opened, Service

Page = Callable[[Service, Request, View], Awaitable[Response]]


def mount(app: FastAPI, service: Service) -> None:
    """Add the pages to an application."""
    router = APIRouter(include_in_schema=False)
    for path, page in PAGES.items():
        router.add_api_route(path, _guarded(service, page), response_class=Response)
    router.add_api_route("/static/{name}", _static, response_class=Response)
    app.include_router(router)


async def _home(service: Service, request: Request, view: View) -> Response:
    return pages.home(service, view)


async def _accessibility(service: Service, request: Request, view: View) -> Response:
    return render(view, "accessibility.html", place="accessibility")


async def _api(service: Service, request: Request, view: View) -> Response:
    return pages.api(service, view, str(request.base_url).rstrip("/"))


async def _dataset(service: Service, request: Request, view: View) -> Response:
    return pages.dataset(_opened(service, request), view)


async def _method(service: Service, request: Request, view: View) -> Response:
    return pages.method(_opened(service, request), view)


async def _build(service: Service, request: Request, view: View) -> Response:
    opened = _opened(service, request)
    return _edited(request, view, opened.schema) or pages.build(opened, view)


async def _table(service: Service, request: Request, view: View) -> Response:
    opened = _opened(service, request)
    moved = _edited(request, view, opened.schema)
    if moved is not None:
        return moved
    state = State.read(view.values, opened.schema)
    if not state.by:
        return RedirectResponse(view.link(f"/datasets/{opened.id}/build", state), 303)
    try:
        release = await _release(service, opened, state, view)
    except QueryRefused as refused:
        return result.refused(opened, state, refused, view)
    return result.table(opened, state, release, view, str(request.base_url).rstrip("/"))


async def _chart(service: Service, request: Request, view: View) -> Response:
    form = request.path_params["form"]
    if form not in ("svg", "png"):
        return failed(view, 404, "error.unknown")
    drawn = result.chart_file(*await _released(service, request, view), view)
    if drawn is None:
        return failed(view, 404, "chart.none")
    svg, stem = drawn
    if form == "svg":
        return _named(svg, f"{stem}.svg", "image/svg+xml")
    return _named(await asyncio.to_thread(_png, svg), f"{stem}.png", "image/png")


async def _shown(service: Service, request: Request, view: View) -> Response:
    released = await _released(service, request, view)
    file, stem = await asyncio.to_thread(result.shown_file, *released, view)
    return _named(file, stem, "text/csv; charset=utf-8")


PAGES: dict[str, Page] = {
    "/": _home,
    "/accessibility": _accessibility,
    "/api": _api,
    "/datasets/{dataset}": _dataset,
    "/datasets/{dataset}/method": _method,
    "/datasets/{dataset}/build": _build,
    "/datasets/{dataset}/table": _table,
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
    return service.opened(request.path_params["dataset"])


async def _released(
    service: Service, request: Request, view: View
) -> tuple[Opened, State, Release]:
    """Return the data set, the state and the release that an address asks for."""
    opened = _opened(service, request)
    state = State.read(view.values, opened.schema)
    return opened, state, await _release(service, opened, state, view)


async def _release(service: Service, opened: Opened, state: State, view: View) -> Release:
    if state.question is None:
        raise ParameterError("by must name at least one variable, like by=sex,age_band.")
    asked = Asked.of(opened, state.question, result.totals(opened, view))
    return await service.release(asked)


def _named(content: str | bytes, name: str, kind: str) -> Response:
    told = {"Content-Disposition": f'inline; filename="{name}"', "Cache-Control": "no-cache"}
    return Response(content, headers=told, media_type=kind)


def _png(svg: str) -> bytes:
    from vl_convert import svg_to_png

    return bytes(svg_to_png(svg, scale=2))


def _edited(request: Request, view: View, schema: Any) -> Response | None:
    """Return where a change of the form leads: to the address that says the new state."""
    pairs = request.query_params.multi_items()
    values = view.values
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
    target = view.link(request.url.path, state, open=opened, **kept)
    return RedirectResponse(target, 303)


def failed(view: View, status: int, text: str, retry: int | None = None, **more: Any) -> Response:
    """Return the page of a failure; `text` is the key of its sentence."""
    said = view.t(text, n=retry) if retry is not None else view.t(text)
    headers = {"Cache-Control": "no-store"}
    if retry is not None:
        headers["Retry-After"] = str(retry)
    more = {"detail": "", "number": "", "build": "", **more}
    return render(view, "error.html", status, headers, said=said, place="", **more)


def error_page(
    status: int, code: str, message: str, hint: str | None, hints: tuple[Any, ...], number: str
) -> Response:
    """Return the page of a failure outside the pages themselves, such as too many requests."""
    view = View(texts("en"), None, "/", {})
    if status == 404:
        return failed(view, status, "error.unknown")
    if status >= 500:
        return failed(view, status, "error.failed", number=number)
    return render(
        view, "error.html", status, said=" ".join(filter(None, [message, hint])),
        place="", detail="", number=number, build="",
    )  # fmt: skip


def _guarded(service: Service, page: Page) -> Callable[[Request], Awaitable[Response]]:
    """Return a route that tells its failures in the language of the page."""

    async def answer(request: Request) -> Response:
        view = View.of(request)
        name = request.path_params.get("dataset")
        build = "" if name is None else view.link(f"/datasets/{name}/build")
        try:
            return await page(service, request, view)
        except UnknownDataset:
            return failed(view, 404, "error.dataset")
        except (ParameterError, QueryRefused) as error:
            return failed(view, 400, "error.link", detail=_sentence(error), build=build)
        except Busy as error:
            return failed(view, 503, "error.busy", error.retry_after, build=build)
        except TooLong:
            return failed(view, 503, "error.slow", 30, build=build)
        except Starting:
            return failed(view, 503, "error.starting", 2)

    return answer


def _sentence(error: BaseException) -> str:
    text = str(error)
    return text[:1].upper() + text[1:]
