"""Three countries and a hub as processes on one machine: asked, one killed, all stopped."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from servers import PROGRAM

pytestmark = pytest.mark.slow
MOST = 300  # seconds that anything may take


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[subprocess.Popen[str], str]]:
    folder = tmp_path_factory.mktemp("demo")
    command = [*PROGRAM, "demo", "--federation", "--persons", "9000", "--no-browser"]
    command += ["--port", "0", "--folder", str(folder)]
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True)
    assert process.stdout is not None
    try:
        line = next((one for one in process.stdout if " is at http" in one), "")
        assert line, (folder / "log").read_text()
        yield process, line.split()[-1]
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(60)
        process.stdout.close()


def ask(url: str, dataset: str, by: str, **more: str) -> httpx.Response:
    path = f"{url}/api/v1/datasets/{dataset}/table"
    asked = {"by": by, "format": "csv", **more}
    for _ in range(600):
        found = httpx.get(path, params=asked, timeout=MOST, trust_env=False)
        if found.status_code != 503 or "STARTING" not in found.text:
            break
    return found


def children(process: subprocess.Popen[str]) -> list[int]:
    listed = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text()
    return [int(one) for one in listed.split()]


def test_the_demo_answers_until_a_country_is_gone_and_leaves_nothing_running(
    demo: tuple[subprocess.Popen[str], str],
) -> None:
    process, url = demo
    joint = ask(url, "north", "sex,age_band")
    assert joint.status_code == 200, joint.text
    countries = ask(url, "north-countries", "country,sex", totals="summed")
    assert countries.status_code == 200, countries.text
    assert "cove,Cove," in countries.text
    sites = children(process)
    assert len(sites) == 3
    os.kill(sites[1], signal.SIGKILL)
    gone = ask(url, "north", "marital_status")
    assert gone.status_code == 503
    assert gone.json()["error"]["message"] == (
        "The table needs data of other offices: Borg cannot be reached."
    )
    assert gone.headers["retry-after"] == "30"
    # What is released already needs no site.
    assert ask(url, "north", "sex,age_band").text == joint.text
    process.send_signal(signal.SIGINT)
    process.wait(60)
    assert not any(Path(f"/proc/{one}/cmdline").exists() for one in (sites[0], sites[2]))
