"""What is counted for Prometheus: requests, times, queues and the cache; nothing of the data."""

from __future__ import annotations

from time import monotonic
from wsgiref.simple_server import WSGIServer

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, start_http_server

from discreet.service import Service

_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)


class Metrics:
    """Metrics of one application, in a registry of their own."""

    def __init__(self, service: Service) -> None:
        self.registry = CollectorRegistry()
        self._requests = Counter(
            "discreet_requests", "Requests by route and status.", ["route", "status"],
            registry=self.registry,
        )  # fmt: skip
        self._seconds = Histogram(
            "discreet_request_seconds", "Seconds a request took.", ["route"],
            buckets=_BUCKETS, registry=self.registry,
        )  # fmt: skip
        self._cache = Counter(
            "discreet_tables", "Tables by whether they were at hand.", ["cache"],
            registry=self.registry,
        )  # fmt: skip
        for name, text, read in (
            ("cache_bytes", "Memory of kept answers.", lambda: service.cache.bytes),
            ("waiting_light", "Light questions waiting.", lambda: service.light.waiting),
            ("waiting_heavy", "Heavy questions waiting.", lambda: service.heavy.waiting),
            ("running_light", "Light questions running.", lambda: service.light.running),
            ("running_heavy", "Heavy questions running.", lambda: service.heavy.running),
            ("ready", "Whether every store is open.", lambda: int(service.ready)),
            (
                "degraded",
                "Whether some store is not served at its current version.",
                lambda: int(bool(service.catalogue.trouble)),
            ),
            (
                "look_age_seconds",
                "Seconds since the stores were last looked at.",
                lambda: monotonic() - service.catalogue.looked,
            ),
            (
                "verify_age_seconds",
                "Seconds since every file was last compared with its checksum.",
                lambda: monotonic() - service.catalogue.verified,
            ),
        ):
            Gauge(f"discreet_{name}", text, registry=self.registry).set_function(read)
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

    def listen(self, host: str, port: int) -> WSGIServer:
        """Answer on a port of their own, in a thread."""
        server, _ = start_http_server(port, host, self.registry)
        return server
