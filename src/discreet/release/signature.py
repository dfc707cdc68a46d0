"""Signatures: an Ed25519 key of the store's own, over what a release says and not how it lies.

The order of rows, columns and categories is not signed: a CSV file that was sorted still verifies.
Digests are of released figures alone.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
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
from discreet.json import canonical
from discreet.population import signing
from discreet.release.text import Facts, exact, plain
from discreet.table import ProtectedTable

VERSION = 2
RELEASE = b"discreet release\0"
"""What a signature is for: one of a release is none of anything else."""


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

    @classmethod
    def throwaway(cls) -> Signer:
        """Return a key that is no store's and is kept nowhere."""
        return cls(Ed25519PrivateKey.generate())

    @cached_property
    def public(self) -> bytes:
        """The 32 bytes of the public key."""
        return _raw(self.private.public_key())

    def sign(self, statement: dict[str, Any], domain: bytes = RELEASE) -> dict[str, Any]:
        """Return a proof: the statement, the public key and the signature."""
        return {
            "statement": statement,
            "key": self.public.hex(),
            "signature": self.private.sign(domain + canonical(statement)).hex(),
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


def statement(table: ProtectedTable, document: dict[str, Any], facts: Facts) -> dict[str, Any]:
    """Return what is signed: where the table comes from, and digests of all it says.

    Texts are signed twice, as they are and as PX has them: a file must show the one or the other.
    """
    return {
        "version": VERSION,
        "provenance": document["provenance"],
        "dimensions": {d.level: [d.variable, d.label] for d in table.dimensions},
        "figures": {name: figures_digest(table, name) for name in table.figures},
        "labels": [labels_digest(table, form) for form in (exact, plain)],
        "text": [text_digest(facts, form) for form in (exact, plain)],
        "document": document_digest(document),
    }


def is_signed(proof: dict[str, Any], key: bytes) -> bool:
    """Return whether a proof is a statement on a release that the owner of a key signed."""
    return is_proof(proof, key, RELEASE, VERSION)


def is_proof(proof: dict[str, Any], key: bytes, domain: bytes, version: int) -> bool:
    """Return whether a proof is a statement that the owner of a key signed, and nothing else."""
    try:
        said, signature = proof["statement"], bytes.fromhex(proof["signature"])
        signed = domain + canonical(said)
        Ed25519PublicKey.from_public_bytes(key).verify(signature, signed)
    except (InvalidSignature, KeyError, TypeError, ValueError):
        return False
    whole = {"statement": said, "key": key.hex(), "signature": signature.hex()}
    return proof == whole and isinstance(said, dict) and said.get("version") == version


def figures_digest(table: ProtectedTable, name: str = "value") -> str:
    """Return a digest of ids, codes, one column of figures and which of them are withheld.

    The order of dimensions and of categories does not matter.
    """
    order = sorted(range(len(table.dimensions)), key=lambda d: table.dimensions[d].level)
    codes = [table.dimensions[d].codes for d in order]
    places = [sorted(range(len(c)), key=c.__getitem__) for c in codes]
    shape = {
        table.dimensions[d].level: [table.dimensions[d].codes[i] for i in place]
        for d, place in zip(order, places, strict=True)
    }
    hashed = hashlib.sha256(canonical(shape))
    shown = np.where(table.withheld, 0, table.figures[name])
    for array, kind in ((table.withheld, "u1"), (shown, "<i8")):
        turned = array.transpose(order)[np.ix_(*places)]
        hashed.update(np.ascontiguousarray(turned, kind).data)
    return hashed.hexdigest()


def labels_digest(table: ProtectedTable, form: Callable[[str], str] = exact) -> str:
    """Return a digest of the labels of the dimensions and of their categories."""

    def shown(label: str, instead: str) -> str:
        return form(label if exact(label).strip() else instead)

    named = {
        d.level: [
            shown(d.label, d.level),
            {code: shown(label, code) for code, label in zip(d.codes, d.labels, strict=True)},
        ]
        for d in table.dimensions
    }
    return hashlib.sha256(canonical(named)).hexdigest()


def text_digest(facts: Facts, form: Callable[[str], str] = exact) -> str:
    """Return a digest of title, population, filters, notes, quality and origin."""
    return hashlib.sha256(canonical([[head, form(text)] for head, text in facts])).hexdigest()


def document_digest(document: dict[str, Any]) -> str:
    """Return a digest of the document that tidy files have beside them, figures of quality too."""
    return hashlib.sha256(canonical(document)).hexdigest()


def _raw(key: Ed25519PublicKey) -> bytes:
    return key.public_bytes(Encoding.Raw, PublicFormat.Raw)
