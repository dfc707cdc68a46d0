"""Coded records that lie in shared storage instead of in the store, as Parquet files of a folder.

A file has a column `v_ID` of codes for each variable, `area` with the number of the smallest area,
and the record key: whole for an engine whose sums may be wider than 2^63, or else in two halves of
16 bits, whose sums stay below that at 10^10 records and far beyond.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from discreet.errors import Damaged, ParameterError, RecordsUnreachable
from discreet.population.intact import Pause, checksum_of

AREA = "area"
KEY = "record_key"
LOW = "key_low"
HIGH = "key_high"
ENDING = ".parquet"

Marks = dict[str, tuple[int, int]]
"""Files by name, with their bytes and when they were written: what is noticed without reading."""


def keeps_whole(kind: str) -> bool:
    """Whether records that an engine counts have their key in one column."""
    return kind == "duckdb"


def column_of(variable: str) -> str:
    """Return the column that holds the codes of a variable."""
    return f"v_{variable}"


@dataclass(frozen=True)
class Coded:
    """A folder of coded records: a path, or an address that PyArrow's file systems know."""

    address: str

    def place(self) -> tuple[Any, str]:
        """Return the file system of the folder, and the path of the folder in it."""
        from pyarrow import fs  # which takes a moment, and is seldom needed

        if "://" not in self.address:
            return fs.LocalFileSystem(), self.address
        try:
            system, path = fs.FileSystem.from_uri(self.address)
        except (ValueError, OSError) as error:
            raise ParameterError(f"{self.address} is no address of a folder: {error}") from None
        return system, path

    @property
    def local(self) -> bool:
        """Whether the folder is on this machine."""
        return "://" not in self.address

    def child(self, name: str) -> Coded:
        """Return a folder in this one; what follows a `?` in the address stays at its end."""
        head, mark, options = self.address.partition("?")
        return Coded(f"{head.rstrip('/')}/{name}{mark}{options}")

    def beside(self, suffix: str) -> Coded:
        """Return the folder beside this one whose name has a suffix."""
        head, mark, options = self.address.partition("?")
        return Coded(f"{head.rstrip('/')}{suffix}{mark}{options}")

    def marks(self) -> Marks:
        """Return the Parquet files of the folder; raise `RecordsUnreachable` if it is not there."""
        from pyarrow import fs

        try:
            system, path = self.place()
            gone = system.get_file_info(path).type == fs.FileType.NotFound
            about = [] if gone else system.get_file_info(fs.FileSelector(path))
        except OSError as error:
            raise RecordsUnreachable(f"{self.address}: {error}") from error
        if gone:
            raise RecordsUnreachable(f"{self.address} is not there. Is its storage mounted?")
        return {
            one.base_name: (one.size, one.mtime_ns or 0)
            for one in about
            if one.base_name.endswith(ENDING)
        }

    def checksum(self, name: str, pause: Pause | None = None) -> str:
        """Return the BLAKE2b checksum of a file of the folder."""
        system, path = self.place()
        try:
            with system.open_input_stream(f"{path}/{name}") as file:
                return checksum_of(file, pause)
        except OSError as error:
            raise RecordsUnreachable(f"{self.address}: {error}") from error

    def remove(self) -> None:
        """Remove the folder and all that is in it, if it is there."""
        from pyarrow import fs

        system, path = self.place()
        if system.get_file_info(path).type != fs.FileType.NotFound:
            system.delete_dir(path)


@dataclass(frozen=True)
class Elsewhere:
    """Where the records of a version are, and which engine counts them there.

    `files` are the bytes of every file, `blake2b` their checksums and `times` when they were
    written, in nanoseconds. Stores of an earlier program never have `whole_keys`.
    """

    kind: str
    coded: str
    remote: str | None = None
    files: dict[str, int] = field(default_factory=dict)
    blake2b: dict[str, str] = field(default_factory=dict)
    times: dict[str, int] = field(default_factory=dict)
    whole_keys: bool = False

    @property
    def key(self) -> str:
        """The record key in SQL, as one number."""
        return (
            f"CAST({KEY} AS BIGINT)"
            if self.whole_keys
            else f"CAST({HIGH} AS BIGINT) * 65536 + {LOW}"
        )

    def marks(self) -> Marks:
        """Return the files that are there now."""
        return Coded(self.coded).marks()

    def verify(self, pause: Pause | None = None, everything: bool = False) -> Marks:
        """Return the files, or raise `Damaged` unless all are as they were written, and no other.

        Files on this machine are compared with their checksums. Those in other storage are if they
        were written at another time than they should have been, or if `everything` is to be read.
        """
        folder = Coded(self.coded)
        found = folder.marks()
        for name in sorted(found.keys() | self.files.keys()):
            size, time = found.get(name, (None, None))
            if size is None or size != self.files.get(name):
                raise Damaged(f"{self.coded}/{name} {_WRONG}")
            read = folder.local or everything or time != self.times.get(name, time)
            known = self.blake2b.get(name)  # none in a store of an earlier program
            if read and known is not None and folder.checksum(name, pause) != known:
                raise Damaged(f"{self.coded}/{name} {_WRONG}")
        return found


_WRONG = "is not as it was written. Put it back from a copy, or build again."
