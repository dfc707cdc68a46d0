"""A store: versions of a population on disk, of which one is current.

STORE/CURRENT                 the id of the current version, switched by one rename
STORE/secret                  mode 600, kept over rebuilds
STORE/secret.next             while a build switches to a new secret
STORE/signing.key             mode 600, by which releases are signed; signing.pub belongs to it
STORE/certificates/           what attackers learnt, signed; for a policy, its plan and an edition
STORE/versions/<id>/          written once, never changed
    manifest.json             format, rows, modulus, the size and checksum of every file
                              and of itself
    schema.json               variables, levels, categories
    policy.json               what may be released of it, and how it is protected
    codes.u8, codes.u16       a row of codes for each variable, records along it
    keys.u32                  record keys (of a hypercube: the key sum of each of its cells)
    counts.u32                of a hypercube: the count of each of its cells
    protection.json           how records were protected beforehand, for the custodian only
    views/                    marginal tables that answer many questions without a scan: a
                              cache, to which running readers add
    areas.u32                 of records elsewhere: the place of each area as they number it
    areas.i64                 where the records of each smallest area begin; records are
                              sorted by it, so an area of any level is one stretch of them
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import Damaged, ParameterError
from discreet.files import sync, written
from discreet.population import manifest as manifests
from discreet.population.coded import Elsewhere
from discreet.population.intact import Guard, Pause, checksum
from discreet.population.schema import Level, Schema, Variable

PROTECTION = "protection.json"
_SMALL = 2**25  # bytes up to which the columns of a version are read instead of mapped
PLACES = "areas.u32"
_VERSION_ID = re.compile(r"[0-9A-Za-z-]{1,64}")


@dataclass(frozen=True)
class Store:
    """A folder of versions; opening the store opens nothing in it."""

    path: Path

    @property
    def versions(self) -> Path:
        """The folder of versions."""
        return self.path / "versions"

    @property
    def secret(self) -> Path:
        """The file of the secret."""
        return self.path / "secret"

    @property
    def next_secret(self) -> Path:
        """The file of the secret of a version that is about to be current."""
        return self.path / "secret.next"

    def current(self) -> str | None:
        """Return the id of the current version, or None where nothing was built yet."""
        try:
            name = (self.path / "CURRENT").read_bytes().decode("ascii", "replace").strip()
        except (FileNotFoundError, NotADirectoryError):
            return None
        if not _VERSION_ID.fullmatch(name):
            held = ", ".join(self.list()) or "none"
            raise ParameterError(
                f"{self.path / 'CURRENT'} must hold the id of a version. Got {name[:80]!r}. "
                f"Write one of these into it: {held}"
            )
        return name

    def switch(self, name: str) -> None:
        """Make a version the current one, at once or not at all."""
        with written(self.path / "CURRENT", 0o644, alone=True) as file:
            file.write(f"{name}\n".encode("ascii"))
        sync(self.path)

    def list(self) -> list[str]:
        """Return the ids of the finished versions, in the order in which they were built."""
        if not self.versions.is_dir():
            return []
        names = (p.name for p in self.versions.iterdir() if not p.name.startswith("."))
        return sorted(names, key=self.order)

    def order(self, name: str) -> tuple[int, str]:
        """Return the place of a version among the others: by its number, not by the clock."""
        return manifests.number(self.versions / name), name

    def open(self, name: str | None = None) -> Version:
        """Return the current version, or another one that is kept, its columns mapped."""
        if name is not None:
            return Version.open(self.versions / name)
        name = self.current()
        if name is None:
            raise ParameterError(
                f"{self.path} is not a store. Make one with: "
                f"discreet build DATASET.toml --out {self.path}"
            )
        try:
            return Version.open(self.versions / name)
        except ParameterError:
            if self.current() == name:
                raise
            return self.open()  # a build has switched and tidied up in between


@dataclass(frozen=True, eq=False, repr=False)
class Version:
    """One version of a population, its columns mapped into memory and never written."""

    path: Path
    manifest: dict[str, Any]
    schema: Schema
    codes8: NDArray[np.uint8]
    codes16: NDArray[np.uint16]
    keys: NDArray[np.uint32]
    counts: NDArray[np.uint32] | None
    areas: NDArray[np.int64] | None
    guard: Guard = field(default_factory=Guard)

    @classmethod
    def open(cls, path: Path) -> Version:
        """Return the version in a folder, refusing unknown formats and missing or cut files."""
        manifest = manifests.read(path)
        for name, facts in manifest["files"].items():
            if not (path / name).is_file() or (path / name).stat().st_size != facts["bytes"]:
                raise Damaged(f"{path / name} is missing or cut short. Build again.")
        try:
            schema = Schema.from_json(_read_json(path, "schema.json", manifest))
        except (ValueError, KeyError, TypeError) as error:
            raise Damaged(f"{path / 'schema.json'} is damaged. Build again.") from error
        guard = Guard(path / name for name in manifest["files"])
        try:
            return cls(path, manifest, schema, **_mapped(path, manifest, schema), guard=guard)
        except (OSError, ValueError) as error:
            raise Damaged(f"{path} cannot be mapped into memory. {error}") from error

    def __repr__(self) -> str:
        return f"Version({self.schema.id!r}, {self.id!r})"

    @property
    def id(self) -> str:
        """The id of this version."""
        return self.path.name

    @cached_property
    def policy_values(self) -> dict[str, Any]:
        """What the policy says, as it was built with."""
        values: dict[str, Any] = _read_json(self.path, "policy.json", self.manifest)
        return values

    @cached_property
    def steps_beforehand(self) -> list[dict[str, Any]]:
        """What was done to the records before any table; for the custodian."""
        if PROTECTION not in self.manifest.get("files", {}):
            return []
        steps: list[dict[str, Any]] = _read_json(self.path, PROTECTION, self.manifest)
        return steps

    def swap_rate(self, level: str) -> float:
        """Return the share of records that were swapped out of their area of a level.

        A swap within larger areas changes no table of them, so each level has a share of its own.
        """
        kept = 1.0
        for step in self.steps_beforehand:
            kept *= 1 - float(step.get("rates", {}).get(level, 0.0))
        return 1 - kept

    @property
    def views(self) -> Path:
        """The folder of marginal views."""
        return self.path / "views"

    @property
    def edition(self) -> int:
        """Which of the editions of the data set it is: records that changed make a new one."""
        return int(self.manifest.get("edition", 1))

    @property
    def alike(self) -> list[int]:
        """The editions that are of these records, in which only keys or codes were others."""
        return list(self.manifest.get("alike", [self.edition]))

    @cached_property
    def people(self) -> int:
        """The number of people, or of whatever is counted."""
        if "people" in self.manifest:  # of records that are elsewhere, as published
            return int(self.manifest["people"])
        return self.rows if self.counts is None else int(self.counts.sum(dtype=np.int64))

    @property
    def rows(self) -> int:
        """The number of records, or of populated cells of a hypercube."""
        return len(self.keys) if self.elsewhere is None else int(self.manifest["rows"])

    @cached_property
    def elsewhere(self) -> Elsewhere | None:
        """Where the records are, if they are not in the store."""
        said = self.manifest.get("engine")
        return None if said is None else Elsewhere(**said)

    @cached_property
    def places(self) -> NDArray[np.uint32] | None:
        """The place of each smallest area as records elsewhere number it."""
        if PLACES not in self.manifest.get("files", {}):
            return None
        return np.fromfile(self.path / PLACES, np.uint32)

    def held(self) -> None:
        """Raise `ParameterError` if the records are not in the store."""
        if self.elsewhere is not None:
            raise ParameterError(
                f"the records of '{self.schema.id}' are not in the store: they are counted by "
                f"{self.elsewhere.kind}, and this needs them one by one."
            )

    @property
    def modulus(self) -> int:
        """Keys and key sums are below it."""
        return int(self.manifest["modulus"])

    @cached_property
    def place(self) -> dict[str, tuple[bool, int]]:
        """Where the codes of each variable are: whether in `codes16`, and in which row."""
        found, next_row = {}, [0, 0]
        for variable in self.schema.columns:
            wide = not is_narrow(variable)
            found[variable.id] = (wide, next_row[wide])
            next_row[wide] += 1
        return found

    def column(self, variable: Variable) -> NDArray[Any]:
        """Return the codes of a variable, record by record."""
        self.held()
        wide, row = self.place[variable.id]
        column: NDArray[Any] = self.codes16[row] if wide else self.codes8[row]
        return column

    def area_starts(self, level: Level) -> NDArray[np.int64]:
        """Return where the records of each area of a level begin, and at last where they end.

        Areas are kept in the order of the largest level, then the next: every area of any level
        is one stretch.
        """
        assert self.areas is not None
        if len(level) == len(level.of):
            return self.areas.copy()  # of one type with the others, for the kernels
        first = np.searchsorted(level.of, np.arange(len(level) + 1))
        return self.areas[first]

    def verify(self, pause: Pause | None = None, everything: bool = False) -> None:
        """Read everything: every file must have its checksum and every code its category.

        Raises `Damaged`, and then lets nothing more be read from this version; or
        `RecordsUnreachable`, if coded records are elsewhere and not there now. They are read if
        they are on this machine, if they seem to have changed, or if `everything` is to be read.
        """
        for name, facts in self.manifest["files"].items():
            try:
                same = checksum(self.path / name, pause) == facts["blake2b"]
            except FileNotFoundError:
                raise Damaged(f"{self.path / name} is missing. Build again.") from None
            if not same:
                self.guard.condemn(self.path / name)
                raise Damaged(f"{self.path / name} does not have its checksum. Build again.")
        self.guard.check()
        self._check_ranges()
        if self.elsewhere is not None:
            try:
                self.guard.elsewhere = self.elsewhere.verify(pause, everything)
            except Damaged:
                self.guard.condemn(Path(self.elsewhere.coded))
                raise
        self.guard.whole = True

    def verified(self) -> None:
        """Read everything before the first record is counted, and not again; others wait.

        Records elsewhere are looked at each time, and read again if a file was written to.
        """
        with self.guard.comparing:
            if not self.guard.whole or not self.untouched():
                self.verify()

    def untouched(self) -> bool:
        """Whether records elsewhere have the sizes and times that they had when last compared."""
        return self.elsewhere is None or self.elsewhere.marks() == self.guard.elsewhere

    def _check_ranges(self) -> None:
        """Refuse codes without a category: the kernels would write where they must not."""
        if self.elsewhere is not None:
            return
        for variable in self.schema.columns:
            column = self.column(variable)
            if len(column) and int(column.max()) >= len(variable.finest):
                self._refuse("codes.u8" if is_narrow(variable) else "codes.u16")
        if len(self.keys) and int(self.keys.max()) >= self.modulus:
            self._refuse("keys.u32")
        if self.areas is not None:
            ends = (int(self.areas[0]), int(self.areas[-1]))
            if ends != (0, self.rows) or (np.diff(self.areas) < 0).any():
                self._refuse("areas.i64")

    def _refuse(self, name: str) -> None:
        self.guard.condemn(self.path / name)
        raise Damaged(f"{self.path / name} holds a code that no category has. Build again.")


def _read_json(path: Path, name: str, manifest: dict[str, Any]) -> Any:
    """Return what a file of a version says, if it has its checksum."""
    facts = manifest["files"].get(name)
    try:
        raw = (path / name).read_bytes()
    except OSError:
        raw = b""
    if facts is None or hashlib.blake2b(raw, digest_size=16).hexdigest() != facts["blake2b"]:
        raise Damaged(f"{path / name} is damaged. Build again.")
    return json.loads(raw)


def _mapped(path: Path, manifest: dict[str, Any], schema: Schema) -> dict[str, Any]:
    """Return the columns of a version by name.

    Those of a small one are read, so that nothing done to a file can end the process in the middle
    of a scan; the rest are mapped.
    """
    rows = 0 if manifest.get("engine") else int(manifest["rows"])
    small = sum(facts["bytes"] for facts in manifest["files"].values()) <= _SMALL

    def mapped(name: str, dtype: type, shape: tuple[int, ...]) -> NDArray[Any]:
        if 0 in shape:
            none: NDArray[Any] = np.empty(shape, dtype)
            none.setflags(write=False)  # of one type with mapped columns, for the kernels
            return none
        if small:
            return np.frombuffer((path / name).read_bytes(), dtype).reshape(shape)
        return np.memmap(path / name, dtype, "r", shape=shape).view(np.ndarray)

    narrow = sum(is_narrow(variable) for variable in schema.columns)
    areas = None if schema.geography is None else (len(schema.geography.finest) + 1,)
    return {
        "codes8": mapped("codes.u8", np.uint8, (narrow, rows)),
        "codes16": mapped("codes.u16", np.uint16, (len(schema.columns) - narrow, rows)),
        "keys": mapped("keys.u32", np.uint32, (rows,)),
        "counts": mapped("counts.u32", np.uint32, (rows,)) if manifest["hypercube"] else None,
        "areas": None if areas is None else mapped("areas.i64", np.int64, areas),
    }


def is_narrow(variable: Variable) -> bool:
    """Whether the codes of a variable fit in one byte."""
    return len(variable.finest) <= 255
