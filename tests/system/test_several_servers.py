"""Two servers on one state database, each with its own copy of a store: one service."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import httpx
import pytest

from discreet.ledger import Database
from discreet.people.people import People
from postgres import running_postgres
from servers import GENEROUS, Running, running
from stores import build_town, two_looks

pytestmark = pytest.mark.slow

TABLE = "/api/v1/datasets/town/table"


@pytest.fixture(scope="module")
def database() -> Iterator[str]:
    with running_postgres() as url:
        yield url


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Return two copies of a store, as two machines have them."""
    folder = tmp_path_factory.mktemp("several")
    policy = two_looks(folder / "data")
    one = build_town(folder / "data", folder / "one", policy=policy)
    shutil.copytree(one, folder / "other")
    return [one, folder / "other"]


def beginning(
    stack: ExitStack, store: Path, folder: Path, database: str, settings: str = GENEROUS
) -> Running:
    env = {**os.environ, "DISCREET_DATABASE_URL": database}
    return stack.enter_context(running([store], folder, settings, env=env))


def until(true: Callable[[], object]) -> None:
    """Wait for something to become true."""
    deadline = time.monotonic() + 90
    while not true():
        assert time.monotonic() < deadline, "it did not become true"
        time.sleep(0.05)


def test_ledger_accounts_limits_and_answers_agree(
    stores: list[Path], database: str, tmp_path: Path
) -> None:
    settings = "rate = 1\nburst = 100\n"
    with closing(People(Database.of(database))) as people:
        person = people.accounts.add("ada@example.org", "Ada", "reader")
        key = {"Authorization": "Bearer " + people.entrance.make_key(person, "work")}
    with ExitStack() as stack:
        one = beginning(stack, stores[0], tmp_path / "one", database, settings)
        other = beginning(stack, stores[1], tmp_path / "other", database, settings)
        # The ledger: 400 cells of 20,000 people are fine detail, of which two tables may be made.
        state = "/api/v1/datasets/town/ledger?by=ward,sex,health"
        for number, (server, more) in enumerate([(one, ""), (other, ",age_band")], 1):
            server.get(f"{TABLE}?by=ward,sex,health{more}&format=csv")
            told = [s.get(state).json() for s in (one, other)]
            assert [found["detail"]["used"] for found in told] == [number, number]
            assert told[0] == told[1]
        # Answers: the same bytes under the same name.
        answers = [s.get(f"{TABLE}?by=ward,sex&format=csv") for s in (one, other)]
        assert answers[0].content == answers[1].content
        assert answers[0].headers["etag"] == answers[1].headers["etag"]
        # Accounts: a key is known to both.
        told = [s.get("/api/v1/me", headers=key).json()["name"] for s in (one, other)]
        assert told == ["Ada", "Ada"]
        # Limits: what is taken at one server is gone at the other. It alone would let 100 in.
        while one.get("/api/v1/datasets").status_code == 200:
            pass
        seen = 0
        while other.get("/api/v1/datasets").status_code == 200:
            seen += 1
            assert seen < 80, "the other server does not know"
            time.sleep(0.2)
        with Database.of(database).reading() as transaction:
            rows = transaction.connection.exec_driver_sql("SELECT client FROM discreet_rates")
            assert not [client for (client,) in rows if "127" in client and "." in client]


class Balancer:
    """One address for several servers, as a load balancer has it.

    It sends a request to a server that says it is ready, and never sends one again.
    """

    def __init__(self, ports: list[int]) -> None:
        self.ports = ports
        self.ready: list[int] = []
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        self._stop = threading.Event()
        for work in (self._look, self._accept):
            threading.Thread(target=work, daemon=True).start()

    def _look(self) -> None:
        while not self._stop.wait(0.05):
            self.ready = [port for port in self.ports if self._is_ready(port)]

    def _is_ready(self, port: int) -> bool:
        try:
            asked = httpx.get(f"http://127.0.0.1:{port}/readyz", trust_env=False, timeout=20)
        except httpx.TransportError:
            return False
        return asked.status_code == 200

    def _accept(self) -> None:
        turn = 0
        while not self._stop.is_set():
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            turn += 1
            ready = self.ready or self.ports
            port = ready[turn % len(ready)]
            threading.Thread(target=self._hand_on, args=(connection, port), daemon=True).start()

    def _hand_on(self, connection: socket.socket, port: int) -> None:
        """Hand one request of one connection on, and the answer back."""
        try:
            with connection, socket.create_connection(("127.0.0.1", port), 60) as behind:
                behind.sendall(connection.recv(65_536))
                while part := behind.recv(65_536):
                    connection.sendall(part)
        except OSError:
            return

    def close(self) -> None:
        self._stop.set()
        self._socket.close()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        found: int = probe.getsockname()[1]
    return found


def test_a_rolling_restart_fails_no_request(
    stores: list[Path], database: str, tmp_path: Path
) -> None:
    settings = GENEROUS + "drain = 3\n"
    env = {**os.environ, "DISCREET_DATABASE_URL": database}
    ports = [free_port(), free_port()]
    seen: Counter[str] = Counter()
    answers: dict[str, bytes] = {}
    stop = threading.Event()
    with ExitStack() as stack:
        servers = [
            stack.enter_context(
                running([store], tmp_path / str(port), settings, port=port, env=env)
            )
            for store, port in zip(stores, ports, strict=True)
        ]
        balancer = Balancer(ports)
        stack.callback(balancer.close)
        until(lambda: len(balancer.ready) == 2)

        def ask() -> None:
            number = 0
            while not stop.is_set():
                number += 1
                url = f"{TABLE}?by=sex,health&where=age={number % 60}&format=csv"
                close = {"Connection": "close"}
                try:
                    got = httpx.get(balancer.url + url, trust_env=False, timeout=90, headers=close)
                except httpx.TransportError as error:
                    seen[type(error).__name__] += 1
                    continue
                seen[str(got.status_code)] += 1
                if answers.setdefault(url, got.content) != got.content:
                    seen["another answer"] += 1

        users = [threading.Thread(target=ask) for _ in range(3)]
        for user in users:
            user.start()
        for i, (store, port) in enumerate(zip(stores, ports, strict=True)):
            before = seen["200"]
            servers[i].process.send_signal(signal.SIGTERM)
            assert servers[i].process.wait(90) == 0
            again = running([store], tmp_path / f"{port}-again", settings, port=port, env=env)
            stack.enter_context(again)
            until(lambda: len(balancer.ready) == 2)
            until(lambda before=before: seen["200"] > before + 20)  # type: ignore[misc]
        stop.set()
        for user in users:
            user.join(90)
    assert set(seen) == {"200"}, seen
