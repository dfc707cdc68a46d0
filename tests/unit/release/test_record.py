"""The custodian's record: whole lines, whatever happens to the disk."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from discreet.errors import InternalError
from discreet.release.record import Record, append

RECORD = Record("by=sex", "none", "public", "v", "p", "released", 2, 0.1, 0.1, 0.1, {}, ())


def lines(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_a_record_is_a_line_that_others_cannot_read(tmp_path: Path) -> None:
    log = tmp_path / "records"
    append(log, RECORD)
    append(log, RECORD)
    assert [line["question"] for line in lines(log)] == ["by=sex", "by=sex"]
    assert log.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("written", [0, 10, 50])
def test_what_a_full_disk_leaves_of_a_line_is_cut_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, written: int
) -> None:
    log = tmp_path / "records"
    append(log, RECORD)
    write = os.write
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", lambda handle, data: write(handle, data[:written]))
        with pytest.raises(InternalError, match="not made"):
            append(log, RECORD)
    append(log, RECORD)
    assert len(lines(log)) == 2


def test_a_line_cut_by_a_kill_does_not_spoil_the_next(tmp_path: Path) -> None:
    log = tmp_path / "records"
    append(log, RECORD)
    with log.open("a") as file:
        file.write('{"time": "2026')
    append(log, RECORD)
    kept = log.read_text().splitlines()
    assert [json.loads(kept[i])["question"] for i in (0, 2)] == ["by=sex", "by=sex"]
