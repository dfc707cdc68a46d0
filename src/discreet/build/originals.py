"""The records as they came, for the custodian of a store that is protected beforehand.

FOLDER/versions/<id>/    the records of the store's version of that id, before `[[protect]]`

A folder outside the store, without a secret, a policy or a current version: it cannot be opened as
a store, and nothing in the store says where it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from discreet.build.dataset import Dataset
from discreet.build.scratch import locked, manifest, nothing_left, remove
from discreet.errors import ParameterError
from discreet.population.store import Store


def checked(folder: Path | None, store: Store, dataset: Dataset) -> Store | None:
    """Return the folder of the originals, which must be apart from the store."""
    if folder is None:
        return None
    if not dataset.protect:
        raise ParameterError(
            f"originals are the records before they are protected, and {dataset.path} has no "
            "[[protect]]: the store itself holds the records as they came."
        )
    here, there = folder.resolve(), store.path.resolve()
    if here == there or here in there.parents or there in here.parents:
        raise ParameterError(
            f"the folder of the originals must be apart from the store {store.path}. Got {folder}."
        )
    if Store(folder).current() is not None:
        raise ParameterError(f"{folder} is a store. Originals need a folder of their own.")
    return Store(folder)


@contextmanager
def holding(originals: Store | None) -> Iterator[Path | None]:
    """Give a scratch folder on the disk of the originals, None where they are not kept."""
    if originals is None:
        yield None
        return
    with locked(originals), nothing_left(originals) as scratch:
        yield scratch


def secrets_of(store: Store) -> set[str]:
    """Return the fingerprints of the secrets that the versions in a folder were built with."""
    found = (manifest(store, name).get("secret") for name in store.list())
    return {str(secret) for secret in found if secret is not None}


def sweep(originals: Store, store: Store, ours: set[str]) -> None:
    """Remove originals of versions that the store no longer has, and of builds that were killed.

    Those of another store, which has another secret, are left alone; what cannot be removed now is
    left for the next build.
    """
    kept = set(store.list())
    for name in originals.list():
        if name not in kept and manifest(originals, name).get("secret") in ours:
            with suppress(OSError):
                remove(originals, name)
