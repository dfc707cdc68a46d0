"""A server that runs until it is told to stop."""

from __future__ import annotations

import ctypes
import resource
import signal
import socket
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path

import uvicorn

from discreet.checks import whole
from discreet.errors import NotCertified, ParameterError
from discreet.policy import parse_policy
from discreet.population import Store
from discreet.population.sealed import unsealed
from discreet.server.app import check, create_app
from discreet.server.listening import Server, check_certificate
from discreet.server.settings import Settings
from discreet.server.workers import MOST_WORKERS, Supervisor
from discreet.service import memory
from discreet.service.certificate import check_certified, served_instead
from discreet.service.shared import Seat

_SWITCH = 0.001  # seconds; the default is five times as long
_NOT_DUMPABLE = (4, 0)  # PR_SET_DUMPABLE, see prctl(2)


def serve(
    stores: Sequence[Path],
    host: str,
    port: int,
    settings: Settings,
    listening: Callable[[str], None] = lambda address: None,
    reread: Callable[[], Settings] | None = None,
    workers: int = 1,
) -> None:
    """Serve some stores until SIGTERM or Ctrl-C; what runs is finished first.

    On SIGHUP the settings are read again by `reread`. Several `workers` are processes that share
    the socket; this one then starts them and replaces one that ends.
    """
    whole("workers", workers, 1, MOST_WORKERS)
    _look_at(stores)
    prepare_process()
    check(settings)
    check_certificate(settings)
    with ExitStack() as stack:
        listener = stack.enter_context(listen(host, port))
        metrics = None
        if settings.metrics_port:
            place = settings.metrics_host, settings.metrics_port
            metrics = stack.enter_context(listen(*place, "metrics cannot be served"))
        shown, number = listener.getsockname()[:2]
        shown = f"[{shown}]" if ":" in shown else shown
        scheme = "https" if settings.certificate else "http"

        def said() -> None:
            listening(f"{scheme}://{shown}:{number}")

        if workers == 1:
            answer(stores, settings, reread, listener, metrics, said)
        else:

            def work(seat: Seat, settings: Settings) -> None:
                answer(stores, settings, reread, listener, metrics, lambda: None, seat)

            Supervisor(work, workers, settings, reread).run(said)


def answer(
    stores: Sequence[Path],
    settings: Settings,
    reread: Callable[[], Settings] | None,
    listener: socket.socket,
    metrics: socket.socket | None,
    listening: Callable[[], None],
    seat: Seat | None = None,
) -> None:
    """Answer on a socket until told to stop: as the only process, or as a worker in its seat."""
    app = create_app(stores, settings, seat)
    scraped = None if metrics is None else app.state.metrics.listen(metrics)
    config = uvicorn.Config(
        app,
        access_log=False,  # the front writes the log…
        log_config=None,  # …and all else that is said goes into it
        log_level="error",
        proxy_headers=False,  # the front believes configured proxies only
        server_header=False,
        ws="none",
        timeout_graceful_shutdown=settings.grace,
        timeout_keep_alive=3_600,  # `idle_seconds` ends it before
        h11_max_incomplete_event_size=settings.max_header,
        ssl_certfile=settings.certificate or None,
        ssl_keyfile=settings.certificate_key or None,
    )
    config.load()
    app.state.log.capture()
    if seat is None:
        signal.signal(signal.SIGHUP, signal.SIG_IGN)  # until the settings can be read again
    listening()
    # Threads that write large tables hold the interpreter; the event loop gets it back sooner.
    sys.setswitchinterval(_SWITCH)
    # Uvicorn finishes, then raises the signal once more for whoever asked before it.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})  # until it listens to it
    signal.signal(signal.SIGTERM, lambda number, frame: None)
    try:
        Server(config, app, reread, seat).run([listener])
    finally:
        memory.let_go()
        if scraped is not None:
            scraped.shutdown()


def prepare_process() -> None:
    """Have as many descriptors as the system allows, and let nobody read the memory.

    What is free of it goes back to the system.

    Limits on core dumps do not hold for those that are piped to a program; this does.
    """
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    memory.settle()
    with suppress(OSError, AttributeError):  # not on Linux
        ctypes.CDLL(None).prctl(*_NOT_DUMPABLE, 0, 0, 0)


def _look_at(stores: Sequence[Path]) -> None:
    """Complain about what cannot be served before anything listens."""
    ids: dict[str, Path] = {}
    for path in stores:
        version = Store(path).open()
        unsealed(Store(path), version)
        policy = parse_policy(version.policy_values, "policy", str(version.path))
        if not any(tier.public for tier in policy.tiers.values()):
            raise ParameterError(f"the policy of {path} must have a public tier to be served.")
        try:
            check_certified(path, version, policy)
        except NotCertified as error:
            instead = served_instead(path, error)
            print(f"Serving version {instead}: {error}", file=sys.stderr)
        if version.schema.id in ids:
            raise ParameterError(
                f"data sets served together must have different ids. Both {ids[version.schema.id]} "
                f"and {path} hold '{version.schema.id}'."
            )
        ids[version.schema.id] = path


def listen(host: str, port: int, failed: str = "cannot listen") -> socket.socket:
    """Return a socket that listens, or say why there is none."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # With the protocol named, asyncio sends at once; otherwise small answers wait for 40 ms.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen(2048)
    except (OSError, OverflowError) as error:
        listener.close()
        reason = getattr(error, "strerror", None) or str(error)
        raise ParameterError(f"{failed} on {host} port {port}: {reason}") from None
    return listener
