"""A bounty: a store of invented people that anybody may attack, with instructions and a scorer.

    python scripts/bounty.py open DIR [--persons 100000] [--preset cell-keys] [--port 8000]
    python scripts/bounty.py score DIR ANSWERS.csv

`open` makes the kit if it is not there, and serves it. Give DIR/players to whoever wants to try,
and keep DIR/office to yourself: it has the people, the secret and the answers.
"""

from __future__ import annotations

import argparse
import csv
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from discreet.build import build
from discreet.errors import ParameterError
from discreet.policy import BOUNDS
from discreet.population import Level
from discreet.server.run import serve
from discreet.server.settings import Settings
from discreet.study.attacks import Finding, Share, Target
from discreet.study.attacks.target import by
from discreet.synth import write

NUMBER = 200
"""Targets of each task, where there are as many."""

KNOWN, WANTED, COUNTED = ("sex", "age_band", "marital_status"), "health", "religion"

README = """# Find them if you can

A server at {url} answers questions about a census of {persons:,} people. All of them are invented,
so whatever you find out harms nobody. Ask as much as you like, in whatever way the server allows;
its method and its source are public. The secret is not, and the machine itself is not the target.

- `people.csv`: {people} people. Each is the only one in their area (`oa`) with their {known}. State
  the code of their {wanted}.
- `cells.csv`: {cells} cells: an area and a {counted}. State how many people are in it.

Hand in one file with the columns `id,answer,certain`, a line for each target you say something
about; `certain` is `yes` where you have no doubt, and empty otherwise. A certain statement about a
person that is right counts most: there should be none.

    curl '{url}/api/v1/datasets/census/table?by=oa,{counted}&format=csv'

You have found something if you are right more often than the limit that the scorer prints: 0.05
above whoever guesses (people), or reads the published figure (cells). Say how you did it.
"""


@dataclass(frozen=True)
class Truth:
    """What is true of a target, and what whoever does not attack says."""

    answer: str
    without: str


def make(folder: Path, persons: int, preset: str, url: str) -> None:
    """Write a kit: the office's part and the players'."""
    office, players = folder / "office", folder / "players"
    office.mkdir(mode=0o700, parents=True)
    # Nobody may draw the same people again.
    write(persons, office / "census", secrets.randbelow(2**31), None)
    described = office / "census" / "dataset.toml"
    text = described.read_text(encoding="utf-8")
    described.write_text(f'policy = "preset:{preset}"\n{text}', encoding="utf-8")
    build(described, office / "store")
    players.mkdir()
    rng = np.random.default_rng(secrets.randbits(64))
    target = Target.open(office / "store")
    people, cells = _people(target, rng, players), _cells(target, rng, players)
    answers = people | cells
    rows = [(name, true.answer, true.without) for name, true in answers.items()]
    _write(office / "answers.csv", ("id", "answer", "without"), rows)
    words = {
        "people": len(people),
        "cells": len(cells),
        "known": ", ".join(KNOWN),
        "wanted": WANTED,
        "counted": COUNTED,
    }
    (players / "README.md").write_text(README.format(url=url, persons=persons, **words))


def _people(target: Target, rng: np.random.Generator, players: Path) -> dict[str, Truth]:
    """Write people who are alone in their cell; return what is true of them."""
    known = [target.schema.find(name)[1] for name in KNOWN]
    wanted = target.schema.find(WANTED)[1]
    counts = target.truth(by(target.area, *known, wanted), None)
    national = counts.sum(axis=0)
    alone = rng.permutation(np.argwhere(counts.sum(axis=-1) == 1))[:NUMBER]
    found, rows = {}, []
    for number, (area, *at) in enumerate(alone.tolist()):
        name = f"p{number}"
        code = int(counts[(area, *at)].argmax())
        guess = int(national[tuple(at)].argmax())
        found[name] = Truth(wanted.codes[code], wanted.codes[guess])
        shown = [level.codes[i] for level, i in zip(known, at, strict=True)]
        rows.append((name, target.area.codes[area], *shown))
    _write(players / "people.csv", ("id", target.area.id, *KNOWN), rows)
    return found


