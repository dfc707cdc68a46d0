"""A synthetic census: invented people whose tables look like those of a real one."""

from __future__ import annotations

from discreet.synth.writer import check, write

__all__ = ["check", "write"]
