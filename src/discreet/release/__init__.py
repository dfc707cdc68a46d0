"""From a question to a release: the five steps, the record, the files."""

from discreet.release.pipeline import Releaser
from discreet.release.record import Record
from discreet.release.result import Hint, Provenance, Release

__all__ = ["Hint", "Provenance", "Record", "Release", "Releaser"]
