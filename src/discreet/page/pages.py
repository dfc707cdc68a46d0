"""The pages around the table: home, a data set, the builder, the method, for programs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from starlette.responses import Response

from discreet.errors import Starting
from discreet.page import certificate, described, fixes
from discreet.page.builder import builder, examples, limits, scope, sizes, title
from discreet.page.charts.choose import unit_word
from discreet.page.foresight import Foresight
from discreet.page.ranges import SIZES
from discreet.page.state import State
from discreet.page.told import of_tier
from discreet.page.verdict import judge, reasons
from discreet.page.visit import ROBOTS, Visit, render
from discreet.population import Schema
from discreet.release.beforehand import is_base
from discreet.service import FORMATS, Opened, Service

MOST_AREAS = 300
"""The longest list of areas in the sentence; beyond it, only larger areas are in it."""


def home(service: Service, visit: Visit) -> Response:
    """Return the first page."""
    found = list(service.catalogue.datasets.values())
    if not found and not service.ready:
        raise Starting("The server is starting.")
    return render(
        visit, "home.html", place="datasets", datasets=found, synthetic=_all_synthetic(found),
        changed=not found or any(of_tier(opened, visit.t).changed for opened in found),
    )  # fmt: skip


def _all_synthetic(found: list[Opened]) -> bool:
    return bool(found) and all(synthetic(opened) for opened in found)


def synthetic(opened: Opened) -> bool:
    """Whether the people are invented, as the policy or the title says."""
    return opened.policy.synthetic or "synthetic" in opened.schema.title.casefold()


def common(opened: Opened) -> dict[str, Any]:
    """Return what every page of a data set shows."""
    return {"opened": opened, "schema": opened.schema, "synthetic": synthetic(opened)}


def dataset(service: Service, opened: Opened, visit: Visit, base: str) -> Response:
    """Return the page of a data set: the sentence, starts, variables."""
    schema, t = opened.schema, visit.t
    geography = schema.geography
    places = []
    if geography is not None:
        for level in geography.levels[1:] or geography.levels:
            if len(level) <= MOST_AREAS:
                places.append((level, list(zip(level.codes, level.labels, strict=True))))
    binary = [v for v in schema.columns if len(v.finest) <= 3]
    choices = [(level.id, level.label) for v in schema.columns for level in v.levels]
    unit = unit_word(schema.unit, t)
    started = []
    foresight = Foresight(service, opened)
    for state in examples(schema):
        question = state.question
        assert question is not None
        started.append((title(state, unit, t), state, foresight.of(question)))
    first, second = started[0][1].by[0], started[0][1].by[-1]
    people = [(v.label, v.id, sizes(v, t)) for v in schema.columns]
    levels = () if geography is None else geography.levels[::-1]
    areas = [(one.label, one.id, t("dataset.number_of_areas", n=len(one))) for one in levels]
    return render(
        visit, "dataset.html", place="datasets", binary=binary, choices=choices,
        first=first, second=second, places=places, started=started,
        groups=[("people", people), ("places", areas)],
        geography=geography,
        told=of_tier(opened, t), described=described.of_dataset(opened, base),
        **common(opened),
    )  # fmt: skip


def sentence(values: Mapping[str, str], schema: Schema) -> State:
    """Return the state that the sentence on a data set's page says."""
    by = [values.get("first", ""), values.get("second", "")]
    chosen: list[str] = []
    taken = set()
    for name in by:
        if name and schema.find(name)[0].id not in taken:
            taken.add(schema.find(name)[0].id)
            chosen.append(name)
    where = ",".join(part for part in (values.get("who", ""), values.get("place", "")) if part)
    return State.read({"by": ",".join(chosen), "where": where}, schema)


def build(foresight: Foresight, visit: Visit, status: int = 200, notice: str = "") -> Response:
    """Return the builder; `notice` is the key of what is to be read first."""
    opened, t, values = foresight.opened, visit.t, visit.values
    state = State.read(values, opened.schema)
    verdict = judge(state, foresight, t)
    shown = builder(
        state, foresight, values.get("open"), values.get("area", ""), values.get("find", ""), t
    )
    unit = unit_word(opened.schema.unit, t)
    barred = verdict.kind == "barred"
    return render(
        visit, "build.html", status, ROBOTS, place="build", state=state, verdict=verdict, b=shown,
        title=title(state, unit, t), scope=scope(state, t), limits=limits(state, t),
        fixes=fixes.before(state, foresight, t) if barred else [], advice=fixes.advice(state, t),
        starts=[(title(s, unit, t), s) for s in examples(opened.schema)], notice=notice,
        area=values.get("area", ""), find=values.get("find", ""),
        opened_panel=values.get("open") if shown.panel is not None else None,
        **common(opened),
    )  # fmt: skip


def method(opened: Opened, visit: Visit) -> Response:
    """Return how figures are protected, as far as the policy publishes it."""
    protection = opened.tier.protection
    options = ", ".join(f"{key} {value}" for key, value in protection.options.items())
    name = protection.method
    if visit.t.has(f"method.methods.{name}"):
        name = visit.t(f"method.methods.{name}")
    return render(
        visit, "method.html", place="method", tier=opened.tier, protection=protection,
        options=options, name=name, told=of_tier(opened, visit.t), base=is_base(opened.version),
        sizes=SIZES, refused=reasons(opened.tier), certified=certificate.shown(opened, visit.t),
        **common(opened),
    )  # fmt: skip


def api(service: Service, visit: Visit, base: str) -> Response:
    """Return the page for programs."""
    found = list(service.catalogue.datasets.values())
    example = ""
    if found:
        state = examples(found[0].schema)[0]
        example = (
            f"curl '{base}/api/v1/datasets/{found[0].id}/table?by={','.join(state.by)}&format=csv'"
        )
    return render(
        visit, "api.html", place="api", formats=", ".join(FORMATS), example=example,
        synthetic=_all_synthetic(found),
    )  # fmt: skip
