"""Discreet: a flexible table server for census-like data that discloses nobody."""

__version__ = "0.1.0"
