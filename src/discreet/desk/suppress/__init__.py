"""Suppression in a table of one's own: method and solver."""

from discreet.desk.suppress.method import Objective, Suppressed, Suppression

__all__ = ["Objective", "Suppressed", "Suppression"]
