"""From a question to its true counts and key sums; one file for each engine."""

from discreet.tabulate.engine import Engine
from discreet.tabulate.engines import PushDown, engine_of
from discreet.tabulate.scan import ScanEngine
from discreet.tabulate.views import ViewEngine

__all__ = ["Engine", "PushDown", "ScanEngine", "ViewEngine", "engine_of"]
