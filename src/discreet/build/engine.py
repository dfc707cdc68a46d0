"""`[engine]` of a description: which engine reads and counts the records, and where they are."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from discreet.errors import ParameterError, unknown
from discreet.population.coded import Coded
from discreet.toml import Section

SCAN = "scan"
KINDS = (SCAN, "duckdb", "spark")


@dataclass(frozen=True)
class EngineAt:
    """An engine and its addresses; `coded` is the folder that coded records are written to."""

    kind: str = SCAN
    remote: str | None = None
    table: str | None = None
    path: str | None = None
    coded: str | None = None

    def chosen(self, kind: str | None) -> EngineAt:
        """Return the engine of another kind at the same addresses, if it can be used."""
        if kind is not None and kind not in KINDS:
            raise unknown("engine", kind, KINDS)
        found = self if kind is None else replace(self, kind=kind)
        if found.kind == "spark" and not (found.remote or "").startswith("sc://"):
            raise ParameterError(
                "the engine 'spark' needs the address of a Spark Connect server in [engine], such "
                f'as remote = "sc://host:15002". Got {found.remote!r}.'
            )
        if found.kind == "duckdb" and found.table is not None:
            raise ParameterError("the engine 'duckdb' reads Parquet: give 'path', not 'table'.")
        return found

    def folder(self, files: tuple[Path, ...]) -> Coded:
        """Return where coded records go: where the description says, or beside the original."""
        if self.coded is not None:
            return Coded(self.coded)
        if self.path is not None:
            return Coded(self.path).beside("-coded")
        if files:
            return Coded(f"{files[0].resolve().parent}-coded")
        raise ParameterError(
            "[engine] must say where the coded records of a table go: a folder of the cluster's "
            'storage, coded = "s3://bucket/folder".'
        )


def read_engine(given: dict[str, Any], folder: Path) -> EngineAt:
    """Return the engine that a description names."""
    section = Section(given, "engine")
    kind = section.choice("kind", KINDS, default=SCAN)
    remote = section.take("remote", str, default=None)
    table = section.take("table", str, default=None)
    path = _address(section.take("path", str, default=None), folder)
    coded = _address(section.take("coded", str, default=None), folder)
    section.end()
    if table is not None and path is not None:
        raise ParameterError("engine must have 'table' or 'path', not both.")
    return EngineAt(kind, remote, table, path, coded).chosen(None)


def _address(given: str | None, folder: Path) -> str | None:
    """Return an address as it is, and a path as seen from everywhere on this machine."""
    if given is None:
        return None
    given = given.removeprefix("file://")
    return given if "://" in given else str((folder / given).resolve())
