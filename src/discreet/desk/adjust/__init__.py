"""Controlled tabular adjustment of a table of one's own: method, solver and audit."""

from discreet.desk.adjust.method import AdjustedTable, ControlledAdjustment, Weight, of_tables

__all__ = ["AdjustedTable", "ControlledAdjustment", "Weight", "of_tables"]
