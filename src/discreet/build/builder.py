"""`build`: description and data in, a new current version of a store out, or nothing changed.

Flow: batches of the source → codes, areas, ids in raw files of a scratch folder → checks over the
whole (empty, duplicates, differencing) → protection beforehand, if described → columns sorted by
area, keys, manifest → one rename.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from discreet import __version__
from discreet.build.columns import write_columns
from discreet.build.dataset import Dataset
from discreet.build.ingest import Ingest, wanted
from discreet.build.protecting import Done, apply_steps
from discreet.build.source import Reader
from discreet.errors import ParameterError
from discreet.files import sync_folder
from discreet.population.keys import DEFAULT_MODULUS, Secret
from discreet.population.store import FORMAT, PROTECTION, Store, Version, checksum
from discreet.progress import Tell
from discreet.tabulate import ScanEngine, ViewEngine
from discreet.tabulate.views import BUDGET, BUILT, choose

"""Told the stage, how much of it is done, and how much there is (None: not known)."""

_DISK = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


@dataclass(frozen=True)
class Built:
    """What a build made."""

    version: str
    rows: int
    notes: tuple[str, ...]


def build(
    description: Path,
    out: Path,
    progress: Tell | None = None,
    new_secret: bool = False,
    keep: int = 2,
    views: int = BUILT,
) -> Built:
    """Build a data set into a store and make it the current version.

    All or nothing: whatever goes wrong, a store that was there is as it was, and one that was not
    is not. `new_secret` gives every record a new key; `keep` versions stay on disk; `views` bytes
    of marginal tables are built along, so that common questions need no scan.
    """
    if keep < 1:
        raise ParameterError(f"keep must be at least 1. Got {keep}.")
    if views < 0:
        raise ParameterError(f"views must be 0 or a number of bytes. Got {views}.")
    dataset = Dataset.read(description)
    tell = progress or (lambda stage, done, total: None)
    store = Store(out)
    with _told(store), _locked(store), _nothing_left(store) as scratch:
        held = _manifest(store)
        if held.get("dataset") not in (None, dataset.id):
            raise ParameterError(
                f"{out} holds the data set '{held['dataset']}', not '{dataset.id}'. "
                "Give a new folder."
            )
        secret = Secret.fresh() if new_secret else _kept_secret(store, held)
        with closing(Reader(dataset.source, wanted(dataset), scratch)) as reader:
            ingest = Ingest(dataset, reader, secret, scratch)
            with closing(ingest):
                ingest.read(tell)
                ingest.check()
        done = apply_steps(dataset.protect, ingest, secret, tell)
        version = scratch / "version"
        version.mkdir(mode=0o700)
        _write_protection(done, version)
        write_columns(ingest, version, tell)
        _write_manifest(dataset, ingest, secret, version, tell)
        _build_views(version, views, tell)
        tell("switching", 0, None)
        _switch(store, version, secret, keep)
    notes = (*ingest.notes(), *(step.note for step in done))
    return Built(store.current() or "", ingest.rows, notes)


def _switch(store: Store, version: Path, secret: Secret, keep: int) -> None:
    """Make a finished version the current one and remove the oldest.

    A new secret waits beside the old one until the switch: whichever version is current after a
    kill, its secret is there, and the next build puts it in its place.
    """
    name = f"{datetime.now(UTC):%Y%m%dT%H%M%S%f}-{secrets.token_hex(3)}"
    if not store.secret.exists():
        secret.write(store.secret)
    elif Secret.read(store.secret) != secret:
        secret.write(store.next_secret)
    try:
        os.replace(version, store.versions / name)
        sync_folder(store.versions)
        store.switch(name)
    except BaseException:
        if store.current() != name:
            shutil.rmtree(store.versions / name, ignore_errors=True)
        raise
    if store.next_secret.exists():
        os.replace(store.next_secret, store.secret)
        sync_folder(store.path)
    for old in store.list()[:-keep]:
        if old != name:
            _remove(store, old)


def _remove(store: Store, name: str) -> None:
    """Remove a version; killed halfway, what is left is not taken for a version."""
    doomed = store.versions / f".scratch-{name}"
    os.replace(store.versions / name, doomed)
    shutil.rmtree(doomed, ignore_errors=True)


@contextmanager
def _told(store: Store) -> Iterator[None]:
    """Turn what the system refuses into a sentence."""
    try:
        yield
    except OSError as error:
        why = os.strerror(error.errno) if error.errno else str(error)
        if error.errno in _DISK:
            text = f"the disk of {store.path} is full ({why}). Nothing was changed."
        else:
            text = f"{error.filename or store.path} cannot be used: {why}. Nothing was changed."
        raise ParameterError(text) from error


@contextmanager
def _locked(store: Store) -> Iterator[None]:
    """Hold the store for one builder at a time; the lock dies with the process.

    Where nothing was built, now or before, the folder is left as it was found.
    """
    lock_file = store.path / ".lock"
    if store.path.exists() and not store.path.is_dir():
        raise ParameterError(f"{store.path} must be a folder. It is a file.")
    made = [path for path in (store.path, *store.path.parents) if not path.exists()]
    found = {path.name for path in store.path.iterdir()} if not made else set()
    others = sorted(found - {"secret", "secret.new", "secret.next", "versions", ".lock"})
    others = [name for name in others if not name.startswith("CURRENT")]
    if others and store.current() is None:
        raise ParameterError(
            f"{store.path} is not a store and not empty (it holds {others[0]}). Give a new folder."
        )
    store.versions.mkdir(mode=0o700, parents=True, exist_ok=True)
    store.path.chmod(0o700)
    with lock_file.open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # A build that failed meanwhile has taken the folder, and this lock, away.
            if os.fstat(lock.fileno()).st_nlink == 0:
                raise BlockingIOError
        except BlockingIOError:
            raise ParameterError(f"another build into {store.path} is running.") from None
        try:
            yield
        finally:
            if store.current() is None:
                _leave(store, found, made)


def _leave(store: Store, found: set[str], made: list[Path]) -> None:
    """Take away what builders put into a folder in which none ever finished."""
    if "secret" not in found:
        store.secret.unlink(missing_ok=True)
    (store.path / ".lock").unlink(missing_ok=True)
    # Only if empty: versions and a secret that were here before are not this build's to remove.
    emptied = [store.versions, *made]
    if ".lock" in found:
        emptied.append(store.path)  # made by a build that was killed
    for path in emptied:
        with suppress(OSError):
            path.rmdir()


@contextmanager
def _nothing_left(store: Store) -> Iterator[Path]:
    """Give a scratch folder on the store's disk, and remove it whatever happens."""
    _tidy(store)
    scratch = store.versions / f".scratch-{secrets.token_hex(4)}"
    scratch.mkdir(mode=0o700)
    try:
        yield scratch
    finally:
        _tidy(store)


