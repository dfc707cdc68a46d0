"""Data sets as PxWebApi describes tables: lists of them, their metadata, their code lists."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

from discreet.errors import ParameterError
from discreet.population.schema import Level, Variable
from discreet.release.text import clean
from discreet.server.levels import default_level, levels_of, variables_of
from discreet.server.px.selection import Selected, codelist_id
from discreet.service.opened import Opened

LANGUAGE = "en"
VERSION = "2.0.0"


def listed(tables: Sequence[Opened], given: dict[str, str], base: str) -> dict[str, Any]:
    """Return a page of the tables in which the words of a search stand."""
    words = given.get("query", "").casefold().split()
    days = _number(given, "pastDays", 0)
    found = [t for t in tables if all(w in _text(t) for w in words) and _within(t, days)]
    size, page = _number(given, "pageSize", 20) or 20, _number(given, "pageNumber", 1) or 1
    return {
        "language": LANGUAGE,
        "tables": [summary(t, base) for t in found[(page - 1) * size : page * size]],
        "page": {
            "pageNumber": page,
            "pageSize": size,
            "totalElements": len(found),
            "totalPages": -(-len(found) // size),
        },
        "links": [_link("self", f"{base}/tables")],
    }


def _number(given: dict[str, str], name: str, default: int) -> int:
    text = given.get(name, str(default))
    if not text.isdecimal() or len(text) > 9:
        raise ParameterError(f"{name} must be a whole number. Got '{text[:64]}'.")
    return int(text)


def _text(opened: Opened) -> str:
    """Return all that a search looks at."""
    schema = opened.schema
    names = [f"{v.id} {v.label}" for v in variables_of(opened)]
    levels = [f"{lv.id} {lv.label}" for v in variables_of(opened) for lv in levels_of(opened, v)]
    return " ".join([schema.id, schema.title, schema.unit, *names, *levels]).casefold()


def _within(opened: Opened, days: int) -> bool:
    return not days or (datetime.now(UTC) - _updated(opened)).days < days


def _updated(opened: Opened) -> datetime:
    found = datetime.fromisoformat(str(opened.version.manifest["created"]))
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def _moment(opened: Opened) -> str:
    return _updated(opened).astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _link(rel: str, href: str) -> dict[str, str]:
    return {"rel": rel, "hreflang": LANGUAGE, "href": href}


def summary(opened: Opened, base: str) -> dict[str, Any]:
    """Return a table in brief."""
    here = f"{base}/tables/{opened.id}"
    return {
        "language": LANGUAGE,
        "id": opened.id,
        "label": clean(opened.schema.title),
        "description": "",
        "updated": _moment(opened),
        "firstPeriod": "",
        "lastPeriod": "",
        "category": "public",
        "variableNames": [clean(v.label) for v in variables_of(opened)],
        "source": clean(opened.schema.title),
        "timeUnit": "Other",
        "paths": [],
        "links": [
            _link("self", here),
            _link("metadata", f"{here}/metadata"),
            _link("data", f"{here}/data"),
        ],
    }


def metadata(opened: Opened, base: str) -> dict[str, Any]:
    """Return a table without figures, in JSON-stat 2.0."""
    variables = variables_of(opened)
    shown = {v.id: default_level(opened, v) for v in variables}
    areas = [v.id for v in variables if v.is_geography]
    return {
        "version": "2.0",
        "class": "dataset",
        "href": f"{base}/tables/{opened.id}/metadata",
        "label": clean(opened.schema.title),
        "source": clean(opened.schema.title),
        "updated": _moment(opened),
        **({"role": {"geo": areas}} if areas else {}),
        "id": list(shown),
        "size": [len(level) for level in shown.values()],
        "dimension": {v.id: _dimension(opened, v, shown[v.id], base) for v in variables},
        "extension": {"px": {"tableid": opened.id, "decimals": 0, "language": LANGUAGE}},
    }


def _dimension(opened: Opened, variable: Variable, level: Level, base: str) -> dict[str, Any]:
    lists = [
        {
            "id": codelist_id(opened, other),
            "label": clean(other.label),
            "type": _kind(level, other),
            "links": [_link("metadata", f"{base}/codelists/{codelist_id(opened, other)}")],
        }
        for other in levels_of(opened, variable)
    ]
    extension = {"elimination": True, "show": "value", "codelists": lists, "codeLists": lists}
    return {
        "label": clean(variable.label),
        **({"note": [clean(variable.definition)]} if variable.definition else {}),
        "category": category(level.codes, level.labels),
        "extension": extension,
    }


def category(codes: Sequence[str], labels: Sequence[str]) -> dict[str, Any]:
    """Return the categories of a dimension; the order is an object, as PxWebApi has it."""
    return {
        "index": {code: i for i, code in enumerate(codes)},
        "label": {code: clean(label) for code, label in zip(codes, labels, strict=True)},
    }


def _kind(default: Level, level: Level) -> str:
    return "Aggregation" if level is not default and default.refines(level) else "Valueset"


def codelist(opened: Opened, variable: Variable, level: Level, base: str) -> dict[str, Any]:
    """Return a level as a code list; an aggregation says which codes each of its own holds."""
    default = default_level(opened, variable)
    kind = _kind(default, level)
    maps = list(_holds(default, level)) if kind == "Aggregation" else [[c] for c in level.codes]
    return {
        "id": codelist_id(opened, level),
        "label": clean(level.label),
        "language": LANGUAGE,
        "languages": [LANGUAGE],
        "elimination": True,
        "type": kind,
        "values": [
            {"code": code, "label": clean(label), "valueMap": held}
            for code, label, held in zip(level.codes, level.labels, maps, strict=True)
        ],
        "links": [_link("self", f"{base}/codelists/{codelist_id(opened, level)}")],
    }


def _holds(default: Level, level: Level) -> Iterator[list[str]]:
    held: list[list[str]] = [[] for _ in level.codes]
    for code, finest in zip(default.codes, default.member.tolist(), strict=True):
        if finest >= 0:
            held[int(level.of[finest])].append(code)
    return iter(held)


def default_selection(opened: Opened, chosen: tuple[Selected, ...]) -> dict[str, Any]:
    """Return what is answered where nothing is selected; a variable without codes is summed."""
    shown = {one.variable.id: one for one in chosen}
    selection = [
        {
            "variableCode": v.id,
            "valueCodes": list(shown[v.id].codes) if v.id in shown else [],
            **({"codelist": codelist_id(opened, shown[v.id].level)} if v.id in shown else {}),
        }
        for v in variables_of(opened)
    ]
    names = list(shown)
    return {
        "selection": selection,
        "placement": {"heading": names[1:], "stub": names[:1]},
        "language": LANGUAGE,
        "links": [],
    }
