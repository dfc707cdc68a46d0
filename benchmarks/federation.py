"""What a combined table costs: time and bytes by cells and sites, over TLS on the loopback.

    python benchmarks/federation.py

All sites run in one process beside that of the hub, so that two processors do the work of as many
machines as there are sites: with machines of their own only the way between them would be added.
The stores are copies of one, each with keys of its own, since records do not matter for the cost
of a round.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from time import perf_counter, process_time
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from report import table, write_section

from discreet.build import build
from discreet.federation import link
from discreet.federation.accepting import accept
from discreet.federation.card import Card
from discreet.federation.certificates import make_certificates
from discreet.federation.document import HubFile
from discreet.federation.start import document_of, start
from discreet.policy.read import preset_text
from discreet.population import Store, signing
from discreet.query import Query, Question
from discreet.release.signature import Signer
from discreet.server.run import listen
from discreet.server.settings import Settings
from discreet.server.site import open_site, site_server
from discreet.service.opened import open_store

if TYPE_CHECKING:
    from collections.abc import Iterator

SITES, ROUNDS, PEOPLE = (3, 9, 27), 25, 50_000
SIZES = {"a": 13, "b": 21, "c": 9, "d": 10}
CLASSES = {"a,b": 273, "a,b,c": 2_457, "a,b,c,d": 24_570}


def main() -> None:
    """Measure, and write the section."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--serve", type=Path)
    given = parser.parse_args()
    if given.serve:
        asyncio.run(serve(given.serve))
        return
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        store = build_store(Path(folder) / "one")
        for number in SITES:
            rows += measured(Path(folder) / str(number), store, number)
    wanted = next(row for row in rows if row[:2] == (27, 2_457))
    cpu = (wanted.hub + wanted.sites_cpu) / 1e3
    text = (
        f"{platform.system()}, {os.cpu_count()} processors, Python {platform.python_version()}; "
        f"others kept the machine busy (load {os.getloadavg()[1]:.0f}). "
        f"Hub and all sites on one machine, TLS 1.3 on the loopback; {ROUNDS} rounds, "
        "each with connections, keys and masks of its own. A 2,457-cell table over 27 sites took "
        f"{cpu:.2f} s of CPU, hub and all 27 sites together, and {wanted.fastest / 1e3:.2f} s "
        f"of wall time when the machine was freest ({wanted.wall / 1e3:.2f} s in the median); "
        "1 s was wanted. Bytes are those of the messages, without TLS.\n"
    )
    head = ("sites", "cells", "hub's CPU, ms", "all sites' CPU, ms", "fastest, ms", "median, ms",
            "to a site, kB", "from a site, kB", "in all, kB")  # fmt: skip
    shown = [
        (f"{r.sites}", f"{r.cells:,}", f"{r.hub:,.0f}", f"{r.sites_cpu:,.0f}", f"{r.fastest:,.0f}",
         f"{r.wall:,.0f}", f"{r.to:.1f}", f"{r.back:.1f}", f"{r.sites * (r.to + r.back):,.0f}")
        for r in rows
    ]  # fmt: skip
    title = "## Combined tables over several sites\n\n"
    write_section("federation", title + text + "\n" + table(head, shown))


class Row(NamedTuple):
    """What a table costs: milliseconds and kilobytes, in the median unless it says otherwise."""

    sites: int
    cells: int
    hub: float
    sites_cpu: float
    fastest: float
    wall: float
    to: float
    back: float


def build_store(folder: Path) -> Path:
    """Return a store whose policy allows every class of the benchmark."""
    folder.mkdir(parents=True)
    rng = np.random.default_rng(1)
    columns = {name: rng.integers(0, size, PEOPLE) for name, size in SIZES.items()}
    pq.write_table(pa.table({"id": np.arange(PEOPLE), **columns}), folder / "people.parquet")
    policy = preset_text("cell-keys").replace("looks = 1 ", "looks = 9 ")
    (folder / "policy.toml").write_text(policy, encoding="utf-8")
    described = 'id = "people"\ntitle = "People"\npolicy = "policy.toml"\n'
    described += 'source = { files = "people.parquet", record_id = "id" }\n'
    for name, size in SIZES.items():
        described += f'[variables.{name}]\nlabel = "{name}"\nrange = [0, {size - 1}]\n'
    (folder / "dataset.toml").write_text(described, encoding="utf-8")
    build(folder / "dataset.toml", folder / "store")
    return folder / "store"


