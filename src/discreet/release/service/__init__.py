"""The service behind the page and the API: stores, questions, releases, with bounds on all."""

from discreet.release.service.catalogue import Opened, open_store
from discreet.release.service.lanes import Busy, Starting, TooLong
from discreet.release.service.limits import Limits
from discreet.release.service.service import (
    DEFAULT_FORMAT,
    Answer,
    Asked,
    File,
    Service,
    UnknownDataset,
)
from discreet.release.writers import FORMATS

__all__ = [
    "DEFAULT_FORMAT",
    "FORMATS",
    "Answer",
    "Asked",
    "Busy",
    "File",
    "Limits",
    "Opened",
    "Service",
    "Starting",
    "TooLong",
    "UnknownDataset",
    "open_store",
]
