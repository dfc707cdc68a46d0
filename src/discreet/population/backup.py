"""A store in one encrypted file, and back.

What is kept is the current version, the secret, the keys that sign, and whatever else lies in the
store: enough for the restored store to answer every question with the same figures. Marginal views
are left out, since they are made again.

A store may be built into and asked while it is copied. A version is never changed, and a file that
is open stays whole when its name is gone: so all files are opened first, then read.
"""

from __future__ import annotations

import hashlib
import io
import os
import re
import shutil
import sqlite3
import tarfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, BinaryIO

from discreet.errors import ParameterError, RecordsUnreachable
from discreet.files import sync, written
from discreet.population import state
from discreet.population.envelope import Opening, Owner, Passphrase, Recipient, Sealing
from discreet.population.keys import Secret
from discreet.population.store import Store, Version

_TRIES = 5
_OWN = {"CURRENT", "secret", "secret.next"}  # of which the right one is chosen
_NAME = re.compile(r"(?:[A-Za-z0-9][A-Za-z0-9._-]{0,99}/){0,3}[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_PART = re.compile(r"\.(new|part)$|-(wal|shm|journal)$")
_SQLITE = b"SQLite format 3\0"


@dataclass(frozen=True)
class Kept:
    """What a backup holds: the id of the data set and of the version.

    `coded` is the folder of records that are elsewhere, and not in the backup.
    """

    dataset: str
    version: str
    coded: str | None = None


@dataclass(frozen=True)
class _File:
    """A file to keep, open; `digest` is what it must have, None where nothing says."""

    name: str
    file: BinaryIO
    size: int
    digest: str | None = None


def backup(
    store: Path,
    out: Path,
    by: Passphrase | Recipient,
    elsewhere: Callable[[str, Path], None] | None = None,
) -> Kept:
    """Write the current version of a store, with its secret and keys, to one encrypted file.

    `elsewhere` copies the state of a data set to a path, where that is kept in another database.
    """
    with ExitStack() as stack:
        version, files = _opened(Store(store), stack)
        if elsewhere is not None:  # after the records: whatever they hold is in the ledger
            copy = Path(stack.enter_context(TemporaryDirectory(prefix="discreet-"))) / state.FILE
            elsewhere(version.schema.id, copy)
            files = [each for each in files if each.name != state.FILE]
            files.append(_lying(state.FILE, copy, stack))
        try:
            with written(out) as file:
                sealing = Sealing(file, by)
                with tarfile.open(fileobj=sealing, mode="w|", format=tarfile.PAX_FORMAT) as tar:
                    for each in files:
                        _add(tar, each)
                sealing.finish()
        except OSError as error:
            raise ParameterError(
                f"'{out}' could not be written. {error.strerror or error}."
            ) from error
    return _kept(version)


def _kept(version: Version) -> Kept:
    elsewhere = version.elsewhere
    return Kept(version.schema.id, version.id, None if elsewhere is None else elsewhere.coded)


def _opened(store: Store, stack: ExitStack) -> tuple[Version, list[_File]]:
    """Return the files of the current version and of its store, open; of one moment."""
    for _ in range(_TRIES):
        version = store.open()
        with ExitStack() as trying:
            try:
                files = [*_of_version(version, trying), *_of_store(store, version, trying)]
            except FileNotFoundError:
                continue  # a build has just taken the version away, or switched its secret
            stack.enter_context(trying.pop_all())
            return version, files
    raise ParameterError(
        f"{store.path} lacks a file, or the secret of its version: see discreet info --verify."
    )


def _of_version(version: Version, stack: ExitStack) -> Iterator[_File]:
    digests = {name: facts["blake2b"] for name, facts in version.manifest["files"].items()}
    for name, digest in {"manifest.json": None, **digests}.items():
        file = stack.enter_context((version.path / name).open("rb"))
        size = os.fstat(file.fileno()).st_size
        yield _File(f"versions/{version.id}/{name}", file, size, digest)


def _of_store(store: Store, version: Version, stack: ExitStack) -> Iterator[_File]:
    """Yield the files beside the versions: the secret that fits, and what else is there."""
    yield _File("CURRENT", io.BytesIO(f"{version.id}\n".encode()), len(version.id) + 1)
    secret = f"{_secret_of(store, version).value.hex()}\n".encode()
    yield _File("secret", io.BytesIO(secret), len(secret))
    for path in sorted(store.path.rglob("*")):
        name = path.relative_to(store.path).as_posix()
        ours = name in _OWN or name.startswith("versions/") or _PART.search(name)
        if not ours and _NAME.fullmatch(name) and path.is_file():
            yield _lying(name, path, stack)


def _secret_of(store: Store, version: Version) -> Secret:
    """Return the secret of a version; while one is switched, the next one may be it."""
    for path in (store.secret, store.next_secret):
        if path.exists():
            secret = Secret.read(path)
            if version.manifest.get("secret") in (None, secret.fingerprint()):
                return secret
    raise FileNotFoundError(store.secret)


def _lying(name: str, path: Path, stack: ExitStack) -> _File:
    """Return a file as it is at this moment: a database as it was committed, a log to its end."""
    file = stack.enter_context(path.open("rb"))
    if file.read(len(_SQLITE)) == _SQLITE:
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="discreet-")))
        source = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)
        with closing(source), closing(sqlite3.connect(folder / "copy")) as copy:
            source.backup(copy)
        file = stack.enter_context((folder / "copy").open("rb"))
    file.seek(0)
    return _File(name, file, os.fstat(file.fileno()).st_size)


