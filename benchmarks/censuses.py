"""Stores of synthetic censuses under each public preset, made once and kept."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from discreet.build import build
from discreet.population import Store
from discreet.population.keys import Secret
from discreet.synth import write

PRESETS = ("rounding-3", "cell-keys", "swapping-and-light-keys", "protected-base")
"""Of `synthetic-only`, which protects nobody, there is nothing to learn."""
SWAP = """
[[protect]]
method = "record-swapping"
rate = 0.05
within = "la"
of = "oa"
match = ["members", "sex*age_broad"]
fallback = [["members"]]
target = ["oa*religion*age_broad", "oa*ethnic_group"]
below = 3
odds = 4
"""
BASE = """
[[protect]]
method = "base"
within = "la"
"""
STEPS = {"swapping-and-light-keys": SWAP, "protected-base": BASE}
"""What is done to the records of a preset before any table."""


def census(folder: Path, persons: int, seed: int) -> Path:
    """Return the folder of a synthetic census."""
    place = folder / f"census-{persons}-{seed}"
    if not (place / "dataset.toml").exists():
        write(persons, place, seed, None, lambda more: None)
    return place


def store(folder: Path, preset: str, persons: int, seed: int) -> Path:
    """Return a store of a synthetic census under a preset, with a known secret."""
    place = folder / f"{preset}-{persons}-{seed}"
    if Store(place).current() is None:
        place.mkdir(parents=True, exist_ok=True)
        Secret(seed.to_bytes(32, "big")).write(Store(place).secret)
        described = described_as(census(folder, persons, seed), preset)
        build(described, place, originals=originals(place, preset))
    return place


def originals(store: Path, preset: str) -> Path | None:
    """Return where the records of a store are kept as they came, None where they are its own."""
    return store.with_name(f"{store.name}-originals") if preset in STEPS else None


def without_leavers(folder: Path, preset: str, persons: int, seed: int) -> Path:
    """Return the next edition of a store: one person of every ward has left."""
    first, place = store(folder, preset, persons, seed), folder / f"{preset}-{persons}-{seed}-next"
    if place.exists():
        return place
    source, less = census(folder, persons, seed), folder / f"census-{persons}-{seed}-next"
    if not less.exists():
        shutil.copytree(source, less)
        _drop_one_of_each_ward(less, seed)
    kept = originals(place, preset)
    if kept is not None:
        shutil.copytree(first.with_name(f"{first.name}-originals"), kept)
    shutil.copytree(first, place)
    build(described_as(less, preset), place, originals=kept)
    return place


def described_as(folder: Path, preset: str) -> Path:
    """Return the description of a census with a preset as its policy."""
    path = folder / f"{preset}.toml"
    text = (folder / "dataset.toml").read_text(encoding="utf-8")
    steps = STEPS.get(preset, "")
    path.write_text(f'policy = "preset:{preset}"\n{text}{steps}', encoding="utf-8")
    return path


def _drop_one_of_each_ward(folder: Path, seed: int) -> None:
    people = pq.read_table(folder / "persons.parquet")
    lines = (folder / "oa.csv").read_text(encoding="utf-8").splitlines()
    wards = {line.split(",")[0]: line.split(",")[-1] for line in lines[1:]}
    ward = np.array([wards[str(area)] for area in people["oa"].to_pylist()])
    rng, stays = np.random.default_rng(seed), np.ones(len(ward), bool)
    for one in np.unique(ward):
        stays[rng.choice(np.flatnonzero(ward == one))] = False
    pq.write_table(people.filter(pa.array(stays)), folder / "persons.parquet")
