"""Protection before any table: the steps of a data set, on the raw columns of a build.

Each step reads raw columns, changes them and puts them back; sorting and keys come after. All
randomness follows from the secret and the ids of records and households: a build of the same data
is the same swap, and a build of corrected data is nearly the same.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from discreet.build.basing import put_base
from discreet.build.ingest import Ingest
from discreet.build.raw import Columns, Done, Raw
from discreet.build.steps import (
    MEMBERS,
    CubeStep,
    ImputeStep,
    PramStep,
    Profile,
    Step,
    SwapStep,
)
from discreet.errors import ParameterError
from discreet.population.keys import Secret
from discreet.progress import Offer, Tell, refused
from discreet.protect import Chance, Edit, KeyMix, Pram
from discreet.protect.keys import purposes, unit_interval
from discreet.protect.records.cube import cell_sums, populated_cells
from discreet.protect.records.swapping import (
    Swapped,
    combined,
    composition,
    in_small_cells,
    of_households,
)


def apply_steps(
    steps: Sequence[Step], ingest: Ingest, secret: Secret, tell: Tell, offer: Offer = refused
) -> tuple[Done, ...]:
    """Apply the steps to the raw columns, in order; return what each did."""
    done = []
    for number, step in enumerate(steps):
        tell("protecting", number, len(steps))
        raw = Raw(ingest)
        purpose = f"{step.name} {number}"
        if isinstance(step, SwapStep):
            mix = KeyMix(secret.value, purpose)
            if ingest.has("count"):
                done.append(_swap_persons(step, raw, mix))
            else:
                done.append(_swap_households(step, raw, mix, f"left-out-{number}"))
        elif isinstance(step, PramStep):
            done.append(_pram(step, raw, KeyMix(secret.value, purpose)))
        elif isinstance(step, ImputeStep):
            done.append(_impute(step, raw, KeyMix(secret.value, purpose)))
        elif isinstance(step, CubeStep):
            done.append(_perturb(step, raw, secret, purpose))
        else:
            done.append(put_base(step, raw, secret, tell, offer))
    return tuple(done)


def _swap_households(step: SwapStep, raw: Raw, mix: KeyMix, marks: str) -> Done:
    household, ids, smallest = raw.households(step.name)
    homes, area = len(ids), raw.area()
    risky = None
    if step.target:
        members = np.zeros(raw.rows, bool)
        for table in step.target:
            members |= in_small_cells(raw.columns(table), raw.rows, step.below)
        risky = of_households(household, homes, members)
    out = None
    if step.left_out:
        out = of_households(household, homes, raw.ingest.raw(marks, np.bool_))
    profiles = [_household_profile(p, raw, household, homes, smallest) for p in step.profiles]
    swapped = _swapped(step, raw, smallest, profiles, mix.words(ids), risky, out)
    moved = smallest[swapped.partner][household]
    raw.ingest.put("area", moved)
    return _told(step, swapped, raw.moved(area, moved), raw, "households")


def _household_profile(
    profile: Profile,
    raw: Raw,
    household: NDArray[np.int32],
    homes: int,
    smallest: NDArray[np.uint32],
) -> NDArray[np.int64]:
    """Return a number for each household, the same for those that agree on every term."""
    parts: Columns = []
    for term in profile:
        if term == (MEMBERS,):
            numbers = composition(household, homes)
        elif len(term) == 1 and raw.schema.find(term[0])[0].is_geography:
            numbers = raw.place(smallest, raw.schema.find(term[0])[1]).astype(np.int64)
        else:
            numbers = composition(household, homes, raw.columns(term))
        parts.append((numbers, int(numbers.max(initial=0)) + 1))
    return combined(parts, homes)[0]


def _swapped(
    step: SwapStep,
    raw: Raw,
    smallest: NDArray[np.uint32],
    profiles: list[NDArray[np.int64]],
    words: NDArray[np.uint64],
    risky: NDArray[np.bool_] | None,
    out: NDArray[np.bool_] | None,
) -> Swapped:
    geography = raw.schema.geography
    assert geography is not None
    within = geography.level(step.within)
    of = geography.finest if step.of is None else geography.level(step.of)
    return step.swapping.apply(
        raw.place(smallest, of), raw.place(smallest, within), profiles, words, risky, out
    )


def _swap_persons(step: SwapStep, raw: Raw, mix: KeyMix) -> Done:
    """Swap the persons of a hypercube, each a household of one, and count the cells again."""
    ingest = raw.ingest
    counts = ingest.raw("count", np.uint32)
    row = np.repeat(np.arange(raw.rows), counts)
    nth = np.arange(len(row)) - np.repeat(np.cumsum(counts, dtype=np.int64) - counts, counts)
    words = raw.words(mix, "digest")[row] + nth.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    area = raw.area()
    risky = None
    if step.target:
        marked = np.zeros(raw.rows, bool)
        for table in step.target:
            cells, _ = combined(raw.columns(table), raw.rows)
            _, cells = np.unique(cells, return_inverse=True)
            marked |= np.bincount(cells, counts)[cells] < step.below
        risky = marked[row]
    profiles = []
    for profile in step.profiles:
        named = [name for term in profile for name in term if name != MEMBERS]
        profiles.append(combined(raw.columns(named), raw.rows)[0][row])
    swapped = _swapped(step, raw, area[row], profiles, purposes(words, 0), risky, None)
    moved = area[row][swapped.partner]
    rates = raw.moved(area[row], moved)
    columns = raw.finest(row)
    areas = int(area.max(initial=0)) + 1
    first, cells = populated_cells([*columns, (moved, areas)], len(row))
    raw.put_cells(columns, moved, first, np.bincount(cells, minlength=len(first)))
    ingest.put("digest", ingest.cell_digests())
    return _told(step, swapped, rates, raw, "persons")


def _told(step: SwapStep, swapped: Swapped, rates: dict[str, float], raw: Raw, unit: str) -> Done:
    geography = raw.schema.geography
    assert geography is not None
    within = geography.level(step.within)
    lost = int(swapped.alone.sum() + swapped.taken.sum())
    note = f"Swapped: {swapped.moved.sum():,} of {len(swapped.partner):,} {unit}."
    if lost:
        note += (
            f" Without a partner: {lost:,} ({swapped.alone.sum():,} like nobody elsewhere in their "
            f"{within.id}, {swapped.taken.sum():,} whose like had all moved)."
        )
    if swapped.shortfall:
        note += f" The rate is not met: {swapped.shortfall:,} {unit} too few."
    if step.target:
        note += (
            f" At risk: {swapped.at_risk.sum():,}, of whom moved {swapped.at_risk_moved.sum():,}."
        )
    names = (
        "households", "left_out", "at_risk", "wanted", "moved", "at_risk_moved", "alone", "taken",
    )  # fmt: skip
    by_area = [
        {
            step.within: within.codes[place],
            **{name: int(getattr(swapped, name)[i]) for name in names},
        }
        for i, place in enumerate(swapped.larger.tolist())
    ]
    agreed = np.bincount(swapped.profile[swapped.profile >= 0], minlength=len(step.profiles))
    return Done(
        note,
        {
            "method": step.name,
            "rates": rates,
            "shortfall": swapped.shortfall,
            "by_profile": agreed.tolist(),
            "by_area": by_area,
        },
    )


def _pram(step: PramStep, raw: Raw, mix: KeyMix) -> Done:
    codes = raw.ingest.codes(step.variable)
    size = len(raw.schema.find(step.variable)[1])
    if size < 2:
        raise ParameterError(f"pram: '{step.variable}' must have at least 2 categories.")
    strata, _ = combined(raw.columns(step.within), raw.rows)
    words = raw.words(mix, "household" if step.household else "digest")
    changed = Pram.staying(size, step.stay).apply(codes, unit_interval(words), strata)
    raw.ingest.put(f"codes-{step.variable}", changed)
    share = float((changed != codes).mean())
    return Done(
        f"Changed by PRAM: {step.variable} of {share:.1%} of the records.",
        {"method": step.name, "variable": step.variable, "changed": share},
    )


def _impute(step: ImputeStep, raw: Raw, mix: KeyMix) -> Done:
    classes = [combined(raw.columns(names), raw.rows)[0] for names in step.donors]
    edits = []
    for table in step.never_create:
        parts: dict[bool, list[str]] = {False: [], True: []}
        for name in table:
            parts[raw.schema.find(name)[0].id in step.variables].append(name)
        kept, imputed = (combined(raw.columns(parts[side]), raw.rows)[0] for side in (False, True))
        edits.append(
            Edit.observed(*(np.unique(n, return_inverse=True)[1] for n in (kept, imputed)))
        )
    found = step.imputation.apply(classes, raw.words(mix, "digest"), edits)
    changed = np.zeros(raw.rows, bool)
    for variable in step.variables:
        codes = raw.ingest.codes(variable)
        new = found.take(codes)
        changed |= new != codes
        raw.ingest.put(f"codes-{variable}", new)
    note = (
        f"Imputed again: {', '.join(step.variables)} of {found.blanked.mean():.1%} of the records, "
        f"another value for {changed.mean():.1%}."
    )
    if found.unmatched.any():
        note += f" Without a donor, left as they were: {found.unmatched.sum():,}."
    facts = {
        "method": step.name,
        "variables": list(step.variables),
        "blanked": float(found.blanked.mean()),
        "changed": float(changed.mean()),
        "unmatched": int(found.unmatched.sum()),
        "by_class": found.by_class.tolist(),
    }
    return Done(note, facts)


def _perturb(step: CubeStep, raw: Raw, secret: Secret, purpose: str) -> Done:
    """Count the finest cells, change the counts, and leave a hypercube of what is not zero."""
    ingest = raw.ingest
    columns = raw.finest()
    areas = raw.area() if raw.schema.geography else np.zeros(raw.rows, np.uint32)
    first, cells = populated_cells([*columns, (areas, int(areas.max()) + 1)], raw.rows)
    held = ingest.raw("count", np.uint32) if ingest.has("count") else np.ones(raw.rows, np.uint32)
    counts = cell_sums(cells, len(first), held).astype(np.int64)
    modulus = np.uint64(ingest.dataset.source.modulus)
    keys = cell_sums(cells, len(first), ingest.keys()) % modulus
    # The cells are in the order of their categories, whatever the order of the records.
    chance = Chance.keyed(secret.value, purpose.encode(), keys, purpose)
    released = step.perturbation.apply(counts, chance)
    kept = np.flatnonzero(released)
    if not len(kept):
        raise ParameterError("input-perturbation leaves no record: every cell became zero.")
    raw.put_cells(columns, areas, first[kept], released[kept])
    ingest.put("key", keys[kept].astype(np.uint32))
    share = float((released != counts).mean())
    return Done(
        f"Perturbed: {share:.1%} of {len(counts):,} finest cells.",
        {"method": step.name, "cells": len(counts), "changed": share},
    )
