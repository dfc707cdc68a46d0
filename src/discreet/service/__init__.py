"""The service behind the page and the API: stores, questions, releases, with bounds on all."""

from discreet.release.writers import FORMATS
from discreet.service.catalogue import Opened, open_store
from discreet.service.lanes import Busy, Starting, TooLong
from discreet.service.limits import Limits
from discreet.service.service import (
    DEFAULT_FORMAT,
    Answer,
    Asked,
    File,
    Service,
    UnknownDataset,
)

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
