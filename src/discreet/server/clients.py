"""Who asks (an address, an IPv6 network or a key), and how often they may."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import lru_cache
from ipaddress import IPv6Address, ip_address
from time import monotonic

from discreet.lru import Lru
from discreet.server.settings import Key, Network
from discreet.service.shared import Tokens

MOST = 100_000  # clients that are remembered; the one seen longest ago goes first


@lru_cache(maxsize=10_000)
def client_of(peer: str, forwarded: str, proxies: Sequence[Network]) -> str:
    """Return the client; an IPv6 address counts as its /64, all of which one household may have.

    X-Forwarded-For is read from the right, as far as configured proxies have written it.
    """
    hops = [part.strip() for part in forwarded.split(",") if part.strip()]
    here = peer
    while hops and is_proxy(here, proxies):
        here = hops.pop()
    try:
        address = ip_address(here.split("%")[0])
    except ValueError:
        return "unknown"
    if isinstance(address, IPv6Address):
        if address.ipv4_mapped is not None:
            return str(address.ipv4_mapped)
        return f"{IPv6Address(int(address) >> 64 << 64)}/64"
    return str(address)


def is_proxy(text: str, proxies: Sequence[Network]) -> bool:
    """Whether an address is that of a configured proxy."""
    try:
        address = ip_address(text.split("%")[0])
    except ValueError:
        return False
    if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
        address = address.ipv4_mapped
    return any(address in network for network in proxies)


def key_of(given: str, keys: Sequence[Key]) -> Key | None:
    """Return the key that was given, if it is one of ours."""
    digest = hashlib.sha256(given.encode("utf-8", "replace")).hexdigest()
    return next((key for key in keys if key.digest == digest), None)


class Buckets:
    """Token buckets by client: `rate` tokens flow in per minute, up to `burst`.

    Several workers have the buckets of one name in common, in `tokens`.
    """

    def __init__(
        self,
        burst: int,
        clock: Callable[[], float] = monotonic,
        name: str = "",
        tokens: Tokens | None = None,
    ) -> None:
        self.burst = burst
        self._clock = clock
        self._name = f"{name} {burst} "
        self._held = Lru[str, tuple[float, float]](MOST) if tokens is None else tokens
        self._turn: AbstractContextManager[None] = nullcontext() if tokens is None else tokens.turn

    def take(self, client: str, rate: int) -> int:
        """Return 0 if the client may go on, and otherwise the seconds it has to wait."""
        client = self._name + client
        with self._turn:
            now = self._clock()
            tokens, before = self._held.get(client) or (float(self.burst), now)
            tokens = min(self.burst, tokens + (now - before) * rate / 60)
            wait = 0 if tokens >= 1 else math.ceil((1 - tokens) * 60 / rate)
            self._held.put(client, (tokens if wait else tokens - 1, now))
        return wait

    def lower(self, client: str, tokens: float) -> None:
        """Let a client have no more than this many tokens now: others have taken some too."""
        client = self._name + client
        with self._turn:
            held = self._held.get(client)
            if held is not None:
                self._held.put(client, (min(held[0], tokens), held[1]))
