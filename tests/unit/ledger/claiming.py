"""A process that claims every class in an order of its own, for test_database.py.

`claiming.py URL SEED DIES` prints each class with the table that answers it. At its claim number
DIES it kills itself after the claim is written and before it is on the disk.
"""

from __future__ import annotations

import os
import random
import signal
import sys
from typing import Any

from discreet.errors import QueryRefused
from discreet.ledger import Database, Ledger, Status
from discreet.ledger.tables import Transaction
from discreet.query import QuestionClass
from ledgers import wide_classes, wide_space


def main(url: str, seed: int, dies: int) -> None:
    space, left, add = wide_space(), [dies], Transaction.add

    def add_and_die(self: Transaction, *values: Any) -> Any:
        row = add(self, *values)
        left[0] -= 1
        if left[0] == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return row

    Transaction.add = add_and_die  # type: ignore[method-assign]
    database, classes = Database.of(url), wide_classes(space)
    random.Random(seed).shuffle(classes)
    print("ready", flush=True)
    sys.stdin.readline()
    claim(Ledger(database, "wide", "2021", "public", space, True), classes)
    if dies:  # others were faster: what is left are tables that nobody else makes
        spare = Ledger(database, "wide", "spare", "public", space, True)
        claim(spare, [asked for asked in classes if not space.guarded(asked)])


def claim(kept: Ledger, classes: list[QuestionClass]) -> None:
    for asked in classes:
        try:
            route = kept.claim(asked)
        except QueryRefused:
            continue
        print(asked.name, route.source.name, flush=True)
        if route.status is Status.CLAIMED:
            kept.settle(route.source, Status.RELEASED)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
