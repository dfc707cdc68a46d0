"""The text files beside the microdata: `dataset.toml` and one list of areas for each level."""

from __future__ import annotations

import csv
from itertools import count
from pathlib import Path

from discreet.synth.geography import Geography
from discreet.synth.variables import AREAS, DESCRIBED

# The first line of dataset.toml; by it synth knows a folder of its own.
MARK = "# Made by `discreet synth`: invented people in invented places."
DESCRIPTION = "dataset.toml"
PERSONS = "persons.parquet"
PARTS = "persons"
PART = f"{PARTS}/part-{'[0-9]' * 5}.parquet"
FILES = frozenset({DESCRIPTION, PERSONS, PARTS, PART, *(f"{level}.csv" for level in AREAS)})


def dataset_toml(persons: int, seed: int, source: str = PERSONS) -> str:
    """Return the text of dataset.toml for a census of so many people, in these files."""
    described = DESCRIBED.replace(f'files = ["{PERSONS}"]', f'files = ["{source}"]')
    return f"""{MARK}
# persons = {persons}, seed = {seed}
id = "census"
title = "Synthetic census of {persons:,} people"
{described}"""


def write_description(
    folder: Path, geography: Geography, persons: int, seed: int, source: str = PERSONS
) -> None:
    """Write dataset.toml and the lists of areas into a folder."""
    parents = geography.parents()
    for level, labels in geography.labels().items():
        columns = {"code": count(1), "label": labels}
        if level in parents:
            columns["parent"] = (parents[level] + 1).tolist()
        with (folder / f"{level}.csv").open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(columns)
            writer.writerows(zip(*columns.values(), strict=False))
    (folder / DESCRIPTION).write_text(dataset_toml(persons, seed, source), encoding="utf-8")
