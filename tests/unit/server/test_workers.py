"""The supervisor of several workers; tests/system/test_workers.py has the installed program."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

from discreet.server import workers
from discreet.server.settings import Settings
from discreet.service.shared import Seat


def test_a_worker_that_stands_still_is_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """One that has not begun yet is not: it may open a large store."""
    monkeypatch.setattr(workers, "_STUCK", 1.0)
    begun = tmp_path / "begun"
    begun.touch()

    def work(seat: Seat, settings: Settings) -> None:
        with begun.open("a") as file:
            file.write(str(seat.number))
        if seat.number == 0:
            time.sleep(2.0)
        seat.tell("ready", 1)
        seat.tell("seen", time.monotonic())
        still = seat.number == 1 and begun.read_text().count("1") == 1
        while not still:
            seat.tell("seen", time.monotonic())
            time.sleep(0.05)
        time.sleep(600)

    supervisor = os.fork()
    if supervisor == 0:
        workers.Supervisor(work, 2, Settings(), None).run(lambda: None)
        os._exit(0)
    try:
        end = time.monotonic() + 60
        while begun.read_text().count("1") < 2:
            assert time.monotonic() < end
            time.sleep(0.05)
    finally:
        os.kill(supervisor, signal.SIGTERM)
        os.waitpid(supervisor, 0)
    assert begun.read_text().count("0") == 1
    assert "stands still" in capfd.readouterr().err
