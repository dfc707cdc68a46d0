"""The service behind the page and the API: stores, questions, releases, with bounds on all."""

from discreet.release.formats import FORMATS
from discreet.service.catalogue import Opened, open_store
from discreet.service.limits import Limits
from discreet.service.service import DEFAULT_FORMAT, Answer, Asked, File, Service

__all__ = [
    "DEFAULT_FORMAT",
    "FORMATS",
    "Answer",
    "Asked",
    "File",
    "Limits",
    "Opened",
    "Service",
    "open_store",
]
