"""Readers who take all there is: connections, descriptors, time, room for headers."""

from __future__ import annotations

import http.client
import json
import os
import resource
import signal
import socket
import ssl
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import httpx
import pytest

from servers import GENEROUS, Running, running
from stores import build_town

pytestmark = pytest.mark.slow

TABLE = "/api/v1/datasets/town/table"
QUESTIONS = [f"{TABLE}?by=sex&where=age={a}&format=csv" for a in range(80)]
IMPATIENT = GENEROUS + "header_seconds = 2\nbody_seconds = 1\nidle_seconds = 2\nsend_seconds = 2\n"


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("exhaustion")
    return build_town(folder / "data", folder / "store")


@pytest.fixture(scope="module")
def server(store: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running([store], tmp_path_factory.mktemp("server"), IMPATIENT) as server:
        yield server


@contextmanager
def connected(server: Running, number: int) -> Iterator[list[socket.socket]]:
    place = httpx.URL(server.url)
    with ExitStack() as stack:
        yield [
            stack.enter_context(socket.create_connection((place.host, place.port or 80), 30))
            for _ in range(number)
        ]


def said(connection: socket.socket) -> tuple[int, dict[str, str], dict[str, str]]:
    """Return status, headers and error of an answer, after which the connection ends."""
    answer = http.client.HTTPResponse(connection)
    answer.begin()
    body = json.loads(answer.read())
    assert connection.recv(1) == b"", "the connection is closed"
    return answer.status, dict(answer.getheaders()), body["error"]


def lines(server: Running) -> list[dict[str, object]]:
    return [json.loads(line) for line in server.log.read_text().splitlines()]


MALFORMED: dict[str, tuple[bytes, int, str]] = {
    "no HTTP": (b"hello\r\n\r\n", 400, "BAD_REQUEST"),
    "a header without a colon": (b"GET / HTTP/1.1\r\nHost x\r\n\r\n", 400, "BAD_REQUEST"),
    "two lengths": (
        b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
        400,
        "BAD_REQUEST",
    ),
    "length and encoding": (
        f"POST {TABLE} HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n"
        "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n".encode(),
        400,
        "BAD_REQUEST",
    ),
    "encoding and length": (
        f"POST {TABLE} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n"
        "Content-Length: 4\r\n\r\n0\r\n\r\n".encode(),
        400,
        "BAD_REQUEST",
    ),
    "headers of 40 kB, never ending": (
        b"GET / HTTP/1.1\r\nHost: x\r\n" + b"X-A: " + b"a" * 40_000,
        431,
        "REQUEST_HEADER_FIELDS_TOO_LARGE",
    ),
    "an address of 40 kB, never ending": (b"GET /" + b"a" * 40_000, 414, "QUERY_TOO_LONG"),
    "headers that do not come": (
        b"GET / HTTP/1.1\r\nHost: x\r\n",
        408,
        "REQUEST_TIMEOUT",
    ),
    "a body that does not come": (
        f"POST {TABLE} HTTP/1.1\r\nHost: x\r\nContent-Length: 40\r\n\r\n{{".encode(),
        408,
        "REQUEST_TIMEOUT",
    ),
    "a chunk that is none": (
        f"POST {TABLE} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n".encode(),
        400,
        "BAD_REQUEST",
    ),
}


@pytest.mark.parametrize("what", MALFORMED)
def test_what_is_no_request_is_told_in_the_one_shape(server: Running, what: str) -> None:
    sent, status, code = MALFORMED[what]
    with connected(server, 1) as (connection,):
        connection.sendall(sent)
        found, headers, error = said(connection)
    assert (found, error["code"]) == (status, code)
    assert set(error) == {"code", "message", "hint", "id"}
    assert headers["x-request-id"] == error["id"]
    assert headers["x-content-type-options"] == "nosniff"
    (line,) = [line for line in lines(server) if line.get("id") == error["id"]]
    assert (line["event"], line["status"]) == ("request", status)


def test_headers_that_come_at_once_have_the_same_limit(server: Running) -> None:
    for size, status in ((30_000, 200), (40_000, 431)):
        answer = server.get("/api/v1/config", headers={"X-A": "a" * size})
        assert answer.status_code == status


def cut_off(connection: socket.socket, sent: bytes, seconds: float) -> bool:
    """Send something again and again for 20 seconds; return whether the server ended it."""
    begin = time.monotonic()
    with suppress(OSError):
        while time.monotonic() - begin < 20:
            connection.sendall(sent)
            time.sleep(seconds)
        return False
    return True


def test_a_dribble_of_headers_does_not_keep_a_connection(server: Running) -> None:
    with connected(server, 1) as (connection,):
        connection.sendall(b"GET / HTTP/1.1\r\n")
        assert cut_off(connection, b"X-A: a\r\n", 0.1)


def test_idle_connections_are_closed(server: Running) -> None:
    with connected(server, 2) as (silent, once):
        once.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
        answer = b""
        while not answer.endswith(b"}"):  # head and body may come apart
            answer += once.recv(4096)
        assert b"200" in answer
        for connection in (silent, once):
            connection.settimeout(10)
            assert connection.recv(1) == b""


def test_a_busy_connection_is_not_closed(server: Running) -> None:
    """One that asks again and again is never idle for long, whenever it is looked at."""
    with httpx.Client(base_url=server.url, trust_env=False, timeout=30) as client:
        begin = time.monotonic()
        while time.monotonic() - begin < 6:
            assert client.get("/healthz").status_code == 200
            time.sleep(0.5)


def test_who_takes_nothing_of_an_answer_is_cut_off(server: Running) -> None:
    with connected(server, 1) as (connection,):
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1024)
        ask = b"GET /api/openapi.json HTTP/1.1\r\nHost: x\r\n\r\n"
        assert cut_off(connection, ask, 0.01)
        assert server.get("/healthz").status_code == 200


