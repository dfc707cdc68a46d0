"""The engine that counts a version: the scan, or the one that its records lie with."""

from __future__ import annotations

from collections.abc import Mapping

from discreet.population import Version
from discreet.population.coded import Elsewhere
from discreet.tabulate.engines.sql import RECORDS, PushDown, Runner
from discreet.tabulate.scan import ScanEngine


def engine_of(version: Version) -> ScanEngine | PushDown:
    """Return the engine behind the views of a version; it connects when it is first asked."""
    elsewhere = version.elsewhere
    if elsewhere is None:
        return ScanEngine(version, before=version.verified)
    return PushDown(version, runner_of(elsewhere))


def runner_of(elsewhere: Elsewhere, others: Mapping[str, str] | None = None) -> Runner:
    """Return what runs queries over coded records, and over others by the names given."""
    folders = {RECORDS: elsewhere.coded, **(others or {})}
    if elsewhere.kind == "spark":
        from discreet.tabulate.engines.spark import SparkRunner

        return SparkRunner(str(elsewhere.remote), folders)
    from discreet.tabulate.engines.duckdb import DuckRunner

    return DuckRunner(folders)
