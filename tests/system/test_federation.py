"""Three countries and a hub as processes on one machine: asked, one killed, all stopped."""

from __future__ import annotations

import os
import signal
import sqlite3
import ssl
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from discreet.federation.certificates import make_certificates
from federations import make_federation
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


def test_a_site_reads_its_certificate_again_and_leaves_its_record_in_one_file(
    tmp_path: Path,
) -> None:
    north, hosts = make_federation(tmp_path), tmp_path / "hosts"
    make_certificates(hosts, ["borg"])
    (tmp_path / "site.toml").write_text(
        f'certificate = "{hosts / "borg.pem"}"\ncertificate_key = "{hosts / "borg.key"}"\n'
    )
    store, log = north.stores["borg"][0], tmp_path / "log"
    command = [*PROGRAM, "serve", str(store), "--site", "--port", "0"]
    command += ["--settings", str(tmp_path / "site.toml")]
    with log.open("w") as stderr:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=stderr, text=True)
    assert process.stdout is not None
    try:
        url = httpx.URL(process.stdout.readline().split()[-1])
        first = ssl.get_server_certificate((url.host, url.port or 0))
        make_certificates(hosts, ["borg"])
        process.send_signal(signal.SIGHUP)
        end = time.monotonic() + MOST
        while '"reload"' not in log.read_text() and time.monotonic() < end:
            assert process.poll() is None
            time.sleep(0.05)
        assert ssl.get_server_certificate((url.host, url.port or 0)) != first
        with httpx.Client(verify=False, trust_env=False, timeout=MOST) as client:
            assert client.post(f"{url}/federation/v1", content=b"{}").status_code == 403
            # 8 headers of 5,000 bytes are more than max_header has, 32,768.
            much = {f"x-{i}": "y" * 5_000 for i in range(8)}
            assert client.get(f"{url}/healthz", headers=much).status_code == 431
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0, log.read_text()
    finally:
        process.kill()
        process.wait(60)
        process.stdout.close()
    assert not (store / "site.db-wal").exists()
    with sqlite3.connect(f"file:{store / 'site.db'}?immutable=1", uri=True) as held:
        away = held.execute("SELECT reason, number FROM turned_away").fetchall()
    assert away == [("not a request", 1)]
