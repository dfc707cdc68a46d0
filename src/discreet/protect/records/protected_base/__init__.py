"""A protected base: one population on which every table is counted, so that all add up."""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.later import names

if TYPE_CHECKING:
    from discreet.protect.records.protected_base.areas import NAME, WHOLE, Areas
    from discreet.protect.records.protected_base.design import Column, Design
    from discreet.protect.records.protected_base.method import Fitted, ProtectedBase
    from discreet.protect.records.protected_base.records import Records
    from discreet.protect.records.protected_base.search import Search

__all__ = [
    "NAME",
    "WHOLE",
    "Areas",
    "Column",
    "Design",
    "Fitted",
    "ProtectedBase",
    "Records",
    "Search",
]

__getattr__, __dir__ = names(
    __name__,
    {
        "areas": "NAME WHOLE Areas",
        "design": "Column Design",
        "method": "Fitted ProtectedBase",
        "records": "Records",
        "search": "Search",
    },
)
