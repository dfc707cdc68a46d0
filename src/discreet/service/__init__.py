"""The service behind the page and the API: stores, questions, releases, with bounds on all."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
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

_HOMES = {
    "FORMATS": "discreet.release.formats",
    "Asked": "discreet.service.asked",
    "File": "discreet.service.asked",
    "Limits": "discreet.service.limits",
    "Opened": "discreet.service.opened",
    "open_store": "discreet.service.opened",
}


def __getattr__(name: str) -> object:
    """Import the names when they are first used: one table needs no service, and few formats."""
    from importlib import import_module

    if name not in __all__:
        raise AttributeError(f"module 'discreet.service' has no attribute {name!r}")
    return getattr(import_module(_HOMES.get(name, "discreet.service.service")), name)
