"""What goes wrong around a server, and what must hold all the same."""

from __future__ import annotations

import json
import resource
import shutil
import signal
import socket
import subprocess
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import combinations
from pathlib import Path

import httpx
import pytest

from servers import PROGRAM, Running, running
from stores import build_town

pytestmark = pytest.mark.slow

TABLE = "/api/v1/datasets/town/table"
# Questions of distinct classes, each with a line of its own in the record. All are answered.
CLASSES = [
    by for many in (1, 2, 3) for by in combinations(("sex", "age_band", "health", "district"), many)
]
QUESTIONS = [f"{TABLE}?by={','.join(by)}&format=csv" for by in CLASSES]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("faults")
    return build_town(folder / "data", folder / "store")


@pytest.fixture
def store(built: Path, tmp_path: Path) -> Path:
    """Return a store of one's own, to be maltreated."""
    shutil.copytree(built, tmp_path / "store")
    return tmp_path / "store"


def records(store: Path) -> list[str]:
    path = store / "records"
    return path.read_text().splitlines() if path.exists() else []


def test_killed_under_load_it_comes_back_with_the_same_answers(store: Path, tmp_path: Path) -> None:
    answered: dict[str, tuple[str, bytes]] = {}
    stop = threading.Event()

    def ask(server: Running) -> None:
        with httpx.Client(trust_env=False, timeout=30) as client:
            while not stop.is_set():
                for url in QUESTIONS:
                    try:
                        answer = client.get(server.url + url)
                    except httpx.TransportError:
                        return
                    if answer.status_code == 200:
                        answered[url] = (answer.headers["etag"], answer.content)

    with running([store], tmp_path / "first") as server, ThreadPoolExecutor(4) as pool:
        tasks = [pool.submit(ask, server) for _ in range(4)]
        while len(answered) < 10:
            time.sleep(0.01)
        server.process.send_signal(signal.SIGKILL)
        server.process.wait(10)
        stop.set()
        for task in tasks:
            task.result(60)
    recorded = {json.loads(line)["question"] for line in records(store)}
    assert len(recorded) >= len(answered), "nothing was answered that was not recorded"
    with running([store], tmp_path / "second") as server:
        for url, (tag, content) in answered.items():
            again = server.get(url)
            assert (again.headers["etag"], again.content) == (tag, content)
            held = server.get(url, headers={"If-None-Match": tag})
            assert held.status_code == 304


def test_what_runs_is_finished_before_it_stops(store: Path, tmp_path: Path) -> None:
    with running([store], tmp_path) as server, ThreadPoolExecutor(8) as pool:
        asked = [pool.submit(server.get, url) for url in QUESTIONS[:8]]
        while server.log.read_text().count('"table"') + len(records(store)) == 0:
            time.sleep(0.002)
        server.process.send_signal(signal.SIGTERM)
        finished = 0
        for one in asked:
            with suppress(httpx.TransportError):  # came after the door was closed
                finished += one.result(30).status_code == 200
        assert server.process.wait(30) == 0
    assert finished >= 1
    lines = [json.loads(line) for line in server.log.read_text().splitlines()]
    assert sum(line["status"] == 200 and "{dataset}" in line["route"] for line in lines) == finished


def test_without_room_for_the_record_nothing_new_is_released(store: Path, tmp_path: Path) -> None:
    limit = 8 * 2**20  # bytes a file may have

    def bounded() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    with running([store], tmp_path, preexec_fn=bounded) as server:
        known = server.get(QUESTIONS[0])
        assert known.status_code == 200
        kept = (store / "records").read_bytes()
        with (store / "records").open("ab") as file:
            file.write(b"x" * (limit - len(kept) - 51) + b"\n")  # 50 bytes are left
        full = (store / "records").stat().st_size
        refused = server.get(QUESTIONS[1])
        assert refused.status_code == 500
        assert refused.json()["error"]["code"] == "INTERNAL"
        assert (store / "records").stat().st_size == full, "no part of a line is left behind"
        assert server.get(QUESTIONS[0]).content == known.content, "what was released stays so"
        assert server.get("/healthz").status_code == 200
        (store / "records").write_bytes(kept)  # someone makes room
        assert server.get(QUESTIONS[1]).status_code == 200


def test_a_version_that_is_removed_still_answers(store: Path, tmp_path: Path) -> None:
    with running([store], tmp_path) as server:
        before = server.get(QUESTIONS[0])
        shutil.rmtree(store / "versions" / (store / "CURRENT").read_text().strip())
        assert server.get(QUESTIONS[0]).content == before.content
        assert server.get(QUESTIONS[1]).status_code == 200, "its columns are still mapped"
        # No view covers this: the records are read.
        assert server.get(f"{TABLE}?by=sex,age_band,health,district").status_code == 200
    done = subprocess.run(
        [*PROGRAM, "serve", str(store), "--port", "0"], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 2
    assert "holds no readable version" in done.stderr
    assert "Traceback" not in done.stderr


def test_slow_clients_keep_nobody_waiting(store: Path, tmp_path: Path) -> None:
    with running([store], tmp_path) as server:
        host, port = server.url.removeprefix("http://").split(":")
        slow = []
        for i in range(100):
            connection = socket.create_connection((host, int(port)))
            if i % 2:  # asks for much and reads nothing
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1024)
                ask = f"GET {TABLE}?by=age,health,sex HTTP/1.1\r\nHost: x\r\n\r\n"
                connection.sendall(ask.encode() * 20)
            else:  # never finishes its question
                connection.sendall(b"GET /api/v1/datasets/town/table?by=s")
            slow.append(connection)
        try:
            for url in QUESTIONS[:20]:
                assert server.get(url).status_code == 200
        finally:
            for connection in slow:
                connection.close()
        assert server.get("/readyz").status_code == 200


def test_metrics_have_a_port_of_their_own(store: Path, tmp_path: Path) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with running([store], tmp_path, settings=f"metrics_port = {port}\n") as server:
        server.get(QUESTIONS[0])
        text = httpx.get(f"http://127.0.0.1:{port}/metrics", trust_env=False).text
        assert 'route="/api/v1/datasets/{dataset}/table",status="200"' in text
        assert server.get("/metrics").status_code == 404


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--port", "70000"], "cannot listen on 127.0.0.1 port 70000"),
        (["--host", "192.0.2.1"], "cannot listen on 192.0.2.1"),
        (["--settings", "nowhere.toml"], "there is no file nowhere.toml"),
    ],
)
def test_what_cannot_be_served_is_told_in_a_sentence(
    store: Path, arguments: list[str], message: str
) -> None:
    done = subprocess.run(
        [*PROGRAM, "serve", str(store), *arguments], capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_long_address_is_told_in_the_one_shape(store: Path, tmp_path: Path) -> None:
    with running([store], tmp_path) as server:
        answer = server.get(f"{TABLE}?by={'x' * 60_000}")
        assert (answer.status_code, answer.json()["error"]["code"]) == (414, "QUERY_TOO_LONG")
