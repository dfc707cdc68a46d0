"""Releases made up in memory, for tests of what is done with one."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from discreet.release import Provenance, Record, Release
from discreet.release.result import Withheld
from discreet.risk import public_quality
from discreet.table import TOTAL, Dimension, ProtectedTable
from discreet.table.transition import Transition

# Exact figures of the record that must be in no file: no other number looks like them.
SECRETS = (0.123456789, 0.234567891, 0.345678912, 0.456789123)
# The first figure: no other number in a file looks like it.
MARK = 70_123_457
AWKWARD = (
    "Comma, \"quote\" and 'apostrophe'",
    "two\nlines",
    "=1+1",
    "+44",
    "-minus",
    "@sum",
    "\ttab",
    "שלום עולם",
    "العربية (١)",
    "e\u0301a\u0308 combined",
    "👩‍👩‍👧 family",
    "<b>&amp;</b>",
    "semi;colon = x",
    "_x0041_",
)


def cells(release: Release) -> dict[tuple[str, ...], int | None]:
    """Return every figure by its codes, None where it is withheld."""
    table = release.table
    codes = product(*(d.codes for d in table.dimensions))
    figures = zip(table.values.ravel().tolist(), table.withheld.ravel().tolist(), strict=True)
    return {c: None if gone else value for c, (value, gone) in zip(codes, figures, strict=True)}


def dimension(
    name: str, size: int, total: bool = False, labels: tuple[str, ...] | None = None, **more: Any
) -> Dimension:
    """Return a dimension with codes 1, 2, …, the second of them −8."""
    codes = tuple("-8" if i == 1 else str(i + 1) for i in range(size))
    texts = labels or tuple(f"{name.capitalize()} number {i + 1}" for i in range(size))
    if total:
        codes, texts = (*codes, TOTAL), (*texts, "Total")
    return Dimension(more.get("variable", name), name, name.capitalize(), codes, texts)


def release(
    dimensions: tuple[Dimension, ...],
    withheld: int | None = None,
    bounds: bool = False,
    seed: int = 1,
    **more: Any,
) -> Release:
    """Return a release of random figures; `withheld` is a category of the first dimension."""
    shape = tuple(len(d) for d in dimensions)
    values = np.random.default_rng(seed).integers(0, 2_000, shape).astype(np.int64) * 3
    missing = np.zeros(shape, bool)
    areas: tuple[Withheld, ...] = ()
    values.flat[0] = MARK
    if withheld is not None:
        missing[withheld] = True
        values[withheld] = 0
        areas = (Withheld(dimensions[0].codes[withheld], dimensions[0].labels[withheld]),)
    low = np.maximum(values - 2, 0) if bounds else None
    high = values + 2 if bounds else None
    transition = Transition.identity()
    origin = Provenance(
        "census", "Census of Testland", "persons", "by=age,sex&where=la=1", "protected", "public",
        "20240102T030405060708-abcdef", "2024-01-02T03:04:05+00:00", "2024.1",
    )  # fmt: skip
    record = Record(
        origin.question, "protected", "public", origin.data_version, "2024.1", "released", 6,
        SECRETS[0], SECRETS[1], SECRETS[2], {"hellinger": SECRETS[3]}, (),
    )  # fmt: skip
    quality = more.pop("quality", None) or public_quality(np.array([4, 6, 9]), transition)
    return Release(
        ProtectedTable(dimensions, values, missing, low, high),
        "Usual residents",
        (("Local authority", ("North, upper", 'South "lower"')),),
        lambda: quality,
        ("Figures are perturbed to protect confidentiality.", "Use the published total."),
        origin,
        areas,
        shape[0] if areas else 0,
        (),
        record,
        **more,
    )
