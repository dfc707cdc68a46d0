"""The service behind the page and the API: stores, questions, releases, with bounds on all."""

from discreet.release.formats import FORMATS
from discreet.service.asked import Asked, File
from discreet.service.limits import Limits
from discreet.service.opened import Opened, open_store
from discreet.service.service import DEFAULT_FORMAT, Service

__all__ = [
    "DEFAULT_FORMAT",
    "FORMATS",
    "Asked",
    "File",
    "Limits",
    "Opened",
    "Service",
    "open_store",
]
