"""Hub and sites over TLS on the loopback: killed, late, cut off, in disguise."""

from __future__ import annotations

import re
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from discreet.errors import ParameterError, SitesUnavailable
from discreet.federation.certificates import make_certificates
from discreet.federation.document import HubFile
from discreet.federation.link import Conversation, Line, Link
from discreet.federation.start import start
from discreet.query import Query, Question
from discreet.server.site import open_site
from discreet.service.opened import open_store
from federations import (
    NAMES,
    Answering,
    Federated,
    build_country,
    copied,
    federate,
    free_ports,
    listening,
)

Answer = Callable[[bytes], bytes]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Federated, list[int]]:
    folder = tmp_path_factory.mktemp("north")
    make_certificates(folder, NAMES)
    stores = {name: [build_country(folder / name, name, 1_000, i)] for i, name in enumerate(NAMES)}
    ports = free_ports(len(NAMES))
    return federate(folder, stores, ports=ports), ports


@pytest.fixture
def north(made: tuple[Federated, list[int]], tmp_path: Path) -> Iterator[Federated]:
    found = copied(made[0], tmp_path / "north")
    found.begin()
    with ExitStack() as stack:
        for name, port in zip(NAMES, made[1], strict=True):
            stack.enter_context(listening(_late(found, name), found.folder, name, port))
        found.between = None
        yield found


def _late(found: Federated, name: str) -> Answering:
    """The site of a name as it is when it is asked: it may be restarted, or faulty."""

    def answer(raw: bytes) -> bytes:
        site = found.sites[name]
        return site.answer(raw) if found.between is None else found.between(name, raw, site.answer)

    return Answering(answer)


def total(found: Federated) -> list[int]:
    stores = {path.name: path for path in start(found.file).stores}
    opened = open_store(stores["combined"])
    counts = opened.engine.tabulate(Question.of(Query.parse("sex"), opened.schema)).counts
    return np.asarray(counts).tolist()


def test_a_joint_table_over_tls(north: Federated) -> None:
    own = [open_store(held[0]) for held in north.stores.values()]
    tables = [o.engine.tabulate(Question.of(Query.parse("sex"), o.schema)).counts for o in own]
    assert total(north) == np.sum(tables, axis=0).tolist()


def test_a_site_that_does_not_run_is_named(
    made: tuple[Federated, list[int]], tmp_path: Path
) -> None:
    found = copied(made[0], tmp_path / "north")
    found.begin()
    with (
        listening(_late(found, "aland"), found.folder, "aland", made[1][0]),
        pytest.raises(SitesUnavailable, match="Borg cannot be reached; Cove cannot be reached"),
    ):
        start(found.file)


def test_a_hub_that_was_set_up_starts_without_a_site_and_its_tables_wait(
    north: Federated,
) -> None:
    first = start(north.file)

    def silent(name: str, raw: bytes, answer: Answer) -> bytes:
        if name == "cove":
            raise ParameterError("broken")
        return answer(raw)

    north.between = silent
    again = start(north.file)
    assert again.stores == first.stores
    assert again.notes == ("Cove failed.", "Tables wait for it.")
    with pytest.raises(SitesUnavailable, match="Cove failed"):
        total(north)


def test_a_site_that_is_late_is_named(north: Federated) -> None:
    done = threading.Event()

    def late(name: str, raw: bytes, answer: Answer) -> bytes:
        if name == "borg":
            done.wait(30)
        return answer(raw)

    north.between = late
    link = Link(north.hub, north.file.ca, 0.5)
    try:
        with Conversation(link, north.document, ["borg"]) as talk:
            found, wrong = talk.ask_each("state", {})
    finally:
        done.set()
    assert wrong == {"borg": "did not answer within 0.5 seconds"}
    assert not found


def test_a_certificate_of_another_authority_is_not_trusted(
    north: Federated, tmp_path: Path
) -> None:
    other = make_certificates(tmp_path / "other", ())
    link = Link(north.hub, other, 60)
    with Conversation(link, north.document, list(NAMES)) as talk:
        _, wrong = talk.ask_each("state", {})
    assert set(wrong.values()) == {"has a certificate that is not trusted"}


def test_another_hub_is_not_answered(north: Federated) -> None:
    from discreet.release.signature import Signer

    link = Link(Signer.throwaway(), north.file.ca, 60)
    with Conversation(link, north.document, list(NAMES)) as talk:
        _, wrong = talk.ask_each("state", {})
    assert set(wrong.values()) == {"does not take the hub's request"}
    assert north.sites["aland"].record.turned_away() == {"not signed by the hub": 1}


def test_clocks_that_are_apart_are_told(north: Federated) -> None:
    link = Link(north.hub, north.folder / "ca.pem", 60.0, lambda: time.time() + 1_000)
    with Conversation(link, north.document, NAMES) as talk:
        _, wrong = talk.ask_each("state", {})
        assert talk.away() == {}
    for why in wrong.values():
        told = re.fullmatch(
            r"does not take the hub's request: the two clocks are ([\d,]+) seconds apart", why
        )
        assert told
        assert int(told[1].replace(",", "")) >= 990  # 1,000, by a clock of seconds
    assert len(wrong) == len(NAMES)


def _received(line: ssl.SSLSocket) -> None:
    """Read a whole request: what is left unread when a socket closes resets the connection."""
    got = b""
    while b"\r\n\r\n" not in got:
        part = line.recv(2**16)
        if not part:
            raise OSError("the hub went away")
        got += part
    head, _, body = got.partition(b"\r\n\r\n")
    length = next(
        int(one.split(b":")[1])
        for one in head.split(b"\r\n")
        if one.lower().startswith(b"content-length")
    )
    while len(body) < length:
        body += line.recv(2**16)


