"""Governance: people and licences, what their tables tell together, requests, the record."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass

from starlette.responses import Response

from discreet.errors import DiscreetError, ParameterError, QueryRefused
from discreet.page.builder import title
from discreet.page.charts.choose import unit_word
from discreet.page.desk import Context, see
from discreet.page.fixes import before
from discreet.page.foresight import Foresight
from discreet.page.state import State
from discreet.page.visit import render
from discreet.people.exported import as_csv
from discreet.people.model import Holder, Project, Role
from discreet.people.record import Line, Written
from discreet.people.reviews import Answer, Review
from discreet.query import Query, Question, QuestionClass
from discreet.release.record import Record
from discreet.service import Opened
from discreet.service.asking import Asking
from discreet.service.granted import granted, measured
from discreet.study.overlap import Overlap, overlaps

_STORED = {"Cache-Control": "no-store"}
_SHOWN = 200


async def overview(context: Context) -> Response:
    """Return people, projects, licences, and requests that wait."""
    accounts, reviews = context.people.accounts, context.people.reviews
    people = await asyncio.to_thread(accounts.everybody)
    names = {str(one.id): one.email for one in people}
    licences = [
        (one, names.get(one.name, one.name) if one.holder is Holder.PERSON else one.name)
        for one in await asyncio.to_thread(accounts.licences)
    ]
    projects = await asyncio.to_thread(accounts.projects)
    waiting = await asyncio.to_thread(reviews.all, Answer.OPEN)
    return render(
        context.visit, "office.html", 200, _STORED, place="office", people=people,
        projects=projects, licences=licences, waiting=waiting, who=context.who,
        run=[f"discreet certify {p.name}" for p in context.service.catalogue.uncertified],
    )  # fmt: skip


# What their tables tell together


@dataclass(frozen=True)
class Told:
    """What the tables of a data set in a scope tell together."""

    opened: Opened
    tables: list[QuestionClass]
    found: list[Overlap]


async def person(context: Context) -> Response:
    """Return what one person asked for, and what it tells together."""
    chosen = await asyncio.to_thread(context.people.accounts.find, context.number())
    lines = await asyncio.to_thread(context.people.record.lines, chosen.email, "", "asked")
    return await _history(context, chosen.name, chosen.email, None, lines)


async def project(context: Context) -> Response:
    """Return what the people of a project asked for, and what it tells together."""
    id = context.request.path_params["id"]
    chosen = await asyncio.to_thread(context.people.accounts.project, id)
    lines = await asyncio.to_thread(context.people.record.lines, "", chosen.id, "asked")
    return await _history(context, chosen.title, chosen.purpose, chosen, lines)


async def _history(
    context: Context, title: str, about: str, chosen: Project | None, lines: list[Written]
) -> Response:
    told = []
    for opened in context.service.catalogue.datasets.values():
        mine = [one for one in lines if one.line.dataset == opened.id]
        for tier in dict.fromkeys(one.line.tier for one in mine):
            if tier in opened.policy.tiers and not opened.policy.tiers[tier].public:
                some = [one for one in mine if one.line.tier == tier]
                told.append(await asyncio.to_thread(_told, opened, tier, some))
    members = []
    if chosen is not None:
        members = context.people.accounts.members(Holder.PROJECT, chosen.id)
    return render(
        context.visit, "office-history.html", 200, _STORED, place="office", title=title,
        about=about, project=chosen, members=members, told=told, lines=lines[-_SHOWN:][::-1],
        number=len(lines),
    )  # fmt: skip


def _told(opened: Opened, tier: str, lines: list[Written]) -> Told:
    """Return what some answers tell together; the tables are made again and nothing is claimed."""
    classes: dict[QuestionClass, None] = {}
    for one in lines:
        if one.line.verdict in ("released", "sums"):
            with suppress(DiscreetError):  # of a schema that has changed since
                classes[QuestionClass.of(question_of(opened, one.line.question))] = None
    asking = Asking(tier, "", None)
    releaser = measured(opened.seen_by(asking))
    found = overlaps(releaser, tier, list(classes)) if len(classes) > 1 else []
    return Told(opened, list(classes), found)


def question_of(opened: Opened, text: str) -> Question:
    """Return the question of a line in the record."""
    parts = dict(part.split("=", 1) for part in text.split("&"))
    return Question.of(Query.parse(parts["by"], parts.get("where")), opened.schema)


# Requests


@dataclass(frozen=True)
class Choice:
    """One way to answer a request, with what it would tell and what would be left of the truth."""

    kind: str
    text: str
    by: str
    where: str
    cells: int
    record: Record | None
    uses: str

    @property
    def value(self) -> str:
        """What its button sends."""
        return f"{self.kind}&by={self.by}&where={self.where}"


async def request_page(context: Context) -> Response:
    """Return a request with the ways to answer it, the risk and the utility of each in sight."""
    review = await asyncio.to_thread(context.people.reviews.find, context.number())
    opened = _as_asked(context, review)
    choices = await asyncio.to_thread(_choices, context, opened, review)
    state = State.read({"by": review.by, "where": review.where}, opened.schema)
    return render(
        context.visit, "office-request.html", 200, _STORED, place="office", review=review,
        named=title(state, unit_word(opened.schema.unit, context.visit.t), context.visit.t),
        choices=choices, opened=opened, tier=opened.tier,
        maximum=context.service.opened(review.dataset).policy.tier(review.tier).risk.maximum,
    )  # fmt: skip


def _as_asked(context: Context, review: Review) -> Opened:
    """Return the data set as whoever asked sees it."""
    asking = Asking(review.tier, review.scope, None)
    return context.service.opened(review.dataset).seen_by(asking)


def _choices(context: Context, opened: Opened, review: Review) -> list[Choice]:
    question = Question.of(Query.parse(review.by, review.where or None), opened.schema)
    t = context.visit.t
    found = [_choice(opened, "released", t("review.as_asked"), question)]
    values = {"by": review.by, "where": review.where}
    state = State.read(values, opened.schema)
    for fix in before(state, Foresight(context.service, opened), t)[:3]:
        if fix.state.question is not None:
            found.append(_choice(opened, "coarser", fix.text, fix.state.question))
    return found


def _choice(opened: Opened, kind: str, text: str, question: Question) -> Choice:
    """Measure what a question would tell if it were released; nothing is claimed."""
    record = None
    try:
        record = measured(opened).release(question, tier=opened.tier.id).record
    except QueryRefused as refused:
        record = refused.record
    except DiscreetError:
        pass
    outlook = opened.ledger.outlook(QuestionClass.of(question))
    detail = "" if outlook.detail is None else outlook.detail.of.label
    return Choice(kind, text, question.by, question.where, question.cells, record, detail)


async def answer(context: Context) -> Response:
    """Answer a request: what is released is claimed first, and both are in the record."""
    review = await asyncio.to_thread(context.people.reviews.find, context.number())
    wanted = context.visit.values.get("answer", "")
    words = context.visit.values.get("words", "").strip()
    given, uses, kind = ("", "", ""), "", "refused"
    if wanted != "refused":
        opened = _as_asked(context, review)
        # What the page offers, and nothing else that a form may hold.
        choices = await asyncio.to_thread(_choices, context, opened, review)
        chosen = next((one for one in choices if one.value == wanted), None)
        if chosen is None:
            raise ParameterError(context.visit.t("review.choose"))
        given, uses = await asyncio.to_thread(_release, opened, chosen.by, chosen.where)
        kind = chosen.kind
    await asyncio.to_thread(
        context.people.reviews.answer, context.who, review.id, Answer(kind), words, given, uses
    )
    context.about.post.answer(context.people, review, Answer(kind))
    return see(context.visit.link(f"/office/requests/{review.id}"))


def _release(opened: Opened, by: str, where: str) -> tuple[tuple[str, str, str], str]:
    """Claim the table of a question that a custodian releases; return the question, and its class.

    Raises what keeps it from being made.
    """
    question = Question.of(Query.parse(by, where or None), opened.schema)
    eased = granted(opened, claims=True)
    eased.releaser.release(question, tier=eased.tier.id)
    return (question.by, question.where, question.canonical), QuestionClass.of(question).name


# The record, for auditors alone


async def record(context: Context) -> Response:
    """Return the latest lines, and whether the whole is as it was written."""
    kept, values = context.people.record, context.visit.values
    person, project = values.get("person", "").strip().casefold(), values.get("project", "").strip()
    lines = await asyncio.to_thread(kept.lines, person, project, "", _SHOWN)
    verified = await asyncio.to_thread(kept.verify)
    return render(
        context.visit, "record.html", 200, _STORED, place="record", lines=lines[::-1],
        verified=verified, person=person, project=project, most=_SHOWN,
    )  # fmt: skip


async def record_file(context: Context) -> Response:
    """Return the record as a file; that it was taken is in it."""
    await asyncio.to_thread(context.people.record.add, Line.of(context.who, "export"))
    lines = await asyncio.to_thread(context.people.record.lines)
    told = {"Content-Disposition": 'attachment; filename="record.csv"', **_STORED}
    return Response(as_csv(lines), headers=told, media_type="text/csv; charset=utf-8")


GOVERNANCE: tuple[Role, ...] = (Role.CUSTODIAN, Role.AUDITOR)
"""Who sees people, licences and requests."""
