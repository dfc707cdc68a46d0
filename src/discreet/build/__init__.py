"""From microdata or a hypercube to a store.

The package itself can be called: `dc.build(data, description, out)` is `discreet.api.build`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from discreet.later import called

if TYPE_CHECKING:
    from discreet.build.builder import build
    from discreet.build.dataset import Dataset

__all__ = ["Dataset", "build"]

called(__name__, "discreet.api", "build")


def __getattr__(name: str) -> Any:
    """Import what builds when it is used: `build.steps` alone needs no packages."""
    if name == "build":
        from discreet.build.builder import build

        return build
    if name == "Dataset":
        from discreet.build.dataset import Dataset

        return Dataset
    raise AttributeError(f"module 'discreet.build' has no attribute {name!r}")
