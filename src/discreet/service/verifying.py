"""A store read from end to end: every file of every version is as it was written."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from discreet.errors import Damaged
from discreet.population import Store, Version
from discreet.population import manifest as manifests
from discreet.population.intact import Pause
from discreet.population.sealed import unsealed
from discreet.tabulate.views import cells_of


def verify_store(path: Path) -> list[str]:
    """Return the versions that this program cannot read; raise `Damaged` or `Sealed` otherwise.

    Secret and keys, manifests, columns, codes, views, and that nothing else is there.
    """
    store = Store(path)
    unsealed(store, store.open())
    others = []
    for name in store.list():
        if manifests.loose(store.versions / name).get("format", manifests.FORMAT) == (
            manifests.FORMAT
        ):
            verify_version(Version.open(store.versions / name), everything=True)
        else:
            others.append(name)
    return others


def verify_version(version: Version, pause: Pause | None = None, everything: bool = False) -> None:
    """Raise `Damaged` unless every file of a version is as it was written.

    Coded records in other storage are read only if `everything` is to be.
    """
    version.verify(pause, everything)
    known = {*version.manifest["files"], manifests.NAME, version.views.name}
    for path in sorted(version.path.iterdir()):
        if path.name not in known:
            raise Damaged(f"{path} is no file of this version. Remove it.")
    for path in views_of(version):
        with suppress(FileNotFoundError):  # a server evicted it meanwhile
            cells_of(version, path)


def views_of(version: Version) -> list[Path]:
    """Return the files of the views of a version."""
    return sorted(version.views.glob("*.u64"))