def _add(tar: tarfile.TarFile, each: _File) -> None:
    """Add a file, which must be what its version says it is."""
    info = tarfile.TarInfo(each.name)
    info.size, info.mode = each.size, 0o600
    hashed = _Hashed(each.file)
    tar.addfile(info, hashed)
    if each.digest not in (None, hashed.digest):
        raise ParameterError(
            f"{each.name} does not have its checksum, so it is not kept. Build again."
        )


class _Hashed:
    """A file that is hashed while it is read."""

    def __init__(self, file: BinaryIO) -> None:
        self._file, self._hash = file, hashlib.blake2b(digest_size=16)

    def read(self, size: int = -1) -> bytes:
        data = self._file.read(size)
        self._hash.update(data)
        return data

    @property
    def digest(self) -> str:
        return self._hash.hexdigest()


def restore(file: Path, out: Path, by: Passphrase | Owner) -> Kept:
    """Make a store of a backup, where there is none yet; whole and checked, or not at all."""
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise ParameterError(f"{out} must be a new folder. It is there already.")
    if not out.absolute().parent.is_dir():
        raise ParameterError(f"the store must be in a folder that exists. Got {out}.")
    try:
        with file.open("rb") as held, _beside(out) as scratch:
            _unpack(Opening(held, by), scratch)
            kept = _checked(scratch)
            for folder in (*(path for path in scratch.rglob("*") if path.is_dir()), scratch):
                sync(folder)
            os.replace(scratch, out)
            sync(out.absolute().parent)
    except OSError as error:
        where = error.filename or file
        raise ParameterError(f"'{where}' cannot be used. {error.strerror}.") from error
    return kept


@contextmanager
def _beside(out: Path) -> Iterator[Path]:
    """Give a folder beside a new store, and remove it if it does not take its name."""
    scratch = out.absolute().with_name(f".{out.name[:100]}.{os.urandom(4).hex()}.part")
    try:
        scratch.mkdir(mode=0o700)  # within, because Ctrl-C may come as it returns
        yield scratch
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _unpack(opening: Opening, folder: Path) -> None:
    """Write the files of a backup into a folder; names that no store has are refused."""
    stream = io.BufferedReader(opening, 2**20)
    try:
        with tarfile.open(fileobj=stream, mode="r|") as tar:
            for member in tar:
                _take(tar, member, folder)
    except tarfile.TarError:
        raise ParameterError("the backup holds no store.") from None
    while stream.read(2**20):
        pass  # to the end, so that what was cut off is noticed


def _take(tar: tarfile.TarFile, member: tarfile.TarInfo, folder: Path) -> None:
    if not member.isreg() or not _NAME.fullmatch(member.name):
        raise ParameterError(f"a backup must hold the files of a store. Got '{member.name:.100}'.")
    target = folder / member.name
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    source: Any = tar.extractfile(member)
    mode = 0o644 if target.suffix == ".pub" or target.name == "CURRENT" else 0o600
    handle = os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY, mode)
    with os.fdopen(handle, "wb") as file:
        shutil.copyfileobj(source, file, 2**20)
        file.flush()
        os.fsync(file.fileno())


def _checked(folder: Path) -> Kept:
    """Return what was restored, every file with its checksum and the secret its version's."""
    version = Store(folder).open()
    with suppress(RecordsUnreachable):  # no backup holds them, and this may be another machine
        version.verify()
    secret = Secret.read(folder / "secret")
    if version.manifest.get("secret") not in (None, secret.fingerprint()):
        raise ParameterError("the backup holds another secret than its version was built with.")
    return _kept(version)
