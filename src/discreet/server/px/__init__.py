"""PxWebApi 2: a data set is a table, a level is a code list, a variable left out is summed over."""

from discreet.server.px.routes import PREFIX, add

__all__ = ["PREFIX", "add"]
