"""A PostgreSQL server of the tests' own, on a socket in a temporary folder."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from pwd import getpwnam
from typing import Any


def _programs() -> Path:
    """The folder of the server's programs, which Debian keeps out of the path."""
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda p: int(p.parent.name))
    found = shutil.which("initdb")
    if not folders and found is None:
        raise AssertionError("PostgreSQL is not installed; install it with: make tools")
    return folders[-1] if folders else Path(str(found)).resolve().parent


def _somebody() -> dict[str, Any]:
    """Whom the server runs as: it refuses to run as root."""
    if os.getuid() != 0:
        return {}
    user = getpwnam("nobody")
    return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}


class Postgres:
    """A server in a folder of its own, which can be stopped and started again."""

    def __init__(self, folder: Path) -> None:
        self.url = f"postgresql://discreet@/postgres?host={folder}"
        self._folder, self._programs = folder, _programs()
        somebody = _somebody()
        if somebody:
            os.chown(folder, somebody["user"], somebody["group"])
        self._quiet: dict[str, Any] = {"cwd": "/", "stdout": subprocess.DEVNULL, **somebody}
        options = ["-U", "discreet", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"]
        making = [self._programs / "initdb", "-D", folder / "data", *options]
        subprocess.run(making, check=True, **self._quiet)
        self.start()

    def start(self) -> None:
        """Start it, and wait until it answers."""
        settings = ["-k", self._folder, "-c", "listen_addresses="]
        self._server = subprocess.Popen(
            [self._programs / "postgres", "-D", self._folder / "data", *settings],
            stderr=subprocess.DEVNULL,
            **self._quiet,
        )
        _wait(self._programs, self._folder, self._server)

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """Stop it without waiting for clients to leave; by SIGQUIT as a crash does."""
        self._server.send_signal(how)
        try:
            self._server.wait(20)
        except subprocess.TimeoutExpired:
            self._server.kill()
            self._server.wait()


@contextmanager
def postgres() -> Iterator[Postgres]:
    """Give a server with an empty database, which ends with the block."""
    folder = Path(tempfile.mkdtemp(prefix="discreet-"))
    try:
        server = Postgres(folder)
        try:
            yield server
        finally:
            server.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def running_postgres() -> Iterator[str]:
    """Give the URL of an empty database, on a server that ends with it."""
    with postgres() as server:
        yield server.url


def _wait(programs: Path, folder: Path, server: subprocess.Popen[bytes]) -> None:
    asking = [programs / "pg_isready", "-q", "-h", folder, "-U", "discreet", "-d", "postgres"]
    deadline = time.monotonic() + 60
    while subprocess.run(asking, check=False).returncode:
        assert server.poll() is None, "PostgreSQL did not start"
        assert time.monotonic() < deadline, "PostgreSQL is not ready after a minute"
        time.sleep(0.1)