def _cells(target: Target, rng: np.random.Generator, players: Path) -> dict[str, Truth]:
    """Write small cells, empty ones among them; return their counts and their figures."""
    level: Level = target.schema.find(COUNTED)[1]
    counts = target.truth(by(target.area, level), None)
    figures = target.figures(by(target.area, level))
    published = np.zeros(counts.shape) if figures is None else np.nan_to_num(figures)
    small = rng.permutation(np.argwhere(counts <= 8))[:NUMBER]
    found, rows = {}, []
    for number, (area, code) in enumerate(small.tolist()):
        name = f"c{number}"
        found[name] = Truth(str(counts[area, code]), str(int(published[area, code])))
        rows.append((name, target.area.codes[area], level.codes[code]))
    _write(players / "cells.csv", ("id", target.area.id, COUNTED), rows)
    return found


def score(folder: Path, answers: Path) -> dict[str, Finding]:
    """Return how often each kind of statement is right, beside what needs no attack."""
    rows = _read(folder / "office" / "answers.csv")
    truths = {row["id"]: Truth(row["answer"], row["without"]) for row in rows}
    given = {row["id"]: row for row in _read(answers)}
    unknown = sorted(set(given) - set(truths))
    if unknown:
        raise ParameterError(f"the answers name no target of this kit: {', '.join(unknown[:5])}")
    kinds = {"p": ("people", "unique-person"), "c": ("cells", "unions")}
    return {
        name: _finding(name, attack, {i: row for i, row in given.items() if i[0] == kind}, truths)
        for kind, (name, attack) in kinds.items()
    }


def _finding(
    name: str, attack: str, given: Mapping[str, Mapping[str, str]], truths: Mapping[str, Truth]
) -> Finding:
    right = [i for i, row in given.items() if row["answer"].strip() == truths[i].answer]
    sure = [i for i, row in given.items() if (row.get("certain") or "").strip() == "yes"]
    without = sum(truths[i].answer == truths[i].without for i in given)
    share = Share.of(without, len(given))
    return Finding(
        name,
        Share.of(len(right), len(given)),
        share,
        share,
        certain=len(sure),
        certain_right=len(set(sure) & set(right)),
        may_be_certain=name != "people",
        id=attack,
        most=BOUNDS[attack].most,
        over=BOUNDS[attack].over,
    )


def _read(path: Path) -> list[dict[str, str]]:
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = list(csv.DictReader(file))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise ParameterError(f"{path} cannot be read: {error}") from None
    if not rows or not {"id", "answer"} <= set(rows[0]):
        raise ParameterError(f"{path} must be a CSV file with the columns id, answer, certain.")
    return rows


def _write(path: Path, head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([head, *rows])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    opening = commands.add_parser("open")
    opening.add_argument("folder", type=Path)
    opening.add_argument("--persons", type=int, default=100_000)
    opening.add_argument("--preset", default="cell-keys")
    opening.add_argument("--host", default="127.0.0.1")
    opening.add_argument("--port", type=int, default=8000)
    scoring = commands.add_parser("score")
    scoring.add_argument("folder", type=Path)
    scoring.add_argument("answers", type=Path)
    given = parser.parse_args()
    if given.command == "score":
        for name, found in score(given.folder, given.answers).items():
            print(
                f"{name}: {found.tries} statements, right {found.attack}, without an attack", end=""
            )
            print(f" {found.reading}: {found.verdict}; certain {found.certain}", end="")
            print(f", right {found.certain_right}")
        return
    if not (given.folder / "office" / "answers.csv").exists():
        make(given.folder, given.persons, given.preset, f"http://{given.host}:{given.port}")
    tell = partial(print, "Serving on", flush=True)
    serve([given.folder / "office" / "store"], given.host, given.port, Settings(), tell)


if __name__ == "__main__":
    main()
