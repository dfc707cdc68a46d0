"""Synthetic businesses: invented establishments with skewed turnovers and three hierarchies."""

from __future__ import annotations

from discreet.synth.business.codes import DIMENSIONS, MAGNITUDES
from discreet.synth.business.draw import Businesses, draw
from discreet.synth.business.writer import check, write

__all__ = ["DIMENSIONS", "MAGNITUDES", "Businesses", "check", "draw", "write"]