@contextmanager
def _raw_server(
    folder: Path, port: int, answer: bytes, drip: threading.Event | None = None
) -> Iterator[None]:
    """A server that sends some bytes over TLS and closes, or drips them until an event."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "borg.pem", folder / "borg.key")
    with socket.create_server(("127.0.0.1", port)) as listener:
        sent: list[bytes] = []

        def serve() -> None:
            connection, _ = listener.accept()
            with connection, context.wrap_socket(connection, server_side=True) as line:
                _received(line)
                while drip is not None and not drip.wait(0.05):
                    line.sendall(b"X-Drip: 1\r\n" if answer in sent else answer)
                    sent.append(answer)
                if drip is None:
                    line.sendall(answer)

        def dripping() -> None:
            with suppress(OSError):  # the hub cuts the line
                serve()

        thread = threading.Thread(target=serve if drip is None else dripping, daemon=True)
        thread.start()
        yield
        thread.join(10)


@pytest.mark.parametrize(
    ("sent", "told"),
    [
        (b"", "cannot be reached"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf", "cannot be reached"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}", "sent something that is no answer"),
        (b"HTTP/1.1 302 Found\r\nContent-Length: 0\r\nLocation: /\r\n\r\n", "failed"),
        (b"nonsense\r\n\r\n", "cannot be reached"),
    ],
)
def test_a_line_that_is_cut_off_or_speaks_something_else_is_told(
    made: tuple[Federated, list[int]], sent: bytes, told: str
) -> None:
    found, _ = made
    (port,) = free_ports(1)
    member = replace(found.document.member("borg"), address=f"https://127.0.0.1:{port}")
    document = replace(found.document, members={**found.document.members, "borg": member})
    with _raw_server(found.folder, port, sent):
        link = Link(found.hub, found.file.ca, 60)
        with Conversation(link, document, ["borg"]) as talk:
            _, wrong = talk.ask_each("state", {})
    assert wrong == {"borg": told}


def test_only_tls_is_spoken(north: Federated, made: tuple[Federated, list[int]]) -> None:
    with socket.create_connection(("127.0.0.1", made[1][0]), timeout=5) as plain:
        plain.sendall(b"POST /federation/v1 HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n")
        assert b"200" not in plain.recv(1_000)


def test_a_hub_file_is_read_strictly(tmp_path: Path) -> None:
    for text, told in (
        ('id = "n"\ntitle = "N"\ncards = ["a"]\ncombined = ["x"]', "at least two sites"),
        ('id = "n"\ntitle = "N"\ncards = ["a", "b"]', "must name classes"),
        ('id = "n"\ntitle = "N"\ncards = ["a", "b"]\ncombined = ["x"]\nother = 1', "other"),
        ('id = "n"\ntitle = "N"\ncards = ["a", "b"]\ncombined = ["x"]\nleast_sites = 1', "least"),
    ):
        (tmp_path / "hub.toml").write_text(text)
        with pytest.raises(ParameterError, match=told):
            HubFile.read(tmp_path / "hub.toml")


def test_a_restarted_site_goes_on(north: Federated) -> None:
    before = total(north)
    north.sites["cove"] = open_site(north.stores["cove"])
    assert total(north) == before


def test_a_site_that_drips_its_answer_is_late(made: tuple[Federated, list[int]]) -> None:
    # Each header comes in time, and their end never does.
    found, _ = made
    (port,) = free_ports(1)
    member = replace(found.document.member("borg"), address=f"https://127.0.0.1:{port}")
    document = replace(found.document, members={**found.document.members, "borg": member})
    enough = threading.Event()
    end = threading.Timer(20, enough.set)
    end.start()
    with _raw_server(found.folder, port, b"HTTP/1.1 200 OK\r\n", enough):
        with Conversation(Link(found.hub, found.file.ca, 1), document, ["borg"]) as talk:
            _, wrong = talk.ask_each("state", {})
        assert not enough.is_set()
        enough.set()
        end.cancel()
    assert wrong == {"borg": "did not answer within 1 seconds"}


def test_connections_that_ask_nothing_do_not_block_a_site(
    made: tuple[Federated, list[int]], tmp_path: Path
) -> None:
    found = copied(made[0], tmp_path / "north")
    found.begin()
    context = ssl.create_default_context(cafile=found.file.ca)
    port, site = made[1][0], _late(found, "aland")
    with ExitStack() as stack:
        stack.enter_context(listening(site, found.folder, "aland", port, header_seconds=3))
        idle = []
        for _ in range(70):
            line = stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=30))
            idle.append(stack.enter_context(context.wrap_socket(line, server_hostname="localhost")))
        with Conversation(Link(found.hub, found.file.ca, 60), found.document, ["aland"]) as talk:
            answers, wrong = talk.ask_each("state", {})
        assert not wrong
        assert set(answers) == {"aland"}
        assert idle[0].recv(1) == b""  # cut off after header_seconds


def test_a_line_that_is_cut_before_it_is_there_is_not_used() -> None:
    # The time may run out between connecting and shaking hands.
    with socket.create_server(("127.0.0.1", 0)) as listener:
        line = Line("127.0.0.1", listener.getsockname()[1], 30, ssl.create_default_context())
        line.cut()
        with pytest.raises(TimeoutError):
            line.connect()
        line.close()
