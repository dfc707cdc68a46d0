"""Write docs/python.md: the public names of the package, from their docstrings."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import discreet as dc
from discreet import api, protect, risk, utility
from discreet.errors import DiscreetError
from discreet.protect import lookup
from discreet.release import Release
from discreet.study.python import study
from discreet.table import CountTable, ProtectedTable

PAGE = Path(__file__).parents[1] / "docs" / "python.md"

HEAD = """\
# Python

This page is written by `scripts/write_python.py` from the docstrings of the package. Change them,
not this page. Its examples are run as tests, in the folder in which the [tutorial](tutorial.md) was
followed, so that the store `people` is there, after these two lines:

```pycon
>>> import numpy as np
>>> import discreet as dc

```

Arrays called `F` are tables of true counts and those called `G` are the released tables of the same
shape, with one axis for each variable and without totals. Instead of an array, measures and methods
take a data frame of pandas or polars (long, with a column `count`, `freq` or `value`; or wide), a
series, an xarray array or a table of true counts. Methods give back what they were given.

Populations, releases, tables, risks, look-up tables and studies show themselves in a notebook. The
repository has five, in `docs/notebooks`: `first-table`, `risk-and-utility`, `choose-a-method`,
`suppress-a-business-table`, and `table`, which asks a server.
"""

RELEASE = """\
What `population.release` returns. For everybody: `release.table` with the figures, `release.notes`,
`release.public_quality` and `release.provenance`. For the custodian only: `release.record` with
`risk_before`, `risk_after` and `utility`."""

TABLE = """\
`release.table`. Its figures are `table.values`, one axis for each of `table.dimensions`;
`table.withheld` says which of them are not available."""

COUNTS = """\
What `population.tabulate` returns, for the custodian: `counts.counts` and `counts.keys`, one axis
for each of `counts.dimensions`. A large table is sparse: then both are lists over the populated
cells, and `counts.coordinates` says where these are."""


RESULTS = """\
[Compare methods](study.md) explains studies. What `dc.study` returns is for the custodian. Printed
it is a table of risk and utility; in a notebook it shows the map. `finding` is the outcome in a
sentence, `points` are all settings in all tables, `frontier` and `dominated` say what beats what;
`value(table, setting, measure)`, `filter(...)`, `to_pandas()`, `plot(path)`, `report(path)` and
`write(folder)` hand it on."""


@dataclass(frozen=True)
class Section:
    """A part of the page: names that are written with one prefix."""

    title: str
    words: str
    prefix: str
    names: dict[str, Any]


def _members(kind: type) -> dict[str, Any]:
    """Return the public methods and properties that a class defines, in their order."""
    return {
        name: member
        for name, member in vars(kind).items()
        if not name.startswith("_") and (inspect.isfunction(member) or isinstance(member, property))
    }


def _exports(module: Any) -> dict[str, Any]:
    """Return the functions and classes that a module exports, functions first."""
    names = {name: getattr(module, name) for name in module.__all__}
    ours = {
        name: thing
        for name, thing in names.items()
        if callable(thing) and thing.__module__.startswith("discreet.")
    }
    return dict(sorted(ours.items(), key=lambda item: (inspect.isclass(item[1]), item[0].lower())))


def sections() -> list[Section]:
    """Return the parts of the page in their order."""
    tops = {"open": dc.open, "connect": dc.connect, "Query": dc.Query}
    tops |= {"Query.parse": dc.Query.parse}
    files = {"build": api.build, "init": dc.init, "verify": dc.verify, "convert": dc.convert}
    asked = ("schema", "question", "release", "tabulate")
    population = {name: getattr(dc.Population, name) for name in asked}
    errors = {name: thing for name, thing in _exports(dc).items() if _is_error(thing)}
    return [
        Section("Opening and asking", "", "dc.", tops),
        Section("Files", "", "dc.", files),
        Section("A population", "What `dc.open` returns.", "population.", population),
        Section("A release", RELEASE, "release.", _members(Release)),
        Section("A protected table", TABLE, "table.", _members(ProtectedTable)),
        Section("A table of true counts", COUNTS, "counts.", _members(CountTable)),
        Section("Risk", str(inspect.getdoc(risk)), "dc.risk.", _exports(risk)),
        Section("Utility", str(inspect.getdoc(utility)), "dc.utility.", _exports(utility)),
        Section("Protection", str(inspect.getdoc(protect)), "dc.protect.", _exports(protect)),
        Section(
            "Look-up tables", str(inspect.getdoc(lookup)), "dc.protect.lookup.", _exports(lookup)
        ),
        Section("Comparison of methods", RESULTS, "dc.", {"study": study}),
        Section("Errors", "", "dc.", errors),
    ]


def _is_error(thing: Any) -> bool:
    return inspect.isclass(thing) and issubclass(thing, DiscreetError)


def _annotation(annotation: Any) -> str:
    """Return an annotation as it is written in the source."""
    return annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)


def _parameter(parameter: inspect.Parameter) -> str:
    empty = inspect.Parameter.empty
    text = parameter.name
    if parameter.annotation is not empty:
        text += f": {_annotation(parameter.annotation)}"
    if parameter.default is not empty:
        text += f" = {parameter.default!r}"
    return text


def signature(title: str, thing: Callable[..., Any]) -> str:
    """Return a call of a function or a class, on one line where it fits."""
    found = inspect.signature(thing)
    given = [
        _parameter(parameter)
        for parameter in found.parameters.values()
        if parameter.name not in {"self", "cls"}
    ]
    returns = ""
    if found.return_annotation is not found.empty and not inspect.isclass(thing):
        returns = f" -> {_annotation(found.return_annotation)}"
    line = f"{title}({', '.join(given)}){returns}"
    if len(line) <= 88:
        return line
    return "\n".join([f"{title}(", *(f"    {text}," for text in given), f"){returns}"])


def _body(doc: str) -> Iterator[str]:
    """Yield a docstring as Markdown: examples become code, and headings bold words."""
    text = re.sub(r"^(\w+)\n-+$", r"**\1**\n", doc, flags=re.MULTILINE)
    text = re.sub(r"^(\w+)\n    (?=\S)", r"- `\1`: ", text, flags=re.MULTILINE)
    for part in text.split("\n\n"):
        yield f"```pycon\n{part}\n\n```" if part.startswith(">>>") else part


def _entry(title: str, thing: Any) -> Iterator[str]:
    """Yield the parts of one name: heading, call, words and example."""
    yield f"### {title}"
    if not (isinstance(thing, property) or _is_error(thing) or getattr(thing, "_is_protocol", 0)):
        yield f"```python\n{signature(title, thing)}\n```"
    yield from _body(inspect.getdoc(thing) or "")


def entries() -> Iterator[tuple[Section, str, Any]]:
    """Yield every name of the page once, in its order."""
    seen: set[int] = set()
    for section in sections():
        for name, thing in section.names.items():
            if id(thing) not in seen:
                seen.add(id(thing))
                yield section, f"{section.prefix}{name}", thing


def page() -> str:
    """Return the whole page."""
    parts, last = [HEAD.rstrip("\n")], ""
    for section, title, thing in entries():
        if section.title != last:
            parts += [f"## {section.title}", section.words]
            last = section.title
        parts += _entry(title, thing)
    return "\n\n".join(part for part in parts if part) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