def test_every_line_of_the_log_is_json(server: Running) -> None:
    """After all of the above, and a request that is cut off in the middle."""
    with connected(server, 20) as connections:
        for connection in connections:
            connection.sendall(f"POST {TABLE} HTTP/1.1\r\nContent-Length: 99\r\n".encode())
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    assert server.get(f"{TABLE}?by=sex").status_code == 200
    time.sleep(0.5)
    said = lines(server)
    assert "request" in {line["event"] for line in said}
    for line in said:
        assert {"time", "event"} <= set(line)


def test_two_thousand_connections(store: Path, tmp_path: Path) -> None:
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    if hard != resource.RLIM_INFINITY and hard < 5_000:
        pytest.skip("the system does not allow as many open files")
    resource.setrlimit(resource.RLIMIT_NOFILE, (5_000, hard))
    settings = GENEROUS + "header_seconds = 60\nidle_seconds = 60\n"
    with running([store], tmp_path, settings) as server, connected(server, 1_990) as held:
        for connection in held:
            connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
        for connection in held:
            assert b"200" in connection.recv(4096)
        for url in QUESTIONS[:5]:
            assert server.get(url).status_code == 200
        # One more than there may be: the one that has been idle longest makes room.
        time.sleep(1.1)
        with connected(server, 20) as more:
            for connection in more:
                connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
                assert b"200" in connection.recv(4096)


def test_it_works_with_256_descriptors(store: Path, tmp_path: Path) -> None:
    """More connections than descriptors: newcomers wait, nobody gets an error of ours."""

    def bounded() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256))

    settings = GENEROUS + "header_seconds = 3\n[limits]\nwait = 30\n"
    with running([store], tmp_path, settings, preexec_fn=bounded) as server:
        with connected(server, 300), ThreadPoolExecutor(20) as pool:
            answers = list(pool.map(lambda url: server.get(url).status_code, QUESTIONS))
        assert set(answers) == {200}
        assert len(os.listdir(f"/proc/{server.process.pid}/fd")) < 256
        build_town(tmp_path / "data", store, seed=2)
        for _ in range(200):
            version = (store / "CURRENT").read_text().strip()
            (served,) = server.get("/api/v1/datasets").json()["datasets"]
            if served["data_version"] == version:
                break
            time.sleep(0.05)
        assert served["data_version"] == version, "a new version is opened all the same"
        assert server.get(QUESTIONS[0]).status_code == 200
        assert not [line for line in lines(server) if line.get("level") == "error"]


