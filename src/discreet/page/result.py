"""The pages after the question was asked: the table, or why it is not available."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from starlette.responses import Response

from discreet.errors import QueryRefused
from discreet.page import charts, described, fixes
from discreet.page.arrange import Options
from discreet.page.builder import scope, title
from discreet.page.charts.choose import WIDTHS, unit_word
from discreet.page.charts.draw import legend_needed
from discreet.page.foresight import Foresight
from discreet.page.grid import grid, of_sums
from discreet.page.names import table_name
from discreet.page.pages import common
from discreet.page.programs import api_address, programs
from discreet.page.quality import sum_picture
from discreet.page.shown import shown
from discreet.page.squares import squares
from discreet.page.state import State
from discreet.page.sums import sums
from discreet.page.texts import Texts
from discreet.page.told import Told, of_release
from discreet.page.verdict import RuleLine, judge
from discreet.page.visit import ROBOTS, Visit, render
from discreet.policy import Margins
from discreet.query import QuestionClass
from discreet.release import Release
from discreet.release.formats import FORMATS, file_name
from discreet.release.formats.tidy import META, Columns
from discreet.release.text import stem
from discreet.rules import Code
from discreet.service import Opened

MOST_NAMED = 200
MOST_WAYS = 4
_FIRST = ("xlsx", "csv", "csv-layout")
"""The formats that most readers want; the others follow in the order of the registry."""


def totals(opened: Opened, visit: Visit) -> str:
    """Return the totals of a page: those of the policy, unless the reader leaves them out."""
    margins = opened.tier.protection.margins
    return "none" if visit.values.get("totals") == "none" else margins.value


def table(
    foresight: Foresight, state: State, release: Release, visit: Visit, base: str
) -> Response:
    """Return the page of a table."""
    opened, t, options = foresight.opened, visit.t, Options.read(visit.values)
    told = of_release(release, opened, t)
    release = _as_told(release, told)
    name, asked = _title(opened, state, visit), release.provenance.totals
    laid = grid(release, state, options, 0 if told.quality is None else told.quality.small, t)
    found = charts.data(release, state, options, name, t)
    kinds = charts.charts(found, t)
    kind = next(
        (k for k in kinds if k.id == visit.values.get("chart")), kinds[0] if kinds else None
    )
    here = _kept(visit)
    if asked != totals(opened, visit):  # totals that are not published yet are left out
        here["totals"] = asked
    assert state.question is not None
    decided = foresight.decided(foresight.asked(state.question))
    cells = [cell for row in laid.rows for cell in row.cells]
    free = len(release.withheld)
    api = visit.to(f"/api/v1/datasets/{opened.id}")
    csv = api_address(api, state, asked, "csv")
    meta = api_address(api, state, asked, route="table/meta")
    address = base + visit.link(f"/datasets/{opened.id}/table", state, **here)
    return render(
        visit, "table.html", 200, ROBOTS, place="build", state=state, release=release, grid=laid,
        title=name, scope=scope(state, t), options=options, told=told, totals=asked,
        margins=opened.tier.protection.margins, has_totals=asked != Margins.NONE.value,
        here=here, path=f"/datasets/{opened.id}/table",
        totals_path=f"/datasets/{opened.id}/{'table' if decided else 'build'}",
        chart=found, kind=kind, kinds=kinds,
        drawings=[charts.drawn(found, kind.id, w, t).text_of() for w in WIDTHS]
        if found is not None and kind is not None else [],
        legend=legend_needed(found, kind.id) if found is not None and kind is not None else (),
        any_sum=next((c for c in cells if c.parts > 1 and c.kind != "missing"), None),
        any_ranges=of_sums(release.table) and release.table.off_at_most is not None
        and options.show == "count",
        any_small=any(cell.kind == "small" for cell in cells),
        any_zero=any(cell.kind == "zero" for cell in cells),
        any_missing=any(cell.kind == "missing" for cell in cells),
        downloads=_downloads(opened, state, asked, visit, here, kind),
        programs=programs(
            base + csv, base + meta, file_name(_stem(opened, state), "csv"),
            Columns.of(release.table),
        ),
        permalink=address,
        described=described.of_table(opened, base + visit.to(""), name, address, base + csv),
        fixes=fixes.ways(state, foresight, t, MOST_WAYS) if free else [],
        sums=sums(release, state, foresight, t), note=visit.values.get("note") == "published",
        picture=sum_picture(told.lines, t) if told.lines else "", cite=_cite(opened, release, t),
        withheld=release.withheld[:MOST_NAMED], withheld_more=max(free - MOST_NAMED, 0),
        available=release.areas - free, squares=squares(release.areas - free, release.areas, t),
        **common(opened),
    )  # fmt: skip


@dataclass(frozen=True)
class Download:
    """A file of this table: what it is, its address, and what it is called."""

    id: str
    text: str
    href: str
    name: str

    @property
    def ending(self) -> str:
        """The ending of its name."""
        return self.name.rsplit(".", 1)[1]


def _downloads(
    opened: Opened, state: State, totals: str, visit: Visit, here: dict[str, Any],
    kind: charts.Chart | None,
) -> list[Download]:  # fmt: skip
    """Return the files that a reader may take away, all named after the question."""
    t, stem, folder = visit.t, _stem(opened, state), f"/datasets/{opened.id}"
    api = visit.to(f"/api/v1{folder}")
    found = []
    for key in dict.fromkeys([*_FIRST, *FORMATS]):
        name, href = file_name(stem, key), api_address(api, state, totals, key)
        text = t(f"take.{key}") if t.has(f"take.{key}") else FORMATS[key].label
        found.append(Download(key, text, href, name))
        if key == "csv":
            meta = api_address(api, state, totals, route="table/meta")
            found.append(Download("meta", t("take.meta"), meta, name + META))
    shown = visit.link(f"{folder}/shown.csv", state, **here)
    found.insert(1, Download("shown", t("take.shown"), shown, f"{stem}-shown.csv"))
    for ending, text in (("svg", "take.chart"), ("png", "take.picture")) if kind else ():
        href = visit.link(f"{folder}/chart.{ending}", state, **here)
        found.append(Download(ending, t(text), href, f"{stem}-{kind.id}.{ending}" if kind else ""))
    return found


def _available(release: Release, visit: Visit) -> str:
    """Return how many areas are available, where some are not; a file must not leave it out."""
    if not release.withheld:
        return ""
    left = release.areas - len(release.withheld)
    return visit.t("refused.picture", n=left, of=release.areas)


def _stem(opened: Opened, state: State) -> str:
    return opened.id if state.question is None else stem(opened.id, state.question)


def shown_file(opened: Opened, state: State, release: Release, visit: Visit) -> tuple[bytes, str]:
    """Return the table of the page as a CSV file, and what it is called."""
    t, options = visit.t, Options.read(visit.values)
    told, unit = of_release(release, opened, t), unit_word(release.provenance.unit, t)
    release = _as_told(release, told)
    kind = unit if options.show == "count" else t(f"table.{options.show}")
    said = [
        (t("table.crumb"), _title(opened, state, visit)),
        (t("build.who"), " ".join(filter(None, [scope(state, t), _available(release, visit)]))),
        (t("table.show"), kind),
        (t("notes.title"), " ".join(told.notes)),
        (t("notes.source"), _cite(opened, release, t)),
    ]
    return shown(release, state, options, said, t), f"{_stem(opened, state)}-shown.csv"


def _as_told(release: Release, told: Told) -> Release:
    """Return a release whose sums are not told apart where no figure was changed."""
    if told.changed:
        return release
    return replace(release, table=replace(release.table, parts=None, off_at_most=None, off_90=None))


def _cite(opened: Opened, release: Release, t: Texts) -> str:
    """Return the source; of sums also the table whose figures were added up."""
    origin = release.provenance
    given = {"title": opened.schema.title, "date": t.date(origin.data_date),
             "version": origin.data_version, "policy": origin.policy_version}  # fmt: skip
    if not of_sums(release.table):
        return t("notes.cite", **given)
    source = QuestionClass.named(origin.table, opened.schema)
    return t("notes.cite_sums", table=t.inside(table_name(source, t)), **given)


def _kept(visit: Visit) -> dict[str, Any]:
    """Return how the table is shown, as an address says it."""
    names = ("show", "names", "sort", "layer", "totals", "chart", "ranges")
    return {key: visit.values[key] for key in names if visit.values.get(key)}


def _title(opened: Opened, state: State, visit: Visit) -> str:
    return title(state, unit_word(opened.schema.unit, visit.t), visit.t)


def chart_file(
    opened: Opened, state: State, release: Release, visit: Visit
) -> tuple[str, str] | None:
    """Return the chart as an SVG file and what it is called, None where there is none."""
    options = Options.read(visit.values)
    name = _title(opened, state, visit)
    found = charts.data(release, state, options, name, visit.t)
    kinds = charts.charts(found, visit.t)
    if found is None or not kinds:
        return None
    kind = next((k.id for k in kinds if k.id == visit.values.get("chart")), kinds[0].id)
    where = " ".join(filter(None, [scope(state, visit.t), _available(release, visit)]))
    said = of_release(release, opened, visit.t).source
    source = f"{where} {opened.schema.title}. {said}"
    return charts.standalone(found, kind, source, visit.t), f"{_stem(opened, state)}-{kind}"


def refused(foresight: Foresight, state: State, error: QueryRefused, visit: Visit) -> Response:
    """Return the page of a refusal: what is told of it, and what would be answered."""
    opened, t, code = foresight.opened, visit.t, error.code
    verdict = judge(state, foresight, t)
    here = {
        "state": state, "title": _title(opened, state, visit), "scope": scope(state, t),
        "verdict": verdict, "place": "build", **common(opened),
    }  # fmt: skip
    if code == Code.NOT_AVAILABLE:
        ways = fixes.ways(state, foresight, t, MOST_WAYS)
        return render(visit, "unavailable.html", 403, ROBOTS, fixes=ways, **here)
    then = "data" if code == Code.NOT_PROTECTED else "question"
    rules = verdict.rules
    if then == "data":
        rules = (RuleLine(t("rules.prepared"), False, t("rules.failed")), *rules)
    return render(
        visit, "refused.html", 413 if code == Code.MAX_CELLS else 403, ROBOTS, then=then,
        rules=rules, fixes=fixes.before(state, foresight, t), code=code,
        failed=next((line.text for line in verdict.rules if line.passed is False), ""),
        advice=fixes.advice(state, t), **here,
    )  # fmt: skip
