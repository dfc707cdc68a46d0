"""Signatures: an Ed25519 key of the store's own, over what a release says and not how it lies.

The order of rows, columns and categories is not signed, nor is white space: a file that was
sorted or saved anew still verifies. Digests are of released figures alone.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    PublicFormat,
    load_pem_public_key,
)

from discreet.errors import ParameterError
from discreet.population import signing
from discreet.release.text import Facts, folded
from discreet.table import ProtectedTable

VERSION = 1
_DOMAIN = b"discreet release\0"


@dataclass(frozen=True)
class Signer:
    """The private key of a store; never printed, never part of a file."""

    private: Ed25519PrivateKey = field(repr=False)

    @classmethod
    def of_store(cls, store: Path) -> Signer:
        """Return the key of a store; a folder that is no store yet is given one."""
        if not (store / signing.PRIVATE).exists() and not (store / "CURRENT").exists():
            signing.make(store)
        signing.check(store)
        return cls(signing.read(store))

    @cached_property
    def public(self) -> bytes:
        """The 32 bytes of the public key."""
        return _raw(self.private.public_key())

    def sign(self, statement: dict[str, Any]) -> dict[str, Any]:
        """Return a proof: the statement, the public key and the signature."""
        return {
            "statement": statement,
            "key": self.public.hex(),
            "signature": self.private.sign(_bytes(statement)).hex(),
        }


def read_public_key(path: Path) -> bytes:
    """Return the 32 bytes of a public key: a file in PEM, as in STORE/signing.pub."""
    try:
        key = load_pem_public_key(path.read_bytes())
    except OSError as error:
        raise ParameterError(f"the public key must be a readable file. {error}") from None
    except ValueError:
        key = None
    if not isinstance(key, Ed25519PublicKey):
        raise ParameterError(f"'{path}' must hold an Ed25519 public key (PEM).")
    return _raw(key)


def statement(table: ProtectedTable, facts: Facts, provenance: dict[str, Any]) -> dict[str, Any]:
    """Return what is signed: where the table comes from, and digests of all it says."""
    return {
        "version": VERSION,
        "provenance": provenance,
        "cells": cells_digest(table),
        "labels": labels_digest(table),
        "bounds": bounds_digest(table),
        "text": text_digest(facts),
    }


def is_signed(proof: dict[str, Any], key: bytes) -> bool:
    """Return whether the statement in a proof was signed by the owner of a key."""
    try:
        signature = bytes.fromhex(proof["signature"])
        Ed25519PublicKey.from_public_bytes(key).verify(signature, _bytes(proof["statement"]))
    except (InvalidSignature, KeyError, TypeError, ValueError):
        return False
    return isinstance(proof["statement"], dict) and proof["statement"].get("version") == VERSION


def cells_digest(table: ProtectedTable) -> str:
    """Return a digest of ids, codes, figures and which are withheld, in an order of its own."""
    return _digest(table, np.where(table.withheld, -1, table.values))


def bounds_digest(table: ProtectedTable) -> str | None:
    """Return a digest of the bounds of the figures, None where none are given."""
    if table.low is None or table.high is None:
        return None
    low, high = (np.where(table.withheld, -1, bound) for bound in (table.low, table.high))
    return _digest(table, low, high)


def labels_digest(table: ProtectedTable) -> str:
    """Return a digest of the labels of the dimensions and of their categories."""
    named = {
        d.level: [
            folded(d.label) or d.level,
            {code: folded(label) or code for code, label in zip(d.codes, d.labels, strict=True)},
        ]
        for d in table.dimensions
    }
    return hashlib.sha256(_json(named)).hexdigest()


def text_digest(facts: Facts) -> str:
    """Return a digest of title, population, filters, notes, quality and origin."""
    return hashlib.sha256(_json([[head, folded(text)] for head, text in facts])).hexdigest()


def _digest(table: ProtectedTable, *arrays: np.ndarray[Any, Any]) -> str:
    order = sorted(range(len(table.dimensions)), key=lambda d: table.dimensions[d].level)
    codes = [table.dimensions[d].codes for d in order]
    places = [sorted(range(len(c)), key=c.__getitem__) for c in codes]
    shape = {
        table.dimensions[d].level: [table.dimensions[d].codes[i] for i in place]
        for d, place in zip(order, places, strict=True)
    }
    hashed = hashlib.sha256(_json(shape))
    for array in arrays:
        turned = array.transpose(order)[np.ix_(*places)]
        hashed.update(np.ascontiguousarray(turned, "<i8").data)
    return hashed.hexdigest()


def _raw(key: Ed25519PublicKey) -> bytes:
    return key.public_bytes(Encoding.Raw, PublicFormat.Raw)


def _json(value: Any) -> bytes:
    text = json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return text.encode("utf-8", "surrogatepass")


def _bytes(value: dict[str, Any]) -> bytes:
    return _DOMAIN + _json(value)
