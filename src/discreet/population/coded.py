"""Coded records that lie in shared storage instead of in the store, as Parquet files of a folder.

A file has a column `v_ID` of codes for each variable, `area` with the number of the smallest area,
and the record key in two halves of 16 bits: sums of halves stay below 2^63 at 10^10 records and far
beyond, in engines whose widest number that is.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from discreet.errors import Damaged, ParameterError

AREA = "area"
LOW = "key_low"
HIGH = "key_high"
ENDING = ".parquet"


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

    def files(self) -> dict[str, int]:
        """Return the Parquet files of the folder by name, with their bytes."""
        from pyarrow import fs

        system, path = self.place()
        found = system.get_file_info(fs.FileSelector(path, allow_not_found=True))
        return {one.base_name: one.size for one in found if one.base_name.endswith(ENDING)}

    def remove(self) -> None:
        """Remove the folder and all that is in it, if it is there."""
        from pyarrow import fs

        system, path = self.place()
        if system.get_file_info(path).type != fs.FileType.NotFound:
            system.delete_dir(path)


@dataclass(frozen=True)
class Elsewhere:
    """Where the records of a version are, and which engine counts them there."""

    kind: str
    coded: str
    remote: str | None = None
    files: dict[str, int] = field(default_factory=dict)

    def check(self) -> None:
        """Raise `Damaged` unless every file is there, in its size, and no other."""
        if Coded(self.coded).files() != self.files:
            raise Damaged("The coded records are not as they were written. Build again.")
