"""Who asks: addresses behind proxies, networks of IPv6, and how often they may."""

from __future__ import annotations

import hashlib
from ipaddress import ip_network

import pytest

from discreet.server.clients import Buckets, client_of, key_of
from discreet.server.settings import Key

PROXIES = (ip_network("10.0.0.0/8"), ip_network("::1/128"))


@pytest.mark.parametrize(
    ("peer", "forwarded", "client"),
    [
        ("192.0.2.1", "", "192.0.2.1"),
        ("192.0.2.1", "198.51.100.7", "192.0.2.1"),  # not a proxy of ours: not believed
        ("10.0.0.1", "198.51.100.7", "198.51.100.7"),
        ("10.0.0.1", "1.1.1.1, 198.51.100.7", "198.51.100.7"),  # the left one is the client's word
        ("10.0.0.1", "1.1.1.1, 198.51.100.7, 10.0.0.2", "198.51.100.7"),
        ("10.0.0.1", "", "10.0.0.1"),
        ("10.0.0.1", "nonsense", "unknown"),
        ("::1", "2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:db8:1:2:ffff::9", "", "2001:db8:1:2::/64"),
        ("::ffff:192.0.2.1", "", "192.0.2.1"),
        ("::ffff:10.0.0.1", "198.51.100.7", "198.51.100.7"),
        ("fe80::1%eth0", "", "fe80::/64"),
        ("", "198.51.100.7", "unknown"),
    ],
)
def test_the_client_is_the_last_hop_that_is_no_proxy_of_ours(
    peer: str, forwarded: str, client: str
) -> None:
    assert client_of(peer, forwarded, PROXIES) == client


def test_a_bucket_empties_and_fills() -> None:
    now = 0.0
    buckets = Buckets(2, lambda: now)
    assert [buckets.take("a", 30), buckets.take("a", 30)] == [0, 0]
    assert buckets.take("a", 30) == 2  # 30 a minute are one in 2 seconds
    assert buckets.take("b", 30) == 0, "others are not touched"
    now = 1.9
    assert buckets.take("a", 30) == 1
    now = 2.0
    assert buckets.take("a", 30) == 0
    now = 1_000.0
    assert [buckets.take("a", 30) for _ in range(3)] == [0, 0, 2], "no more than the burst fits"


def test_only_so_many_clients_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("discreet.server.clients.MOST", 10)
    buckets = Buckets(1)
    for i in range(100):
        buckets.take(str(i), 1)
    assert len(buckets._held) == 10


def test_keys_are_known_by_their_digest() -> None:
    key = Key("office", hashlib.sha256("schlüssel".encode()).hexdigest(), 10)
    assert key_of("schlüssel", [key]) is key
    assert key_of("other", [key]) is None
    assert "schl" not in repr(key)
