"""A server that runs until it is told to stop."""

from __future__ import annotations

import ctypes
import resource
import signal
import socket
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

import uvicorn

from discreet.errors import ParameterError
from discreet.policy import parse_policy
from discreet.population import Store
from discreet.population.sealed import unsealed
from discreet.server.app import create_app
from discreet.server.listening import Server, check_certificate
from discreet.server.settings import Settings
from discreet.service.certificate import check_certified

_SWITCH = 0.001  # seconds; the default is five times as long
_NOT_DUMPABLE = (4, 0)  # PR_SET_DUMPABLE, see prctl(2)


def serve(
    stores: Sequence[Path],
    host: str,
    port: int,
    settings: Settings,
    listening: Callable[[str], None] = lambda address: None,
    reread: Callable[[], Settings] | None = None,
) -> None:
    """Serve some stores until SIGTERM or Ctrl-C; what runs is finished first.

    On SIGHUP the settings are read again by `reread`.
    """
    _look_at(stores)
    prepare_process()
    app = create_app(stores, settings)
    metrics = None
    listener = listen(host, port)
    try:
        if settings.metrics_port:
            try:
                metrics = app.state.metrics.listen(settings.metrics_host, settings.metrics_port)
            except OSError as error:
                raise ParameterError(
                    f"metrics cannot be served on {settings.metrics_host} port "
                    f"{settings.metrics_port}: {error.strerror}"
                ) from None
        place = listener.getsockname()
        shown = f"[{place[0]}]" if ":" in place[0] else place[0]
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
        check_certificate(settings)
        config.load()
        app.state.log.capture()
        signal.signal(signal.SIGHUP, signal.SIG_IGN)  # until the settings can be read again
        listening(f"{'https' if config.ssl else 'http'}://{shown}:{place[1]}")
        # Threads that write large tables hold the interpreter; the event loop gets it back sooner.
        sys.setswitchinterval(_SWITCH)
        # Uvicorn finishes, then raises the signal once more for whoever asked before it.
        signal.signal(signal.SIGTERM, lambda number, frame: None)
        Server(config, app, reread).run([listener])
    finally:
        listener.close()
        if metrics is not None:
            metrics.shutdown()
            metrics.server_close()


def prepare_process() -> None:
    """Have as many descriptors as the system allows, and let nobody read the memory.

    Limits on core dumps do not hold for those that are piped to a program; this does.
    """
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
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
        check_certified(path, version, policy)
        if version.schema.id in ids:
            raise ParameterError(
                f"data sets served together must have different ids. Both {ids[version.schema.id]} "
                f"and {path} hold '{version.schema.id}'."
            )
        ids[version.schema.id] = path


def listen(host: str, port: int) -> socket.socket:
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
        raise ParameterError(f"cannot listen on {host} port {port}: {reason}") from None
    return listener
