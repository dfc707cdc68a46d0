"""Whether a file is an unaltered release of a store.

What the file says is read and compared with what was signed. Then the same is written anew, and
the file is compared with that: what it shows beside the signed table, or hides, is noticed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from io import BytesIO
from itertools import product
from pathlib import Path
from typing import Any

from discreet.errors import NotOurs, ParameterError
from discreet.release.formats import FORMATS, Found, format_of
from discreet.release.formats.compare import same_bytes, same_json
from discreet.release.signature import (
    document_digest,
    figures_digest,
    is_signed,
    labels_digest,
    text_digest,
)
from discreet.table import ProtectedTable

_ODD = (KeyError, IndexError, TypeError, AttributeError, ValueError, OverflowError, RecursionError)


class Authenticity(StrEnum):
    """What is known of a file."""

    GENUINE = "genuine"  # signed by the key, and nothing in it was changed
    ALTERED = "altered"  # says it was signed by the key, and something was changed
    FOREIGN = "foreign"  # signed by another key, or the signature was forged
    UNSIGNED = "unsigned"  # has no signature


@dataclass(frozen=True, eq=False)
class Verification:
    """Whether a file is genuine, why not, and where it says it comes from.

    `absent` is what was signed with it and is not in the file, so that it was not compared.
    """

    authenticity: Authenticity
    format: str
    reasons: tuple[str, ...] = ()
    provenance: dict[str, Any] | None = None
    found: Found | None = None
    absent: tuple[str, ...] = ()

    @property
    def genuine(self) -> bool:
        """Whether the file is a release of the key's owner, unaltered."""
        return self.authenticity is Authenticity.GENUINE


def verify(path: Path, key: bytes) -> Verification:
    """Return whether a file was released by the owner of a public key, and nothing changed."""
    name = format_of(path)
    try:
        return _verified(path, name, FORMATS[name].read(path), key)
    except NotOurs:
        raise
    except ParameterError as error:
        return Verification(Authenticity.ALTERED, name, (str(error),))
    except _ODD as error:
        reason = f"the file is not as this program writes it ({type(error).__name__})"
        return Verification(Authenticity.ALTERED, name, (reason,))


def _verified(path: Path, name: str, found: Found, key: bytes) -> Verification:
    """Return whether what was found in a file is genuine."""
    if found.proof is None:
        return Verification(Authenticity.UNSIGNED, name, ("it has no signature",), None, found)
    if not is_signed(found.proof, key):
        reason = "it was not signed by this key"
        return Verification(Authenticity.FOREIGN, name, (reason,), None, found)
    said = found.proof["statement"]
    reasons = _unlike_signed(found, said) or _unlike_written(path, name, found, said)
    judged = Authenticity.ALTERED if reasons else Authenticity.GENUINE
    absent = tuple(_absent(found, said))
    return Verification(judged, name, tuple(reasons), said["provenance"], found, absent)


def _absent(found: Found, said: dict[str, Any]) -> Iterator[str]:
    """Yield what was signed with a table and its file does not hold."""
    if not found.labelled:
        yield "labels"
    if not found.complete:
        yield from (f"the column {name}" for name in said["figures"] if name != "value")
    if not found.document:
        yield "the figures of quality"


def _unlike_signed(found: Found, said: dict[str, Any]) -> list[str]:
    """Return what the file says otherwise than it was signed."""
    table, figures = found.table, said["figures"]
    held = {name: figures_digest(table, name) for name in table.figures}
    wanted = figures if found.complete else {"value": figures["value"]}
    reasons = []
    if held["value"] != figures["value"]:
        reasons.append("figures or codes differ")
    elif held != wanted:
        reasons.append("bounds of figures differ")
    if found.labelled and labels_digest(table) not in said["labels"]:
        reasons.append("labels differ")
    words = not found.document or document_digest(found.document) == said["document"]
    if text_digest(found.facts) not in said["text"] or not words:
        reasons.append("title, notes, filters or origin differ")
    return reasons


def _unlike_written(path: Path, name: str, found: Found, said: dict[str, Any]) -> list[str]:
    """Return where the file, or one beside it, is not what the signed table would be written as."""
    chosen, signed = FORMATS[name], found.as_signed(said["dimensions"])
    fresh = BytesIO()
    chosen.write_to(signed, fresh)
    reasons = [chosen.same(path, fresh.getvalue(), signed)]
    for ending, content in chosen.companions(signed).items():
        beside = path.with_name(path.name + ending)
        if beside.is_file():
            compare = same_json if ending.endswith(".json") else same_bytes
            reasons.append(compare(beside, content))
    return [reason for reason in reasons if reason]


def differences(
    found: ProtectedTable, released: ProtectedTable
) -> Iterator[tuple[tuple[str, ...], float | None, float | None]]:
    """Yield the cells of a file that differ from the release: codes, figure now, figure then."""
    order = [d.level for d in released.dimensions]
    now, then = _cells(found, order), _cells(released, order)
    for place in {**then, **now}:  # in the order of the release
        if now.get(place, -1) != then.get(place, -1):
            yield place, now.get(place), then.get(place)


def _cells(table: ProtectedTable, order: list[str]) -> dict[tuple[str, ...], float | None]:
    named = {d.level: d for d in table.dimensions}
    if sorted(named) != sorted(order):
        return {}
    axes = [[d.level for d in table.dimensions].index(name) for name in order]
    codes = product(*(named[name].codes for name in order))
    values = table.values.transpose(axes).ravel().tolist()
    missing = table.withheld.transpose(axes).ravel().tolist()
    figures = (None if gone else value for value, gone in zip(values, missing, strict=True))
    return dict(zip(codes, figures, strict=True))
