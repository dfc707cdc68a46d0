"""What is counted for Prometheus: requests, times, queues and the cache; nothing of the data.

Of several workers each answers at the port of the metrics, with the sums over all of them. What was
counted by one that has ended stays counted.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterator
from functools import partial
from socketserver import ThreadingMixIn
from threading import Thread
from time import monotonic
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, make_wsgi_app, values
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

from discreet.service import Service
from discreet.service.shared import Seat

FOLDER = "PROMETHEUS_MULTIPROC_DIR"
"""The variable by which Prometheus's package knows where workers count."""

_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)

Together = Callable[[list[float]], float]
_GAUGES: dict[str, tuple[str, Together, Callable[[Service], float]]] = {
    "cache_bytes": ("Memory of kept answers.", sum, lambda s: s.cache.bytes),
    "waiting_light": ("Light questions waiting.", sum, lambda s: s.light.waiting),
    "waiting_heavy": ("Heavy questions waiting.", sum, lambda s: s.heavy.waiting),
    "running_light": ("Light questions running.", sum, lambda s: s.light.running),
    "running_heavy": ("Heavy questions running.", sum, lambda s: s.heavy.running),
    "ready": ("Whether every store is open.", min, lambda s: int(s.ready)),
    "degraded": (
        "Whether some store is not served at its current version.",
        max,
        lambda s: int(bool(s.catalogue.trouble)),
    ),
    "look_age_seconds": (
        "Seconds since the stores were last looked at.",
        max,
        lambda s: monotonic() - s.catalogue.looked,
    ),
    "verify_age_seconds": (
        "Seconds since every file was last compared with its checksum.",
        max,
        lambda s: monotonic() - s.catalogue.verified,
    ),
}
"""What it is, how the values of several workers are put together, and how one is read."""


class Metrics:
    """Metrics of one application, in a registry of their own."""

    def __init__(self, service: Service, seat: Seat | None = None) -> None:
        self.registry = CollectorRegistry()
        self._service = service
        self._seat = seat
        own: CollectorRegistry | None = self.registry
        if seat is not None:
            own = None  # what is shown is read from the files of all workers
            values.ValueClass = values.MultiProcessValue()  # type: ignore[no-untyped-call]
            MultiProcessCollector(self.registry, os.environ[FOLDER])  # type: ignore[no-untyped-call]
            self.registry.register(_Together(seat))
        self._requests = Counter(
            "discreet_requests", "Requests by route and status.", ["route", "status"], registry=own
        )
        self._seconds = Histogram(
            "discreet_request_seconds", "Seconds a request took.", ["route"],
            buckets=_BUCKETS, registry=own,
        )  # fmt: skip
        self._cache = Counter(
            "discreet_tables", "Tables by whether they were at hand.", ["cache"], registry=own
        )
        if own is not None:
            for name, (text, _, read) in _GAUGES.items():
                gauge = Gauge(f"discreet_{name}", text, registry=own)
                gauge.set_function(partial(read, service))
        self._children: dict[tuple[str, int], tuple[Counter, Histogram]] = {}

    def request(self, route: str, status: int, seconds: float, cache: str | None) -> None:
        """Count a request."""
        found = self._children.get((route, status))
        if found is None:
            found = (self._requests.labels(route, str(status)), self._seconds.labels(route))
            self._children[route, status] = found
        found[0].inc()
        found[1].observe(seconds)
        if cache is not None:
            self._cache.labels(cache).inc()

    def tell(self) -> None:
        """Let the other workers know how this one is."""
        if self._seat is not None:
            for name, (_, _, read) in _GAUGES.items():
                self._seat.tell(name, read(self._service))

    def listen(self, listener: socket.socket) -> WSGIServer:
        """Answer on a socket of their own, in a thread."""
        server = _Scraped(listener, self.registry)
        Thread(target=server.serve_forever, daemon=True).start()
        return server


class _Together(Collector):
    """The gauges of all workers, put together."""

    def __init__(self, seat: Seat) -> None:
        self._shared = seat.shared

    def collect(self) -> Iterator[GaugeMetricFamily]:
        for name, (text, together, _) in _GAUGES.items():
            known = self._shared.tallies[name].known
            if name == "cache_bytes":
                known = [*known, self._shared.answers.used]
            if known:
                yield GaugeMetricFamily(f"discreet_{name}", text, together(known))
        present = len(self._shared.tallies["ready"].known)
        yield GaugeMetricFamily("discreet_workers", "Worker processes that answer.", present)


class _Quiet(WSGIRequestHandler):
    timeout = 10

    def log_message(self, *given: object) -> None:
        """Write nothing: the log has lines of our own."""


class _Scraped(ThreadingMixIn, WSGIServer):
    """Answers on a socket that listens already."""

    daemon_threads = True

    def __init__(self, listener: socket.socket, registry: CollectorRegistry) -> None:
        place = listener.getsockname()[:2]
        super().__init__(place, _Quiet, bind_and_activate=False)
        self.socket.close()
        listener.setblocking(False)  # another worker may have been faster
        self.socket = listener
        self.server_name, self.server_port = str(place[0]), place[1]
        self.setup_environ()
        self.set_app(make_wsgi_app(registry))
