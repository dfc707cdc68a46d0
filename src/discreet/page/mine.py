"""What is somebody's own: their licence, their tables, their history, their requests."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from urllib.parse import urlencode

from starlette.responses import Response

from discreet.errors import DiscreetError, Forbidden, ParameterError, QueryRefused
from discreet.ledger import State as Ledgered
from discreet.page.builder import scope, title
from discreet.page.charts.choose import unit_word
from discreet.page.desk import Context, see
from discreet.page.fixes import before
from discreet.page.foresight import Foresight
from discreet.page.state import State
from discreet.page.visit import render
from discreet.people.exported import as_csv
from discreet.people.reviews import Refused
from discreet.people.saved import SavedTable

_STORED = {"Cache-Control": "no-store"}
_SHOWN = 100
"""Lines of a history on a page."""


async def licence(context: Context, made: str = "") -> Response:
    """Return what somebody may use, and what they have left; `made` is a key to be shown once."""
    who, people = context.who, context.people
    used = []
    for dataset in context.service.catalogue.datasets:
        with suppress(Forbidden):
            used.append(context.opened(dataset))
    left = await asyncio.to_thread(people.uses.left, who)
    keys = await asyncio.to_thread(people.entrance.keys, who.person)
    return render(
        context.visit, "licence.html", 200, _STORED, place="me", who=who, left=left,
        datasets=used, keys=[key for key in keys if key.live], made=made,
    )  # fmt: skip


async def make_key(context: Context) -> Response:
    """Make a key and show it, this once."""
    who, name = context.who, context.visit.values.get("name", "")
    project = "" if who.project is None else who.project.id
    make = context.people.entrance.make_key
    key = await asyncio.to_thread(make, who.person, name, 365, project, (), who)
    return await licence(context, key)


async def end_key(context: Context) -> Response:
    """End a key of one's own."""
    who, id = context.who, context.visit.values.get("key", "")
    await asyncio.to_thread(context.people.entrance.end_key, id, who.person, who)
    return see(context.visit.link("/me"))


async def work_in(context: Context) -> Response:
    """Go on in another project."""
    project = context.visit.values.get("project", "")
    await asyncio.to_thread(context.people.entrance.work_in, context.who, project)
    return see(context.visit.link("/me"))


# Tables


async def tables(context: Context) -> Response:
    """Return the tables that somebody has saved, or their project has."""
    shared = context.visit.values.get("of") == "project"
    saved = await asyncio.to_thread(context.people.saved.of, context.who, shared)
    find = context.visit.values.get("find", "").strip()
    rows = [_row(context, one) for one in saved if find.casefold() in one.name.casefold()]
    reviews = context.people.reviews
    sent = await asyncio.to_thread(reviews.all, None, context.who.person.id)
    return render(
        context.visit, "my-tables.html", 200, _STORED, place="tables", rows=rows, shared=shared,
        find=find, who=context.who, requests=[] if shared else sent[::-1],
    )  # fmt: skip


_TAGS = {
    Ledgered.RELEASED: ("ok", "check", "released"),
    Ledgered.SUMS: ("ok", "sigma", "sums"),
    Ledgered.LOOK: ("wait", "star", "new"),
    Ledgered.FREE: ("wait", "star", "new"),
    Ledgered.USED: ("no", "cross", "used"),
    Ledgered.REFUSED: ("no", "cross", "refused"),
}


def _row(context: Context, one: SavedTable) -> dict[str, object]:
    """Return a saved table with what would become of it now, in the tier of whoever looks."""
    found: dict[str, object] = {"saved": one, "title": "", "tag": ("no", "cross", "gone")}
    with suppress(DiscreetError):
        opened = context.opened(one.dataset)
        values = dict(pair.split("=", 1) for pair in one.address.split("&") if "=" in pair)
        state = State.read(_decoded(values), opened.schema)
        found["title"] = title(state, unit_word(opened.schema.unit, context.visit.t),
                               context.visit.t)  # fmt: skip
        assert state.question is not None
        foreseen = Foresight(context.service, opened).of(state.question)
        if foreseen.outlook is not None:
            found["tag"] = _TAGS[foreseen.outlook.state]
    return found


