"""The folder that a generator writes: refused if it is somebody else's, in place when complete."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import repeat
from pathlib import Path

from discreet.errors import ParameterError

LARGEST_SEED = 2**63 - 1


def check_seed(seed: int) -> None:
    """Refuse a seed that is out of range."""
    if not 0 <= seed <= LARGEST_SEED:
        raise ParameterError(f"seed must be from 0 to {LARGEST_SEED}. Got {seed}.")


@dataclass(frozen=True)
class Signature:
    """How a generator recognises its own folder: a file with a known first line and no other files.

    `described` is the name of the file that begins with `mark`; `files` are the patterns of all
    names that files and folders in it may have.
    """

    described: str
    mark: str
    files: frozenset[str]

    def check(self, out: Path) -> None:
        """Refuse a folder that holds anything but what this generator has written."""
        if not out.exists():
            return
        if not out.is_dir():
            raise ParameterError(f"out must be a folder. Got the file {out}.")
        if not any(out.iterdir()):
            return
        path = out / self.described
        ours = path.is_file() and path.read_text(encoding="utf-8").startswith(self.mark)
        if not ours or not all(map(self._knows, out.rglob("*"), repeat(out))):
            raise ParameterError(
                f"out must be a new or empty folder, or one that synth has made. Got {out}, "
                "which holds other files."
            )

    def _knows(self, path: Path, out: Path) -> bool:
        name = path.relative_to(out).as_posix()
        return any(fnmatchcase(name, pattern) for pattern in self.files)

    @contextmanager
    def replaced(self, out: Path) -> Iterator[Path]:
        """Give a folder to fill; it replaces `out` at the end unless there was an error."""
        try:
            out.parent.mkdir(parents=True, exist_ok=True)
            # Beside the target, so that moving it into place is one step on one file system.
            scratch = Path(tempfile.mkdtemp(prefix=f".{out.name}-", dir=out.parent))
        except OSError as error:
            reason = error.strerror or type(error).__name__
            raise ParameterError(
                f"out must be a place to write to. Got {out}: {reason}."
            ) from error
        try:
            fresh = scratch / "new"
            fresh.mkdir()
            yield fresh
            self.check(out)  # somebody may have filled it in the meantime
            if out.exists():
                out.rename(scratch / "old")
            fresh.rename(out)
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
