"""`build`: description and data in, a new current version of a store out, or nothing changed.

Flow: batches of the source → codes, areas, ids in raw files of a scratch folder → checks over the
whole (empty, duplicates, differencing) → columns sorted by area, keys, manifest → one rename.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import secrets
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from discreet import __version__
from discreet.build.columns import write_columns
from discreet.build.dataset import Dataset
from discreet.build.ingest import Ingest
from discreet.errors import ParameterError
from discreet.population.keys import DEFAULT_MODULUS, Secret
from discreet.population.store import FORMAT, Store, Version, checksum, sync_folder
from discreet.tabulate import ScanEngine, ViewEngine
from discreet.tabulate.views import BUDGET, choose

Progress = Callable[[str, int, int | None], None]
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
    progress: Progress | None = None,
    new_secret: bool = False,
    keep: int = 2,
    views: int = BUDGET,
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
    with _locked(store), _nothing_left(store) as scratch:
        _check_same(store, dataset)
        secret = Secret.read(store.secret) if store.secret.exists() else Secret.fresh()
        if new_secret:
            secret = Secret.fresh()
        ingest = Ingest(dataset, secret, scratch)
        try:
            ingest.read(tell)
            ingest.check()
        finally:
            ingest.close()
        version = scratch / "version"
        version.mkdir(mode=0o700)
        write_columns(ingest, version, tell)
        _write_manifest(dataset, ingest, version, tell)
        _build_views(version, views, tell)
        name = f"{datetime.now(UTC):%Y%m%dT%H%M%S%f}-{secrets.token_hex(3)}"
        if new_secret or not store.secret.exists():
            secret.write(store.secret)
        os.replace(version, store.versions / name)
        sync_folder(store.versions)
        store.switch(name)
        for old in store.list()[:-keep]:
            if old != name:
                shutil.rmtree(store.versions / old, ignore_errors=True)
    return Built(name, ingest.rows, ingest.notes())


@contextmanager
def _locked(store: Store) -> Iterator[None]:
    """Hold the store for one builder at a time; the lock dies with the process."""
    created = not store.path.exists()
    if store.path.exists() and not store.path.is_dir():
        raise ParameterError(f"{store.path} must be a folder. It is a file.")
    if not created and store.current() is None and any(store.path.iterdir()):
        known = {"secret", "secret.new", "versions", ".lock", "CURRENT.new"}
        others = sorted(path.name for path in store.path.iterdir() if path.name not in known)
        if others:
            raise ParameterError(
                f"{store.path} is not a store and not empty (it holds {others[0]}). "
                "Give a new folder."
            )
    store.versions.mkdir(mode=0o700, parents=True, exist_ok=True)
    store.path.chmod(0o700)
    with (store.path / ".lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ParameterError(f"another build into {store.path} is running.") from None
        try:
            yield
        finally:
            if store.current() is None:
                # Nothing was built here, now or before: leave nothing.
                shutil.rmtree(store.path, ignore_errors=True)


@contextmanager
def _nothing_left(store: Store) -> Iterator[Path]:
    """Give a scratch folder on the store's disk, and remove it whatever happens."""
    for stale in store.versions.glob(".scratch-*"):  # of a build that was killed
        shutil.rmtree(stale, ignore_errors=True)
    scratch = store.versions / f".scratch-{secrets.token_hex(4)}"
    scratch.mkdir(mode=0o700)
    try:
        yield scratch
    except OSError as error:
        if error.errno in _DISK:
            raise ParameterError(
                f"the disk of {store.path} is full ({os.strerror(error.errno)}). "
                "Nothing was changed."
            ) from error
        raise
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _check_same(store: Store, dataset: Dataset) -> None:
    """Refuse to build one data set over another."""
    if store.current() is None:
        return
    path = store.versions / str(store.current()) / "manifest.json"
    try:
        held = json.loads(path.read_text(encoding="utf-8"))["dataset"]
    except (OSError, ValueError, KeyError):
        return
    if held != dataset.id:
        raise ParameterError(
            f"{store.path} holds the data set '{held}', not '{dataset.id}'. Give a new folder."
        )


def _write_manifest(dataset: Dataset, ingest: Ingest, version: Path, tell: Progress) -> None:
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
        "hypercube": dataset.source.count is not None,
        "modulus": DEFAULT_MODULUS if dataset.source.key is None else dataset.source.key[1],
        "keys": "blake2b" if dataset.source.key is None else "given",
        "households": dataset.source.household_id is not None,
        "minimum_population": dataset.policy.minimum_population,
        "accepted_differencing": ingest.accepted,
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


def _build_views(path: Path, budget: int, tell: Progress) -> None:
    """Compile the kernels, so that no reader waits for it, and build the chosen views."""
    tell("compiling", 0, None)
    version = Version.open(path)
    scan = ScanEngine(version)
    engine = ViewEngine(version, scan, version.views, budget)
    chosen = choose(version.schema, budget)
    for i, key in enumerate(chosen):
        tell("views", i, len(chosen))
        engine.build(key)
    scan.close()
