"""From microdata or a hypercube to a store."""

from discreet.build.builder import build
from discreet.build.dataset import Dataset

__all__ = ["Dataset", "build"]