def _decoded(values: dict[str, str]) -> dict[str, str]:
    from urllib.parse import unquote_plus

    return {key: unquote_plus(value) for key, value in values.items()}


async def save(context: Context) -> Response:
    """Keep a table under a name."""
    values = context.visit.values
    opened = context.opened(values.get("dataset", ""))
    state = State.read(values, opened.schema)
    if state.question is None:
        raise ParameterError("a table must have a variable to be saved.")
    address = urlencode({key: text for key, text in state.values().items() if text})
    await asyncio.to_thread(
        context.people.saved.save, context.who, opened.id, values.get("name", ""), address,
        values.get("shared") == "yes",
    )  # fmt: skip
    return see(context.visit.link("/me/tables"))


async def change_table(context: Context) -> Response:
    """Share a table of one's own, or no longer, or forget it."""
    values, saved = context.visit.values, context.people.saved
    id, what = int(values.get("id", "0") or 0), values.get("do", "")
    if what == "drop":
        await asyncio.to_thread(saved.drop, context.who, id)
    else:
        await asyncio.to_thread(saved.share, context.who, id, what == "share")
    return see(context.visit.link("/me/tables"))


# History


async def history(context: Context) -> Response:
    """Return one's own lines of the record."""
    email = context.who.person.email
    lines = await asyncio.to_thread(context.people.record.lines, email, "", "", _SHOWN)
    return render(
        context.visit, "history.html", 200, _STORED, place="history", lines=lines[::-1],
        years=context.years(), most=_SHOWN,
    )  # fmt: skip


async def history_file(context: Context) -> Response:
    """Return all of one's own lines as a file."""
    lines = await asyncio.to_thread(context.people.record.lines, context.who.person.email)
    told = {"Content-Disposition": 'attachment; filename="history.csv"', **_STORED}
    return Response(as_csv(lines), headers=told, media_type="text/csv; charset=utf-8")


# Requests


def _asked(context: Context) -> tuple[Foresight, State]:
    opened = context.opened(context.visit.values.get("dataset", ""))
    return Foresight(context.service, opened), State.read(context.visit.values, opened.schema)


async def request_page(context: Context) -> Response:
    """Return the form by which a question that is refused is sent for review."""
    foresight, state = _asked(context)
    if state.question is None:
        raise ParameterError("by must name at least one variable, like by=sex,age_band.")
    t = context.visit.t
    return render(
        context.visit, "request.html", 200, _STORED, place="tables", state=state,
        opened=foresight.opened, title=title(state, unit_word(foresight.opened.schema.unit, t), t),
        scope=scope(state, t), coarser=before(state, foresight, t)[:3],
        cells=state.question.cells,
    )  # fmt: skip


async def send(context: Context) -> Response:
    """Send a question for review, if the rules refuse it."""
    foresight, state = _asked(context)
    if state.question is None:
        raise ParameterError("by must name at least one variable, like by=sex,age_band.")
    opened, values = foresight.opened, context.visit.values
    code = await _refusal(context, foresight, state)
    ledgers = opened.releaser.ledgers
    about = Refused(
        opened.id, opened.tier.id, ledgers.edition(opened.tier), state.question.by,
        state.question.where, "none", code,
    )  # fmt: skip
    coarser = "; ".join(text for key, text in values.items() if key.startswith("coarser."))
    id = await asyncio.to_thread(
        context.people.reviews.send, context.who, about, values.get("purpose", ""), coarser,
        values.get("wanted", ""),
    )  # fmt: skip
    context.about.post.request(context.people, id)
    return see(context.visit.link("/me/tables"))


async def _refusal(context: Context, foresight: Foresight, state: State) -> str:
    """Return the code by which a question is refused; complain if it is not."""
    assert state.question is not None
    foreseen = foresight.of(state.question)
    if foreseen.code is not None:
        return foreseen.code
    if foreseen.kind == "used":
        return "USED_UP"
    try:
        await context.service.release(foresight.asked(state.question, "none"), claim=False)
    except QueryRefused as refused:
        return refused.code
    except DiscreetError:
        pass
    raise ParameterError(context.visit.t("request.not_refused"))
