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


@contextmanager
def running_postgres() -> Iterator[str]:
    """Give the URL of an empty database, on a server that ends with it."""
    programs, somebody = _programs(), _somebody()
    folder = Path(tempfile.mkdtemp(prefix="discreet-"))
    if somebody:
        os.chown(folder, somebody["user"], somebody["group"])
    data = folder / "data"
    options = ["-U", "discreet", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"]
    quiet: dict[str, Any] = {"cwd": "/", "stdout": subprocess.DEVNULL, **somebody}
    try:
        subprocess.run([programs / "initdb", "-D", data, *options], check=True, **quiet)
        settings = ["-c", "listen_addresses="]
        server = subprocess.Popen(
            [programs / "postgres", "-D", data, "-k", folder, *settings],
            stderr=subprocess.DEVNULL,
            **quiet,
        )
        try:
            _wait(programs, folder, server)
            yield f"postgresql://discreet@/postgres?host={folder}"
        finally:
            server.send_signal(signal.SIGINT)  # without waiting for clients to leave
            try:
                server.wait(20)
            except subprocess.TimeoutExpired:
                server.kill()
                server.wait()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _wait(programs: Path, folder: Path, server: subprocess.Popen[bytes]) -> None:
    asking = [programs / "pg_isready", "-q", "-h", folder, "-U", "discreet", "-d", "postgres"]
    deadline = time.monotonic() + 60
    while subprocess.run(asking, check=False).returncode:
        assert server.poll() is None, "PostgreSQL did not start"
        assert time.monotonic() < deadline, "PostgreSQL is not ready after a minute"
        time.sleep(0.1)
