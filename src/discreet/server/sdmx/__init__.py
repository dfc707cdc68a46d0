"""SDMX REST, read-only: a data set is a dataflow, a level a dimension with its own code list."""

from discreet.server.sdmx.routes import PREFIX, add

__all__ = ["PREFIX", "add"]
