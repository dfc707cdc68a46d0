"""The words that go with a release in every file, as rows for people and as one JSON document."""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING, Any

from discreet.release.told import PERTURBED as PERTURBED_NOTE

if TYPE_CHECKING:
    from discreet.query import Question
    from discreet.release.result import Release

# XML and spreadsheets have no place for these; a label with one is a mistake of the data.
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ufffe\uffff\ud800-\udfff]")
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_GUARDED = re.compile("^'(?=[=+\\-@\t\r\n])")

PERTURBED = "Figures are perturbed and need not add up"

LONGEST_STEM = 100
"""The longest name of a file; a longer one is cut and ends in a hash of the whole question."""

Facts = list[tuple[str, str]]


def stem(dataset: str, question: Question) -> str:
    """Return what a file is called after its question, without an ending: `census-age-sex`."""
    parts = [dataset, *(level.id for level in question.levels)]
    parts += [f.text for f in question.filters]
    name = "-".join(re.sub(r"[^A-Za-z0-9_]+", "-", part).strip("-") for part in parts)
    if len(name) <= LONGEST_STEM:
        return name
    mark = hashlib.sha256("\0".join(parts).encode("utf-8", "replace")).hexdigest()[:8]
    return f"{name[: LONGEST_STEM - 9].rstrip('-')}-{mark}"


def clean(text: str) -> str:
    """Return the text with control characters replaced, which no format could carry."""
    return _CONTROL.sub("\ufffd", text)


def guarded(text: str) -> str:
    """Return a label that no spreadsheet takes for a formula: an apostrophe goes before one."""
    return "'" + text if text.startswith(_FORMULA) else text


def exact(text: str) -> str:
    """Return a text as a file shows it, without the apostrophe that CSV puts before a formula."""
    return _GUARDED.sub("", clean(text).replace("\r\n", "\n").replace("\r", "\n"))


def plain(text: str) -> str:
    """Return a text as PX shows it, which has no double quotes and no line breaks."""
    return _GUARDED.sub("", " ".join(clean(text).split()).replace('"', "'"))


def meta(release: Release) -> dict[str, Any]:
    """Return what goes with the figures as a plain document: all public, nothing of the record."""
    return {
        "title": release.title,
        "population": release.population,
        "unit": release.provenance.unit,
        "filters": [{"name": name, "values": list(labels)} for name, labels in release.filters],
        "notes": _notes(release),
        "quality": release.public_quality.as_dict(),
        "availability": release.availability,
        "withheld": [{"code": area.code, "label": area.label} for area in release.withheld],
        "provenance": vars(release.provenance),
    }


def facts(document: dict[str, Any]) -> Facts:
    """Return the rows of a notes sheet, in the order a reader wants them."""
    found: Facts = [("Title", document["title"]), ("Population", document["population"])]
    found += [("Filter", f"{f['name']}: {', '.join(f['values'])}") for f in document["filters"]]
    found += [("Note", note) for note in document["notes"]]
    found += [("Quality", sentence) for sentence in document["quality"]["sentences"]]
    if document["availability"]:
        found.append(("Availability", document["availability"]))
        names = [f"{area['label']} ({area['code']})" for area in document["withheld"]]
        found.append(("Not available", ", ".join(names)))
    origin = document["provenance"]
    for head, key in _ORIGIN:
        if origin[key]:
            found.append((head, origin[key]))
    return [(head, clean(text)) for head, text in found]


_ORIGIN = (
    ("Data set", "title"),
    ("Data set id", "dataset"),
    ("Unit", "unit"),
    ("Date of the data version", "data_date"),
    ("Data version", "data_version"),
    ("Policy version", "policy_version"),
    ("Tier", "tier"),
    ("Question", "question"),
    ("Taken from the released table", "table"),
    ("Totals", "totals"),
)


def _notes(release: Release) -> list[str]:
    """Return the notes; a table that was altered always says in one sentence what that means."""
    notes = list(release.notes)
    # Without a policy the sidecar says it.
    alone = release.protection is None and release.public_quality.altered
    totals = release.provenance.totals
    if (alone or PERTURBED_NOTE in notes) and totals != "summed":
        notes.insert(0, PERTURBED + ("." if totals == "none" else "; use the published total."))
    if release.withheld or bool(release.table.withheld.any()):
        notes.append("Figures that are missing are not available; they are not zero.")
    return notes
