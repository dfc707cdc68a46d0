"""Studies: what methods cost and give on one's own tables, and what attackers learn.

The package itself can be called: `dc.study(data, methods)` is `discreet.study.python.study`.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any


class _Callable(ModuleType):
    """A module that is called as the function it is named after."""

    def __call__(self, *args: Any, **options: Any) -> Any:
        from discreet.study.python import study

        return study(*args, **options)


sys.modules[__name__].__class__ = _Callable
