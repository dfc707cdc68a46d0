"""Whether a file is an unaltered release of a store."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from itertools import product
from pathlib import Path
from typing import Any

from discreet.errors import NotOurs, ParameterError
from discreet.release.formats import Found, format_of, read
from discreet.release.signature import (
    bounds_digest,
    cells_digest,
    is_signed,
    labels_digest,
    text_digest,
)
from discreet.table import ProtectedTable

_PARTS = {
    "cells": "figures or codes differ",
    "labels": "labels differ",
    "bounds": "bounds of figures differ",
    "text": "title, notes, filters or origin differ",
}


class Authenticity(StrEnum):
    """What is known of a file."""

    GENUINE = "genuine"  # signed by the key, and nothing in it was changed
    ALTERED = "altered"  # says it was signed by the key, and something was changed
    FOREIGN = "foreign"  # signed by another key, or the signature was forged
    UNSIGNED = "unsigned"  # has no signature


@dataclass(frozen=True, eq=False)
class Verification:
    """Whether a file is genuine, why not, and where it says it comes from."""

    authenticity: Authenticity
    format: str
    reasons: tuple[str, ...] = ()
    provenance: dict[str, Any] | None = None
    found: Found | None = None

    @property
    def genuine(self) -> bool:
        """Whether the file is a release of the key's owner, unaltered."""
        return self.authenticity is Authenticity.GENUINE


def verify(path: Path, key: bytes) -> Verification:
    """Return whether a file was released by the owner of a public key, and nothing changed."""
    name = format_of(path)
    try:
        _, found = read(path)
    except NotOurs:
        raise
    except ParameterError as error:
        return Verification(Authenticity.ALTERED, name, (str(error),))
    except (KeyError, IndexError, TypeError, AttributeError, ValueError) as error:
        reason = f"the file is not as this program writes it ({type(error).__name__})"
        return Verification(Authenticity.ALTERED, name, (reason,))
    return verified(name, found, key)


def verified(name: str, found: Found, key: bytes) -> Verification:
    """Return whether what was found in a file is genuine."""
    proof = found.proof
    if proof is None:
        return Verification(Authenticity.UNSIGNED, name, ("it has no signature",), None, found)
    if not is_signed(proof, key):
        reason = "it was not signed by this key"
        return Verification(Authenticity.FOREIGN, name, (reason,), None, found)
    said = proof["statement"]
    now = {
        "cells": cells_digest(found.table),
        "labels": labels_digest(found.table) if found.labelled else said["labels"],
        "bounds": bounds_digest(found.table) or said["bounds"],
        "text": text_digest(found.facts),
    }
    reasons = [text for part, text in _PARTS.items() if now[part] != said[part]]
    reasons += found.contradictions
    found_to_be = Authenticity.ALTERED if reasons else Authenticity.GENUINE
    return Verification(found_to_be, name, tuple(reasons), said["provenance"], found)


def differences(
    found: ProtectedTable, released: ProtectedTable
) -> Iterator[tuple[tuple[str, ...], int | None, int | None]]:
    """Yield the cells of a file that differ from the release: codes, figure now, figure then."""
    order = [d.level for d in released.dimensions]
    now, then = _cells(found, order), _cells(released, order)
    for place in {**then, **now}:  # in the order of the release
        if now.get(place, -1) != then.get(place, -1):
            yield place, now.get(place), then.get(place)


def _cells(table: ProtectedTable, order: list[str]) -> dict[tuple[str, ...], int | None]:
    named = {d.level: d for d in table.dimensions}
    if sorted(named) != sorted(order):
        return {}
    axes = [[d.level for d in table.dimensions].index(name) for name in order]
    codes = product(*(named[name].codes for name in order))
    values = table.values.transpose(axes).ravel().tolist()
    missing = table.withheld.transpose(axes).ravel().tolist()
    figures = (None if gone else value for value, gone in zip(values, missing, strict=True))
    return dict(zip(codes, figures, strict=True))
