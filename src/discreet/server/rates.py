"""How often anybody may ask: of this process, of all workers, and of all servers on one database.

A request is let in or not by the buckets of the machine, without waiting for others. Where several
servers share a state database in PostgreSQL, the buckets there are the true ones: once a second
each server says what was taken from them, and learns what is left. While the database does not
answer, each machine keeps to the limits by itself.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import sqlalchemy as sa

from discreet.errors import LedgerUnavailable
from discreet.ledger import Database
from discreet.server.clients import Buckets
from discreet.server.settings import Settings
from discreet.service.shared import Tokens

_EVERY = 1.0  # seconds between two words with the other servers
_AT_ONCE = 5_000  # clients that are spoken of at a time; the others come next
_OLD = 600  # seconds after which any bucket is full, and forgotten
_KINDS = ("address", "account", "key")

metadata = sa.MetaData()
rates = sa.Table(
    "discreet_rates",
    metadata,
    # A keyed hash of who it is: the database does not learn addresses.
    sa.Column("client", sa.Text, primary_key=True),
    sa.Column("tokens", sa.Double, nullable=False),
    sa.Column("time", sa.Double, nullable=False),
    sa.Column("rate", sa.Double, nullable=False),
)
_NOW = "extract(epoch FROM clock_timestamp())"
_TAKE = sa.text(f"""
    INSERT INTO discreet_rates AS held (client, tokens, time, rate)
    SELECT client, :burst - taken, {_NOW}, rate
    FROM unnest(CAST(:clients AS text[]), CAST(:taken AS float8[]), CAST(:rates AS float8[]))
      AS new (client, taken, rate)
    ON CONFLICT (client) DO UPDATE SET
      tokens = greatest(-:burst, excluded.tokens - :burst
        + least(:burst, held.tokens + (excluded.time - held.time) * held.rate / 60)),
      time = excluded.time, rate = excluded.rate
    RETURNING client, tokens
""").bindparams(sa.bindparam("burst", type_=sa.Double))  # noqa: S608 - no value is in the text
_FORGET = sa.text(f"DELETE FROM discreet_rates WHERE time < {_NOW} - :old")  # noqa: S608


@dataclass
class Taken:
    """What was taken from a bucket since the other servers were told."""

    kind: str
    client: str
    rate: int
    number: int = 0


class Rates:
    """Token buckets of addresses, accounts and keys."""

    def __init__(
        self,
        settings: Settings,
        tokens: Tokens | None = None,
        database: Database | None = None,
        key: bytes = b"",
    ) -> None:
        self._tokens = tokens
        several = database is not None and database.url.startswith("postgresql")
        self._database = database if several else None
        self._key = hashlib.blake2b(key, digest_size=32, person=b"discreet rates").digest()
        self._taken: dict[str, Taken] = {}
        self._made = False
        self._task: asyncio.Task[None] | None = None
        self.use(settings)

    def use(self, settings: Settings) -> None:
        """Have these settings; limits begin anew where they are other ones."""
        self._burst = settings.burst
        self._buckets = {
            kind: Buckets(settings.burst, name=kind, tokens=self._tokens) for kind in _KINDS
        }

    def take(self, kind: str, client: str, rate: int) -> int:
        """Return 0 if a client may go on, and otherwise the seconds it has to wait."""
        wait = self._buckets[kind].take(client, rate)
        if not wait and self._task is not None and not self._task.done():
            text = f"{kind} {self._burst} {client}".encode()
            name = hashlib.blake2b(text, digest_size=16, key=self._key).hexdigest()
            self._taken.setdefault(name, Taken(kind, client, rate)).number += 1
        return wait

    def start(self) -> None:
        """Begin to speak with the other servers, if there can be any."""
        if self._database is not None:
            self._task = asyncio.create_task(self._run())

    def stop(self) -> None:
        """End it."""
        if self._task is not None:
            self._task.cancel()

    async def _run(self) -> None:
        turn = 0
        while True:
            await asyncio.sleep(_EVERY)
            told = list(self._taken.items())[:_AT_ONCE]
            for name, _ in told:
                del self._taken[name]
            turn += 1
            try:
                found = await asyncio.to_thread(self._tell, told, turn % _OLD == 0)
            except LedgerUnavailable:
                continue  # until it is there again, each machine by itself
            for name, taken in told:
                self._buckets[taken.kind].lower(taken.client, found[name])

    def _tell(self, told: Sequence[tuple[str, Taken]], tidy: bool) -> dict[str, float]:
        """Say what was taken, and return what is left in each bucket."""
        assert self._database is not None
        if not told and not tidy:
            return {}
        with self._database.writing("rates") as transaction:
            connection = transaction.connection
            if not self._made:
                metadata.create_all(connection)
            found = connection.execute(
                _TAKE,
                {
                    "clients": [name for name, _ in told],
                    "taken": [float(one.number) for _, one in told],
                    "rates": [float(one.rate) for _, one in told],
                    "burst": float(self._burst),
                },
            )
            left = {str(client): float(tokens) for client, tokens in found}
            if tidy:
                connection.execute(_FORGET, {"old": _OLD})
        self._made = True
        return left
