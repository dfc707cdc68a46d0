"""Several workers behind one address: one service, whatever becomes of any of them."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest

from servers import GENEROUS, Running, running
from stores import build_town

pytestmark = pytest.mark.slow

TABLE = "/api/v1/datasets/town/table"
QUESTIONS = [f"{TABLE}?by=sex,health&where=age={age}&format=csv" for age in range(40)]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("workers")
    return build_town(folder / "data", folder / "store")


@pytest.fixture
def store(built: Path, tmp_path: Path) -> Path:
    shutil.copytree(built, tmp_path / "store")
    return tmp_path / "store"


@pytest.fixture
def port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        found: int = probe.getsockname()[1]
    return found


def lines(server: Running) -> list[dict[str, Any]]:
    return [json.loads(line) for line in server.log.read_text().splitlines()]


def answering(server: Running) -> int:
    """Return how many workers have begun to answer, those included that are gone."""
    return sum(line.get("status") == "answers" for line in lines(server))


def tables(server: Running) -> Counter[tuple[int, str]]:
    """Return how many tables were at hand in each worker, and how many not."""
    found = [line for line in lines(server) if line.get("route", "").endswith("/table")]
    return Counter((line["worker"], line["cache"]) for line in found)


def until(true: Callable[[], object]) -> None:
    """Wait for something to become true."""
    deadline = time.monotonic() + 300
    while not true():
        assert time.monotonic() < deadline, "it did not become true within five minutes"
        time.sleep(0.02)


def clients(server: Running, number: int) -> list[httpx.Client]:
    """Return clients with a connection each, which the workers share out among themselves."""
    made = [httpx.Client(trust_env=False, timeout=60, base_url=server.url) for _ in range(number)]
    for client in made:
        client.get("/healthz")
    return made


def of_each_worker(server: Running, stack: ExitStack) -> list[httpx.Client]:
    """Return two clients whose connections are held by different workers.

    The system shares connections out as it likes, so as many are made as it takes.
    """
    by_worker: dict[int, httpx.Client] = {}
    for _ in range(100):
        if len(by_worker) == 2:
            break
        (client,) = clients(server, 1)
        stack.callback(client.close)
        request_id = client.get("/healthz").headers["x-request-id"]
        until(lambda request_id=request_id: request_id in server.log.read_text())  # type: ignore[misc]
        (line,) = [line for line in lines(server) if line.get("id") == request_id]
        by_worker[line["worker"]] = client
    assert sorted(by_worker) == [0, 1], "connections are shared out"
    return [by_worker[0], by_worker[1]]


def peers(worker: psutil.Process) -> set[int]:
    """Return the ports of those whose connections a worker holds."""
    return {held.raddr.port for held in worker.net_connections() if held.raddr}


def test_workers_give_the_same_bytes_and_share_answers_and_limits(
    store: Path, tmp_path: Path, port: int
) -> None:
    settings = f"rate = 1\nburst = 30\nmetrics_port = {port}\n"
    env = {**os.environ, "TMPDIR": str(tmp_path)}
    with running([store], tmp_path, settings, workers=2, env=env) as server, ExitStack() as stack:
        one, other = of_each_worker(server, stack)
        for url in QUESTIONS[:10]:
            first, again = one.get(url), other.get(url)
            assert first.status_code == again.status_code == 200
            assert first.content == again.content
            assert first.headers["etag"] == again.headers["etag"]
        # One question is worked out by one worker; the other has the answer from the common cache.
        until(lambda: tables(server).total() == 20)
        assert tables(server) == {(0, "miss"): 10, (1, "hit"): 10}
        # 20 requests of 30 were counted, 10 by each; the 11th that is left is one too many.
        more = [(one, other)[i % 2].get(QUESTIONS[0]).status_code for i in range(11)]
        assert more == [200] * 10 + [429]
        text = httpx.get(f"http://127.0.0.1:{port}/metrics", trust_env=False).text
        asked = 'discreet_requests_total{route="/api/v1/datasets/{dataset}/table",status="200"} '
        assert asked + "30.0" in text
        assert "discreet_workers 2.0" in text
        assert "discreet_ready 1.0" in text
        # Memory in common has no name; a folder of this user alone is what metrics are counted in.
        named = {mapped.path for worker in server.workers for mapped in worker.memory_maps()}
        assert not [path for path in named if path.startswith("/dev/shm")]
        (folder,) = tmp_path.glob("discreet-*")
        assert folder.stat().st_mode & 0o777 == 0o700
        # What a worker has counted stays counted when it is gone.
        server.workers[0].kill()
        until(lambda: answering(server) == 3)
        text = httpx.get(f"http://127.0.0.1:{port}/metrics", trust_env=False).text
        assert asked + "30.0" in text


def test_a_worker_that_dies_is_replaced_and_nobody_notices(store: Path, tmp_path: Path) -> None:
    with (
        running([store], tmp_path, GENEROUS, workers=2) as server,
        ExitStack() as stack,
        ThreadPoolExecutor(1) as pool,
    ):
        one, _ = of_each_worker(server, stack)
        seen: Counter[int] = Counter()
        stop = False

        def ask() -> None:
            while not stop:
                seen[one.get(QUESTIONS[seen.total() % 40]).status_code] += 1

        stream = one.get("/healthz").extensions["network_stream"]
        port = stream.get_extra_info("client_addr")[1]
        (killed,) = [worker for worker in server.workers if port not in peers(worker)]
        task = pool.submit(ask)
        until(lambda: seen.total() >= 20 or task.done())
        killed.kill()
        until(lambda: answering(server) == 3)
        before = seen.total()
        until(lambda: seen.total() >= before + 20 or task.done())
        stop = True
        task.result(300)
        died = [line for line in lines(server) if line.get("level") == "error"]
    assert [(line["worker"], line["status"]) for line in died] == [(1, -signal.SIGKILL)]
    assert set(seen) == {200}


def test_settings_are_read_again_by_all(store: Path, tmp_path: Path) -> None:
    with running([store], tmp_path, "agency = 'OLD'\n", workers=2) as server:
        (tmp_path / "server.toml").write_text("agency = 'NEW'\n")
        server.process.send_signal(signal.SIGHUP)
        until(lambda: sum(line["event"] == "reload" for line in lines(server)) == 2)
        told = [line for line in lines(server) if line["event"] == "reload"]
        assert sorted(line["worker"] for line in told) == [0, 1]
        for number in (3, 4):
            server.workers[0].kill()  # whoever takes its place has the new settings too
            until(lambda number=number: answering(server) == number)  # type: ignore[misc]
        assert "NEW" in server.get("/sdmx/dataflow").text


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_what_runs_is_finished_and_all_processes_end(
    store: Path, tmp_path: Path, number: int
) -> None:
    with running([store], tmp_path, workers=2) as server, ThreadPoolExecutor(8) as pool:
        family = [psutil.Process(server.process.pid), *server.workers]
        asked = [pool.submit(server.get, f"{TABLE}?by=ward,age&format=json-stat") for _ in range(4)]
        until(lambda: any(task.running() for task in asked))
        assert asked[0].result(60).status_code == 200
        server.process.send_signal(number)
        assert server.process.wait(60) == (0 if number == signal.SIGTERM else 130)
        _, alive = psutil.wait_procs(family, timeout=30)
    assert not alive
    assert not [line for line in lines_of_log(server) if line.get("level") == "error"]


def lines_of_log(server: Running) -> list[dict[str, Any]]:
    found = server.log.read_text().splitlines()
    return [json.loads(line) for line in found if line.startswith("{")]


def test_draining_it_answers_but_says_that_it_is_not_ready(store: Path, tmp_path: Path) -> None:
    settings = GENEROUS + "drain = 2\n"
    with (
        running([store], tmp_path, settings, workers=2) as server,
        httpx.Client(trust_env=False, timeout=60, base_url=server.url) as kept,
    ):
        assert kept.get(QUESTIONS[0]).headers.get("connection") != "close"
        server.process.send_signal(signal.SIGTERM)
        until(lambda: server.get("/readyz").status_code == 503)
        assert server.get("/readyz").json()["error"]["code"] == "STOPPING"
        answer = kept.get(QUESTIONS[1])
        assert (answer.status_code, answer.headers["connection"]) == (200, "close")
        assert server.get("/healthz").status_code == 200
        assert server.process.wait(60) == 0


def test_workers_end_when_nobody_is_there_to_replace_them(store: Path, tmp_path: Path) -> None:
    with running([store], tmp_path, workers=2) as server:
        family = server.workers
        server.process.kill()
        _, alive = psutil.wait_procs(family, timeout=30)
    assert not alive
