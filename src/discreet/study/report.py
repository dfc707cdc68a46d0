"""The report of a study: a page by itself that a methodologist can hand in, and print."""

from __future__ import annotations

import platform
from datetime import UTC, datetime
from hashlib import sha256
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import jinja2
import numpy as np
from markupsafe import Markup

from discreet import __version__
from discreet.study.judge import Known
from discreet.study.map import draw
from discreet.study.measures import MEASURES, POOLED, UNLIKE
from discreet.study.model import On, Table
from discreet.study.run import known_of
from discreet.study.words import (
    error_text,
    limit_text,
    listed,
    lower,
    not_ranked,
    short,
    titled,
)

if TYPE_CHECKING:
    from discreet.study.results import Results

ACROSS = 4
"""Tables side by side in the results."""
MEASURES_ACROSS = 9
SHORT = {"before": "risk before", "transition": "risk", "score": "utility"}


def page(results: Results, now: datetime | None = None) -> str:
    """Return the report as HTML."""
    source = (files("discreet.study") / "report.html").read_text(encoding="utf-8")
    template = jinja2.Environment(autoescape=True).from_string(source)
    study = results.study
    return template.render(
        told=study.told,
        facts=_facts(results, now or datetime.now(UTC)),
        finding=results.finding,
        judged=_judged(results),
        data=_data(results),
        methods=_methods(results),
        tables=[_described(results, table) for table in _tables(results)],
        map=Markup(draw(results)),  # noqa: S704 - every name in it is escaped there
        draws=study.draws,
        limit=limit_text(study.judged.limit),
        results=_groups(results),
        every="every table" if len(results.judged) > 1 else "the table",
        dominated=[(name, listed([lower(b) for b in by], 2)) for name, by in _dominated(results)],
        under=_under(results),
        under_alone=_alone(results),
        never=_never(results),
        count=len(results.judged),
        others=_others(results),
        measures=[MEASURES[name].words for name in study.judged.every],
        printed=_printed(results),
        printed_note="Published figures and ours; the originals are not public where data differ.",
        apart=not_ranked(results),
        notes=_notes(results),
        command=_command(results),
        reproduce=_reproduce(results),
    )


def _tables(results: Results) -> list[Table]:
    return [table for table in results.study.tables if table.name in results.tables]


def _facts(results: Results, now: datetime) -> list[tuple[str, str]]:
    study = results.study
    ran = f"{now:%-d %B %Y}"
    if results.seconds:
        minutes, seconds = divmod(round(results.seconds), 60)
        ran += f", {minutes} min {seconds} s" if minutes else f", {max(seconds, 1)} s"
    tables = f"{len(results.tables)} table{'s' * (len(results.tables) > 1)}"
    return [
        ("Study", study.file.stem if study.file else "in Python"),
        ("Run", ran),
        ("Draws", f"{study.draws:,} each"),
        ("Settings", f"{len(results.under)} on {tables}"),
        ("Software", f"Discreet {__version__}"),
    ]


def _judged(results: Results) -> str:
    judged = results.study.judged
    weights = ", ".join(short(w).rstrip("0") for w in judged.weights)
    return (
        f"Risk: {MEASURES[judged.risk].words.removeprefix('risk ')}, with weights {weights}; limit "
        f"{limit_text(judged.limit)}. Utility: {_utility(judged.utility)}."
    )


def _utility(name: str) -> str:
    if name == "score":
        return "1 less Hellinger's distance, scaled to the table; 1 is the true table"
    return MEASURES[name].words


def _data(results: Results) -> str:
    study = results.study
    on_cube = any(setting.on is On.CUBE for setting in study.settings)
    if on_cube and len(study.cubes) == 1:
        cube = study.cubes[0].counts
        what = "A hypercube" if cube.size > study.tables[0].counts.size else "A table"
        return (
            f"{what} of {cube.size:,} cells with {int(cube.sum()):,} people. Cells that are "
            f"zero {_share(cube == 0)}, one or two {_share((cube > 0) & (cube < 3))}, three to "
            f"five {_share((cube > 2) & (cube < 6))}."
        )
    number, cells = len(study.tables), sum(table.counts.size for table in study.tables)
    return f"{number} table{'s' * (number > 1)} with {cells:,} cells."


def _share(hit: Any) -> str:
    return f"{100 * float(np.mean(hit)):.0f}%"


def _methods(results: Results) -> list[tuple[str, str, str]]:
    found: dict[str, tuple[str, list[str]]] = {}
    for name in results.settings:
        setting = results.setting(name)
        if setting.untouched:
            continue
        before = {On.CUBE: "on the hypercube, before any table", On.RECORDS: "on records"}
        about = setting.title + (f"; {before[setting.on]}" if setting.on in before else "")
        found.setdefault(setting.name, (about, []))[1].append(setting.label)
    return [(name, about, _together(labels)) for name, (about, labels) in found.items()]


def _together(labels: list[str]) -> str:
    """Return labels with the words that all begin with said once: base 3, 5, 10."""
    words = [label.split() for label in labels if label]
    shared = 0
    while words and all(len(w) > shared + 1 and w[shared] == words[0][shared] for w in words):
        shared += 1
    rest = [" ".join(w[shared:]) for w in words]
    return (
        " ".join([*words[0][:shared], ", ".join(rest)])
        if shared and len(words) > 1
        else ("; ".join(" ".join(w) for w in words))
    )


