"""Small checks of an installed program, against the standard library and DuckDB."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from discreet.build.builder import build
from discreet.errors import ParameterError
from discreet.population.keys import digest
from discreet.query import Query, Question
from discreet.service.opened import open_store
from discreet.tabulate import ScanEngine
from discreet.tabulate.duck import DuckEngine

_DESCRIPTION = """
id = "check"
title = "Three hundred made-up people"
source = { files = "people.csv", record_id = "id" }
[variables]
sex = { categories = { 1 = "Male", 2 = "Female" } }
age = { range = [0, 99], levels.decade.groups = { young = "0..39", old = "40..99" } }
[[geography]]
id = "ward"
column = "ward"
[[geography]]
id = "town"
column = "town"
"""


def checks() -> Iterator[tuple[str, bool]]:
    """Yield the name of each check and whether it passed."""
    with tempfile.TemporaryDirectory(prefix="discreet-check-") as name:
        folder = Path(name)
        people = [
            (f"p{i}", str(1 + i % 2), i * 7 % 100, f"w{i * 13 % 6}", f"t{i * 13 % 6 % 2}")
            for i in range(300)
        ]
        lines = ["id,sex,age,ward,town", *(",".join(map(str, person)) for person in people)]
        (folder / "people.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
        (folder / "dataset.toml").write_text(_DESCRIPTION, encoding="utf-8")
        store = folder / "store"
        build(folder / "dataset.toml", store)
        opened = open_store(store)
        version = opened.version
        yield "a data set is built from a CSV file", version.rows == len(people)

        question = Question.of(Query.parse("town,decade,sex", "ward=w0|w1|w2|w3"), version.schema)
        scanned = ScanEngine(version).tabulate(question)
        counted = Counter(
            (town, "young" if age < 40 else "old", sex)
            for _, sex, age, ward, town in people
            if ward in {"w0", "w1", "w2", "w3"}
        )
        towns, decades, sexes = (dimension.codes for dimension in question.dimensions)
        expected = [[[counted[t, d, s] for s in sexes] for d in decades] for t in towns]
        yield "a table equals a count by hand", scanned.counts.tolist() == expected

        asked = DuckEngine(version).tabulate(question)
        same = np.array_equal(scanned.counts, asked.counts) and np.array_equal(
            scanned.keys, asked.keys
        )
        yield "two engines agree on counts and key sums", same

        secret = opened.releaser.secret
        keys = sorted(digest(secret, person[0].encode()) % 2**32 for person in people)
        yield "record keys are BLAKE2b of secret and id", keys == sorted(version.keys.tolist())
        mode = (store / "secret").stat().st_mode
        yield "the secret is readable by its owner only", mode & 0o77 == 0

        (folder / "people.csv").write_text("id,sex,age,ward,town\n1,3,5,w0,t0\n", encoding="utf-8")
        try:
            build(folder / "dataset.toml", store)
            refused = False
        except ParameterError as error:
            refused = "row 1 '3'" in str(error)
        yield "bad data are refused by name", refused
        yield "and leave the store as it was", open_store(store).version.id == version.id