def agreed(folder: Path, store: Path, number: int) -> HubFile:
    """Return the hub of so many copies of a store, which have accepted its document."""
    names = [f"s{i:02}" for i in range(number)]
    make_certificates(folder, names)
    held = [listen("127.0.0.1", 0) for _ in names]
    ports = [one.getsockname()[1] for one in held]
    for one in held:
        one.close()
    for name, port in zip(names, ports, strict=True):
        copy = folder / name
        shutil.copytree(store, copy)
        signing.forget(copy)
        signing.make(copy)
        key = Signer.of_store(copy).public
        card = Card.of([Store(copy).open()], name, name, f"https://127.0.0.1:{port}", key)
        (folder / f"{name}.json").write_text(json.dumps(card.to_json()), encoding="utf-8")
    (folder / "ports.json").write_text(json.dumps(dict(zip(names, ports, strict=True))))
    cards = json.dumps([f"{name}.json" for name in names])
    (folder / "hub.toml").write_text(
        f'id = "all"\ntitle = "All"\ncards = {cards}\ncombined = ["a,b,c,d"]\nca = "ca.pem"\n'
        "seconds = 60\n",
        encoding="utf-8",
    )
    file = HubFile.read(folder / "hub.toml")
    document, signer = document_of(file)
    for name in names:
        cubes = [open_store(folder / name).releaser]
        accept(document, signer.public, folder / name, cubes, Signer.of_store(folder / name))
    return file


async def serve(folder: Path) -> None:
    """Serve all sites of a folder until the process is ended."""
    servers, sockets = [], []
    for name, port in json.loads((folder / "ports.json").read_text()).items():
        settings = Settings(
            certificate=str(folder / f"{name}.pem"), certificate_key=str(folder / f"{name}.key")
        )
        servers.append(site_server(open_site([folder / name]), settings))
        sockets.append(listen("127.0.0.1", port))
    tasks = [
        asyncio.create_task(server.serve([socket]))
        for server, socket in zip(servers, sockets, strict=True)
    ]
    while not all(server.started for server in servers):
        await asyncio.sleep(0.01)
    print("ready", flush=True)
    await asyncio.gather(*tasks)


@contextmanager
def served(folder: Path) -> Iterator[int]:
    """Run the sites of a folder in a process of their own; give its id."""
    command = [sys.executable, __file__, "--serve", str(folder)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        yield process.pid
    finally:
        process.kill()
        process.wait()


def spent(process: int) -> float:
    """Return the CPU milliseconds of a process so far."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return 1e3 * (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measured(folder: Path, store: Path, number: int) -> list[Row]:
    """Return what each table costs over so many sites."""
    file = agreed(folder, store, number)
    rows = []
    with served(folder) as sites:
        opened = open_store(start(file).stores[0])
        for name, cells in CLASSES.items():
            question = Question.of(Query.parse(name), opened.schema)
            opened.engine.tabulate(question)  # writes a look into every ledger
            walls, cpus, before = [], [], spent(sites)
            with counting() as moved:
                for _ in range(ROUNDS):
                    begin, used = perf_counter(), process_time()
                    found = opened.engine.tabulate(question)
                    cpus.append(1e3 * (process_time() - used))
                    walls.append(1e3 * (perf_counter() - begin))
            assert int(found.counts.sum()) == number * PEOPLE
            each, others = 1e3 * number * ROUNDS, (spent(sites) - before) / ROUNDS
            rows.append(Row(number, cells, median(cpus), others, min(walls),
                            median(walls), moved[0] / each, moved[1] / each))  # fmt: skip
    return rows


@contextmanager
def counting() -> Iterator[list[int]]:
    """Count the bytes of messages to the sites and from them."""
    sent, moved = link.Conversation._sent, [0, 0]

    def counted(self: link.Conversation, member: object, raw: bytes) -> bytes:
        found = sent(self, member, raw)
        moved[0] += len(raw)
        moved[1] += len(found)
        return found

    link.Conversation._sent = counted
    try:
        yield moved
    finally:
        link.Conversation._sent = sent


if __name__ == "__main__":
    main()