def _described(results: Results, table: Table) -> list[str]:
    counts = table.counts
    number = [int((counts == i).sum()) for i in range(6)]
    few = sum(number[3:])
    cells = [number[0], number[1], number[2], few, counts.size - sum(number)]
    return [
        table.name,
        table.title,
        f"{int(counts.sum()):,}",
        f"{counts.size:,}",
        f"{counts.mean():,.1f}",
        *(f"{n:,} ({100 * n / counts.size:.1f}%)" for n in cells),
        short(results.before[table.name]),
    ]


def _groups(results: Results) -> list[dict[str, Any]]:
    """Return the results in the papers' layout, a few tables side by side."""
    judged, found = results.study.judged, []
    for start in range(0, len(results.tables), ACROSS):
        tables = results.tables[start : start + ACROSS]
        rows, last = [], None
        for name in results.settings:
            setting = results.setting(name)
            cells = []
            for table in tables:
                risk = results.value(table, name, judged.risk)
                utility = results.value(table, name, judged.utility)
                cells.append(
                    {
                        "risk": short(risk.mean),
                        "error": error_text(risk),
                        "utility": short(utility.mean),
                        "best": (table, name) in results.frontier,
                        "over": risk.mean > judged.limit and name in results.under,
                    }
                )
            first = setting.name if setting.name != last else ""
            rows.append({"method": first, "setting": setting.label, "cells": cells})
            last = setting.name
        found.append({"tables": [titled(name) for name in tables], "rows": rows})
    return found


def _dominated(results: Results) -> list[tuple[str, tuple[str, ...]]]:
    return list(results.dominated.items())


def _under(results: Results) -> list[tuple[str, int, int]]:
    there = [(name, number) for name, number in results.under.items() if number]
    there.sort(key=lambda pair: -pair[1])
    return [(name, number, round(100 * number / len(results.judged))) for name, number in there]


def _alone(results: Results) -> str:
    """Return the settings under the limit in a line for each method, of one table."""
    by: dict[str, list[str]] = {}
    for name, number, _ in _under(results):
        setting = results.setting(name)
        assert number
        by.setdefault(setting.name, []).append(setting.label)
    return "; ".join(f"{name} {_together(labels)}".strip() for name, labels in by.items()) or "none"


def _never(results: Results) -> str:
    never = sum(not number for number in results.under.values())
    return f"In none: {never} setting{'s' * (never > 1)}." if never else ""


def _others(results: Results) -> list[dict[str, Any]]:
    """Return all measures by table, a few columns at a time."""
    found = []
    every = results.study.judged.every
    for table in results.tables:
        for first in range(0, len(every), MEASURES_ACROSS):
            names = every[first : first + MEASURES_ACROSS]
            rows = [
                (name, [short(results.value(table, name, m).mean) for m in names])
                for name in results.settings
            ]
            found.append({"table": titled(table), "first": first, "names": names, "rows": rows})
    return found


def _printed(results: Results) -> list[tuple[str, ...]]:
    found: list[tuple[str, ...]] = []
    for one, here in results.printed_beside():
        words = SHORT.get(one.measure) or MEASURES[one.measure].words
        place = f"{one.variable} {one.category}" if one.variable else "the whole"
        gap = short(here - one.value).replace("-", "−")
        found.append((one.table, one.setting, words, place, short(one.value), short(here), gap))
    return found


def _notes(results: Results) -> list[str]:
    """Return the limits of the study: those that follow from how it was done, then its own."""
    study = results.study
    found = ["Risk is for a table by itself: what several tables tell together is not in it."]
    if study.judged.risk in POOLED:
        found.append(
            f"What was seen over {study.draws:,} draws stands for the chances of every method, "
            "alike. Standard errors of risk come from leaving draws out."
        )
    if set(study.judged.every) & set(UNLIKE):
        found += _unlike(results)
    return [*found, *study.told.notes]


def _unlike(results: Results) -> list[str]:
    """Return what the measures that differ by method go by."""
    study, seen, rated = results.study, [], []
    for setting in study.settings:
        known: Known = known_of(setting, study.tables[0])
        if setting.full not in results.settings or setting.untouched:
            continue
        if known.rate is not None:
            rated.append(lower(setting.name))
        elif not known.complete:
            seen.append(lower(setting.name))
    found = []
    if rated:
        found.append(
            f"“{MEASURES['transition'].words.capitalize()}”: of "
            f"{listed(list(dict.fromkeys(rated)), 4)} by the rate, every cell taken to change at "
            "it; a draw in which no cell changed has the risk of the untouched table."
        )
    if seen:
        found.append(
            f"The same of {listed(list(dict.fromkeys(seen)), 4)} by what was seen: the chances of "
            "a single cell are not known beforehand."
        )
    return found


def _command(results: Results) -> str:
    study = results.study
    if study.file is None:
        return "dc.study(...)  # with the same data, methods, draws and seed"
    if study.file.suffix == ".toml":
        return f"discreet study {study.file.name} --out report"
    return f"discreet study --quick {study.file.name} --out report"


def _reproduce(results: Results) -> str:
    study = results.study
    told = ""
    if study.file is not None and study.file.is_file():
        told = f"{study.file.name} sha256 {sha256(study.file.read_bytes()).hexdigest()[:16]}; "
    return (
        f"{told}data {study.fingerprint[:16]}; seed {study.seed}; Discreet {__version__}, Python "
        f"{platform.python_version()}, NumPy {np.__version__}. The same figures on any number of "
        "workers. Beside this page: results.csv, results.parquet, map.svg."
    )