def _tidy(store: Store) -> None:
    """Finish or take away what a build left that was stopped, at whatever moment."""
    current = store.current()
    for name in store.list():
        if current is not None and name > current:
            _remove(store, name)  # finished, but its build was killed before it was current
    for scratch in store.versions.glob(".scratch-*"):
        shutil.rmtree(scratch, ignore_errors=True)
    for half in ("CURRENT.new", "secret.new"):
        (store.path / half).unlink(missing_ok=True)
    if store.next_secret.exists():
        if Secret.read(store.next_secret).fingerprint() == _manifest(store).get("secret"):
            os.replace(store.next_secret, store.secret)
        else:
            store.next_secret.unlink()


def _manifest(store: Store) -> dict[str, Any]:
    """Return the manifest of the current version, empty where there is none to read."""
    path = store.versions / str(store.current()) / "manifest.json"
    try:
        held = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return held if isinstance(held, dict) else {}


def _kept_secret(store: Store, held: dict[str, Any]) -> Secret:
    """Return the secret of the current version, or a fresh one where nothing was built yet."""
    remedy = (
        "New keys would be new noise on the same data, which can be averaged with the old. Put "
        "the secret back, or give every record a new key with --new-secret."
    )
    if not store.secret.exists():
        if store.current() is not None:
            raise ParameterError(f"{store.secret} is missing. {remedy}")
        return Secret.fresh()
    secret = Secret.read(store.secret)
    if held.get("secret") not in (None, secret.fingerprint()):
        raise ParameterError(
            f"{store.secret} is not the secret that the current version was built with. {remedy}"
        )
    return secret


def _write_protection(done: tuple[Done, ...], version: Path) -> None:
    """Write what was done beforehand, for the custodian's record only."""
    if done:
        facts = [step.facts for step in done]
        (version / PROTECTION).write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")


def _write_manifest(
    dataset: Dataset, ingest: Ingest, secret: Secret, version: Path, tell: Tell
) -> None:
    files = sorted(path for path in version.iterdir())
    facts = {}
    for i, path in enumerate(files):
        tell("checksums", i, len(files))
        path.chmod(0o600)
        facts[path.name] = {"bytes": path.stat().st_size, "blake2b": checksum(path)}
    manifest = {
        "format": FORMAT,
        "program": __version__,
        "dataset": dataset.id,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "rows": ingest.rows,
        "hypercube": ingest.has("count"),
        "modulus": DEFAULT_MODULUS if dataset.source.key is None else dataset.source.key[1],
        "keys": "blake2b" if dataset.source.key is None else "given",
        "secret": secret.fingerprint(),
        "households": dataset.source.household_id is not None,
        "minimum_population": dataset.policy.minimum_population,
        "accepted_differencing": ingest.accepted,
        # The names alone: rates, control variables and pairs would help to undo it.
        "protected_beforehand": [step.name for step in dataset.protect],
        "files": facts,
    }
    target = version / "manifest.json"
    target.write_text(json.dumps(manifest, indent=1) + "\n", encoding="utf-8")
    target.chmod(0o600)
    for path in (*files, target):
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
    sync_folder(version)


def _build_views(path: Path, budget: int, tell: Tell) -> None:
    """Compile the kernels, so that no reader waits for it, and build the chosen views."""
    tell("compiling", 0, None)
    version = Version.open(path)
    scan = ScanEngine(version)
    engine = ViewEngine(version, scan, version.views, max(budget, BUDGET))
    chosen = choose(version.schema, budget)
    for i, key in enumerate(chosen):
        tell("views", i, len(chosen))
        engine.build(key)
    scan.close()
