"""A store read from end to end: every file of every version is as it was written."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing, suppress
from pathlib import Path

from discreet.errors import Damaged
from discreet.federation import accepting, kept
from discreet.federation.store import HOW
from discreet.files import read_bytes
from discreet.json import parsed
from discreet.ledger import Database, Ledgers
from discreet.ledger.belonging import Belonging
from discreet.policy import parse_policy
from discreet.population import Store, Version, state
from discreet.population import manifest as manifests
from discreet.population.intact import Pause
from discreet.population.keys import Secret
from discreet.population.sealed import unsealed
from discreet.release.record import verify as verify_records
from discreet.release.signature import Signer
from discreet.service.certificate import FOLDER
from discreet.service.certificate import read as read_certificate
from discreet.service.opened import records_of
from discreet.tabulate.views import cells_of


def verify_store(path: Path) -> list[str]:
    """Return the versions that this program cannot read; raise `Damaged` or `Sealed` otherwise.

    Secret and keys, manifests, columns, codes, views, and that nothing else is there; the state and
    whether it is this store's, records, certificates, and what a site or a hub keeps.
    """
    store = Store(path)
    current = store.open()
    _verify_state(path, current, unsealed(store, current))
    _verify_certificates(path)
    _verify_federation(path)
    others = []
    for name in store.list():
        if manifests.loose(store.versions / name).get("format", manifests.FORMAT) == (
            manifests.FORMAT
        ):
            verify_version(Version.open(store.versions / name), everything=True)
        else:
            others.append(name)
    return others


def _verify_state(path: Path, version: Version, secret: Secret) -> None:
    """Raise unless the ledger is whole and this store's, and each record as it was written."""
    _verify_database(path / state.FILE)
    records, database, dataset = (
        records_of(path),
        Database.of_store(path.resolve()),
        version.schema.id,
    )
    recorded = sum(verify_records(one) for one in {records, path / records.name} if one.exists())
    if not (path / state.MARK).exists():
        return  # it was not opened yet
    policy = parse_policy(version.policy_values, "policy", str(version.path))
    Belonging(path, records, dataset).check(Ledgers(version, policy, secret, database))
    with database.reading() as transaction:
        made = transaction.settled(dataset) and not os.environ.get(state.SETTING)
    database.close()
    if made and not recorded:
        raise Damaged(f"{records} is empty, but tables were made. Put the file back from a backup.")


def _verify_certificates(path: Path) -> None:
    """Raise unless every certificate is signed, with this key of the store or an earlier one."""
    for one in sorted((path / FOLDER).glob("*")):
        if read_certificate(one, None) is None:
            raise Damaged(f"{one} is no certificate, or altered. Remove it, and certify again.")


def _verify_federation(path: Path) -> None:
    """Raise unless what a site accepted is signed and its record whole, and a hub's file is one."""
    if (path / accepting.FILE).exists():
        accepting.Accepted.read(path, Signer.of_store(path))
        kept.check(path)
    _verify_database(path / kept.FILE)
    hub = path / HOW
    if hub.exists() and set(parsed(read_bytes(hub), str(hub))) != {"ca", "seconds"}:
        raise Damaged(f"{hub} is damaged. Start the hub again.")


def _verify_database(path: Path) -> None:
    """Raise `Damaged` unless a file of SQLite, if there is one, is whole."""
    if not path.exists():
        return
    # One that nobody can write to is read without the files beside it.
    how = "mode=rw" if os.access(path.parent, os.W_OK) else "mode=ro&immutable=1"
    try:
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?{how}", uri=True)) as db:
            said = [str(row[0]) for row in db.execute("PRAGMA integrity_check(1)")]
    except sqlite3.DatabaseError as error:
        said = [str(error)]
    if said != ["ok"]:
        raise Damaged(f"{path} is damaged. Put the file back from a backup.")


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
