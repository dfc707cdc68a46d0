"""The one place that opens a store: a version with everything that answers questions about it."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from discreet.errors import InternalError, ParameterError
from discreet.ledger import Ledger, Ledgers
from discreet.policy import Policy, Tier, parse_policy
from discreet.population import Schema, Store, Version
from discreet.population.keys import Secret
from discreet.release.originals import open_originals
from discreet.release.pipeline import Releaser
from discreet.release.signature import Signer
from discreet.tabulate import ScanEngine, ViewEngine

_TAG = b"discreet answer\0"


@dataclass(frozen=True, eq=False)
class Opened:
    """One version of a store, open to questions."""

    store: Path
    version: Version
    policy: Policy
    engine: ViewEngine
    releaser: Releaser

    @property
    def id(self) -> str:
        """The id of the data set."""
        return self.version.schema.id

    @property
    def schema(self) -> Schema:
        """Variables, levels and categories."""
        return self.version.schema

    @property
    def tier(self) -> Tier:
        """The tier of whoever does not say: the public, if there is a tier for it."""
        return self.policy.default_tier

    @property
    def public(self) -> bool:
        """Whether the answers are for everyone."""
        return self.tier.public

    @property
    def ledger(self) -> Ledger:
        """What is released to whoever does not say."""
        return self.releaser.ledgers.of(self.tier)

    @cached_property
    def signer(self) -> Signer:
        """The key by which files are signed; it is made when it is first needed."""
        return Signer.of_store(self.store)

    @cached_property
    def _tag_key(self) -> bytes:
        secret = self.releaser.secret.value
        return hashlib.blake2b(digest_size=32, key=secret, person=_TAG).digest()

    def tag(self, *parts: str) -> bytes:
        """Return what an answer is known by: a keyed hash of the question, never of figures."""
        text = json.dumps([self.id, self.version.id, self.policy.version, self.tier.id, *parts])
        return hashlib.blake2b(text.encode(), digest_size=16, key=self._tag_key).digest()


DATABASE = "DISCREET_DATABASE_URL"
"""The setting that names the database of the state."""


def state_of(path: Path, database: str | None = None) -> str:
    """Return the address of the state of a store: the one given, the one set, or a file in it."""
    return database or os.environ.get(DATABASE) or f"sqlite:///{path.resolve() / 'state.db'}"


def open_store(path: Path, originals: Path | None = None, database: str | None = None) -> Opened:
    """Return the current version of a store, ready to answer.

    `originals` is the custodian's folder of the records as they came; `database` is the address of
    the state, by default a file in the store ("sqlite://" is a fresh one in memory). Raises
    `InternalError` where the secret is not the one of the version, as while a build is just
    switching it.
    """
    store = Store(path)
    version = store.open()
    policy = parse_policy(version.policy_values, "policy", str(version.path))
    try:
        secret = Secret.read(store.secret)
    except OSError as error:
        raise ParameterError(f"the secret of {path} cannot be read: {error.strerror}") from None
    if version.manifest.get("secret") not in (None, secret.fingerprint()):
        raise InternalError(
            f"the secret of {path} is not the one its version was built with; a build may just be "
            "switching to a new secret"
        )
    engine = ViewEngine(version, ScanEngine(version), version.views)
    kept = None if originals is None else open_originals(originals, version)
    ledgers = Ledgers(version, policy, secret, state_of(path, database))
    releaser = Releaser(version, engine, policy, secret, ledgers, path / "records", kept)
    return Opened(path, version, policy, engine, releaser)
