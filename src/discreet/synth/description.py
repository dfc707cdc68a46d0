"""The text files beside the microdata: `dataset.toml` and one list of areas for each level."""

from __future__ import annotations

import csv
from io import StringIO
from pathlib import Path

from discreet.synth.geography import Geography
from discreet.synth.variables import AGE_LEVELS, OLDEST, VARIABLES, Variable

# The first line of dataset.toml; by it synth knows a folder of its own.
MARK = "# Made by `discreet synth`: invented people in invented places."
DESCRIPTION = "dataset.toml"
PERSONS = "persons.parquet"
LEVELS = {
    "oa": "Output area",
    "ward": "Ward",
    "la": "Local authority",
    "region": "Region",
    "nuts2": "NUTS2 area",
}
FILES = frozenset({DESCRIPTION, PERSONS, *(f"{level}.csv" for level in LEVELS)})


def _text(value: str) -> str:
    """A TOML string; the texts of this package hold no control characters."""
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _variable(variable: Variable) -> list[str]:
    lines = [
        f"[variables.{variable.id}]",
        f"label = {_text(variable.label)}",
        f"definition = {_text(variable.definition)}",
    ]
    if variable.categories:
        pairs = (f"{code} = {_text(name)}" for code, name in enumerate(variable.categories, 1))
        return [*lines, f"categories = {{ {', '.join(pairs)} }}", ""]
    lines += [f"range = [0, {OLDEST}]", ""]
    for level in AGE_LEVELS:
        lines += [f"[variables.{variable.id}.levels.{level.id}]", f"label = {_text(level.label)}"]
        lines.append("")
        for code, (label, low, high) in enumerate(level.groups, 1):
            lines += [
                f"[variables.{variable.id}.levels.{level.id}.groups.{code}]",
                f"label = {_text(label)}",
                f'of = "{low}..{high}"',
            ]
        lines.append("")
    return lines


def dataset_toml(persons: int, seed: int) -> str:
    """Return the text of dataset.toml for a census of so many people."""
    lines = [
        MARK,
        f"# persons = {persons}, seed = {seed}",
        'id = "census"',
        f'title = "Synthetic census of {persons:,} people"',
        'unit = "persons"',
        "",
        "[source]",
        f'files = ["{PERSONS}"]',
        'record_id = "person_id"',
        'household_id = "household_id"',
        "",
    ]
    for variable in VARIABLES:
        lines += _variable(variable)
    for level, label in LEVELS.items():
        lines += ["[[geography]]", f'id = "{level}"', f"label = {_text(label)}"]
        if level == "oa":
            lines.append('column = "oa"')
        lines += [f'categories = "{level}.csv"', ""]
    return "\n".join(lines)


def write_description(folder: Path, geography: Geography, persons: int, seed: int) -> None:
    """Write dataset.toml and the lists of areas into a folder."""
    parents = geography.parents()
    for level, labels in geography.labels().items():
        text = StringIO()
        writer = csv.writer(text, lineterminator="\n")
        if level in parents:
            writer.writerow(["code", "label", "parent"])
            codes = range(1, len(labels) + 1)
            writer.writerows(zip(codes, labels, (parents[level] + 1).tolist(), strict=True))
        else:
            writer.writerow(["code", "label"])
            writer.writerows(enumerate(labels, 1))
        (folder / f"{level}.csv").write_text(text.getvalue(), encoding="utf-8")
    (folder / DESCRIPTION).write_text(dataset_toml(persons, seed), encoding="utf-8")
