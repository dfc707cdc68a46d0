"""The server as it is run: a process of its own on a free port of the loopback."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import psutil

PROGRAM = [sys.executable, "-c", "from discreet.cli import main; main()"]
GENEROUS = "rate = 10000000\nburst = 1000000\n"


@dataclass
class Running:
    """A server that runs."""

    process: subprocess.Popen[str]
    url: str
    log: Path
    verify: bool = True

    @property
    def workers(self) -> list[psutil.Process]:
        """The worker processes, those that run."""
        children = psutil.Process(self.process.pid).children()
        return [child for child in children if child.status() != psutil.STATUS_ZOMBIE]

    def get(self, path: str, **options: Any) -> httpx.Response:
        url = self.url + path
        return httpx.get(url, timeout=60, trust_env=False, verify=self.verify, **options)


@contextmanager
def running(
    stores: Sequence[Path],
    folder: Path,
    settings: str = GENEROUS,
    verify: bool = True,
    workers: int = 1,
    port: int = 0,
    **options: Any,
) -> Iterator[Running]:
    """Run a server until the end of the block."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "server.toml").write_text(settings, encoding="utf-8")
    command = [*PROGRAM, "serve", *map(str, stores), "--port", str(port)]
    command += ["--settings", str(folder / "server.toml"), "--workers", str(workers)]
    log = folder / "log"
    with log.open("a") as stderr:
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=stderr, text=True, **options
        )
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line.startswith("Serving on http"), line + log.read_text()
        server = Running(process, line.split()[-1], log, verify)
        for _ in range(1_200):
            if server.get("/readyz").status_code == 200:
                break
            time.sleep(0.05)
        while server.log.read_text().count('"status":"answers"') < workers > 1:
            time.sleep(0.05)
        yield server
    finally:
        if process.poll() is None:
            process.kill()
        process.wait(30)
        if process.stdout is not None:
            process.stdout.close()
