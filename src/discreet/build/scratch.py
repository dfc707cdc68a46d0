"""Holding a folder of versions while one is made: its lock, a scratch folder, nothing left over."""

from __future__ import annotations

import errno
import fcntl
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from discreet.errors import ParameterError
from discreet.population import manifest as manifests
from discreet.population import signing, state
from discreet.population.coded import Coded
from discreet.population.keys import Secret
from discreet.population.store import Store

_DISK = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
# What may be in a folder in which nothing was built: put back from a backup, or left by a kill.
_KEYS = {"secret", signing.PRIVATE, signing.PUBLIC, signing.MARK, state.FILE, state.MARK}
_HALVES = {"CURRENT.new", "secret.new", signing.HALF}
_OURS = _KEYS | _HALVES | {"secret.next", "versions", ".lock"}


@contextmanager
def told(store: Store) -> Iterator[None]:
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
def locked(store: Store) -> Iterator[None]:
    """Hold the store for one builder at a time; the lock dies with the process.

    Where nothing was built, now or before, the folder is left as it was found.
    """
    lock_file = store.path / ".lock"
    if store.path.exists() and not store.path.is_dir():
        raise ParameterError(f"{store.path} must be a folder. It is a file.")
    made = [path for path in (store.path, *store.path.parents) if not path.exists()]
    found = {path.name for path in store.path.iterdir()} if not made else set()
    others = sorted(found - _OURS)
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
    for name in (_KEYS | _HALVES) - found:
        (store.path / name).unlink(missing_ok=True)
    (store.path / ".lock").unlink(missing_ok=True)
    # Only if empty: versions and a secret that were here before are not this build's to remove.
    emptied = [store.versions, *made]
    if ".lock" in found:
        emptied.append(store.path)  # made by a build that was killed
    for path in emptied:
        with suppress(OSError):
            path.rmdir()


@contextmanager
def nothing_left(store: Store) -> Iterator[Path]:
    """Give a scratch folder on the store's disk, and remove it whatever happens."""
    _tidy(store)
    scratch = store.versions / f".scratch-{secrets.token_hex(4)}"
    scratch.mkdir(mode=0o700)
    try:
        yield scratch
    finally:
        with suppress(OSError):  # or the next build does it
            _tidy(store)


def _tidy(store: Store) -> None:
    """Finish or take away what a build left that was stopped, at whatever moment."""
    current = store.current()
    for name in store.list():
        if current not in (None, name) and store.order(name) > store.order(str(current)):
            remove(store, name)  # finished, but its build was killed before it was current
    for scratch in store.versions.glob(".scratch-*"):
        shutil.rmtree(scratch, ignore_errors=True)
    for half in _HALVES:
        (store.path / half).unlink(missing_ok=True)
    if store.next_secret.exists():
        if Secret.read(store.next_secret).fingerprint() == manifest(store).get("secret"):
            os.replace(store.next_secret, store.secret)
        else:
            store.next_secret.unlink()


def manifest(store: Store, name: str | None = None) -> dict[str, Any]:
    """Return the manifest of a version, the current one for None; empty where none can be read."""
    return manifests.loose(store.versions / str(name or store.current()))


def remove(store: Store, name: str) -> None:
    """Remove a version; killed halfway, what is left is not taken for a version."""
    doomed = store.versions / f".scratch-{name}"
    said = manifest(store, name).get("engine")
    os.replace(store.versions / name, doomed)
    if said is not None:
        with suppress(OSError, ParameterError):  # storage that is not there now keeps it
            Coded(said["coded"]).remove()
    shutil.rmtree(doomed, ignore_errors=True)