def test_overload_ends_in_nothing_but_busy(store: Path, tmp_path: Path) -> None:
    settings = GENEROUS + "[limits]\nlight_workers = 1\nheavy_workers = 1\nwait = 1\n"
    urls = [
        f"{TABLE}?by=age,sex&where=ward={a}|{b}&format=html" for a in range(40) for b in range(a)
    ]
    took: list[tuple[int, float]] = []

    def ask(url: str) -> None:
        begin = time.monotonic()
        answer = server.get(url)
        took.append((answer.status_code, time.monotonic() - begin))
        if answer.status_code == 503:
            assert int(answer.headers["retry-after"]) >= 1
            assert answer.json()["error"]["code"] == "BUSY"

    with running([store], tmp_path, settings) as server, ThreadPoolExecutor(60) as pool:
        list(pool.map(ask, urls))
        assert server.get("/healthz").status_code == 200
    assert {status for status, _ in took} <= {200, 403, 503}
    assert any(status != 503 for status, _ in took)
    assert not [line for line in lines(server) if line.get("event") == "failure"]


def test_sighup_reads_settings_again(store: Path, tmp_path: Path) -> None:
    with running([store], tmp_path, "rate = 60\nburst = 1000\n") as server:
        limits = server.get("/api/v1/config").json()["limits"]
        assert (limits["requests_per_minute"], limits["seconds"]) == (60, 30)
        (tmp_path / "server.toml").write_text("rate = 70\nburst = 1000\n[limits]\nseconds = 7\n")
        server.process.send_signal(signal.SIGHUP)
        for _ in range(100):
            limits = server.get("/api/v1/config").json()["limits"]
            if limits["seconds"] == 7:
                break
            time.sleep(0.05)
        assert (limits["requests_per_minute"], limits["seconds"]) == (70, 7)
        (tmp_path / "server.toml").write_text("rat = 1\n")
        server.process.send_signal(signal.SIGHUP)
        for _ in range(100):
            told = [line for line in lines(server) if line["event"] == "reload"]
            if len(told) == 2:
                break
            time.sleep(0.05)
        assert [line["level"] for line in told] == ["info", "error"]
        assert "'rat'" in str(told[1]["message"])
        assert server.get("/api/v1/config").json()["limits"]["seconds"] == 7


def certificate(folder: Path, name: str) -> None:
    """Write a certificate that is signed by itself."""
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]
    command += ["-nodes", "-days", "2", "-subj", f"/CN={name}"]
    command += ["-keyout", str(folder / "key.pem"), "-out", str(folder / "cert.pem")]
    subprocess.run(command, check=True, capture_output=True)


def test_sighup_reads_the_certificate_again(store: Path, tmp_path: Path) -> None:
    certificate(tmp_path, "first")
    files = f'certificate = "{tmp_path}/cert.pem"\ncertificate_key = "{tmp_path}/key.pem"\n'

    def presented(server: Running) -> bytes:
        place = httpx.URL(server.url)
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        with (
            socket.create_connection((place.host, place.port or 443), 30) as plain,
            context.wrap_socket(plain) as wrapped,
        ):
            found = wrapped.getpeercert(binary_form=True)
            assert found is not None
            return found

    with running([store], tmp_path, GENEROUS + files, verify=False) as server:
        assert server.url.startswith("https://")
        assert server.get(QUESTIONS[0]).status_code == 200
        first = presented(server)
        certificate(tmp_path, "second")
        server.process.send_signal(signal.SIGHUP)
        for _ in range(100):
            if presented(server) != first:
                break
            time.sleep(0.05)
        assert presented(server) != first
        assert server.get(QUESTIONS[0]).status_code == 200


def test_it_leaves_no_core_dump(server: Running) -> None:
    limits = Path(f"/proc/{server.process.pid}/limits").read_text()
    (line,) = [line for line in limits.splitlines() if line.startswith("Max core file size")]
    assert line.split()[4:6] == ["0", "0"]
