"""Three invented countries and a hub, in one process or on the loopback, for tests."""

from __future__ import annotations

import json
import shutil
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import uvicorn

from discreet.build import build
from discreet.federation import link
from discreet.federation.accepting import accept
from discreet.federation.card import Card, Member
from discreet.federation.certificates import make_certificates
from discreet.federation.document import Document, HubFile
from discreet.federation.site import Site
from discreet.federation.start import document_of, start
from discreet.population import Store
from discreet.population.keys import Secret
from discreet.release.signature import Signer
from discreet.server.run import listen
from discreet.server.settings import Settings
from discreet.server.site import open_site, site_server
from discreet.service.opened import Opened, open_store

NAMES = ("aland", "borg", "cove")
DESCRIPTION = """
id = "{id}"
title = "People of {id}"
unit = "persons"
policy = "{policy}"
source = {{ files = "people.parquet", {source} }}
[variables.sex]
label = "Sex"
categories = {{ 1 = "Male", 2 = "Female" }}
[variables.age]
label = "Age"
range = [0, 79]
[variables.age.levels.age_band]
label = "Age band"
[variables.age.levels.age_band.groups]
young = {{ label = "0 to 19", of = "0..19" }}
adult = {{ label = "20 to 59", of = "20..59" }}
old = {{ label = "60 to 79", of = "60..79" }}
[variables.health]
label = "Health"
range = [1, {healths}]
[[geography]]
id = "{id}_town"
label = "Town"
column = "town"
"""


def people(name: str, rows: int, seed: int) -> pa.Table:
    """Return invented people of a country."""
    rng = np.random.default_rng(seed)
    return pa.table(
        {
            "id": [f"{name}-{i}" for i in range(rows)],
            "sex": rng.integers(1, 3, rows),
            "age": np.minimum(rng.integers(0, 80, rows), rng.integers(20, 80, rows)),
            "health": np.minimum(rng.integers(1, 6, rows), rng.integers(1, 6, rows)),
            "town": rng.integers(0, 4, rows),
        }
    )


def build_country(
    folder: Path, name: str, rows: int = 4_000, seed: int = 1, policy: str = "preset:cell-keys",
    healths: int = 5, less: int = 0,
) -> Path:  # fmt: skip
    """Return the store of a country; another seed, or `less` people, make another edition."""
    folder.mkdir(parents=True, exist_ok=True)
    pq.write_table(people(name, rows, seed).slice(less), folder / "people.parquet")
    text = DESCRIPTION.format(id=name, policy=policy, source='record_id = "id"', healths=healths)
    (folder / "dataset.toml").write_text(text, encoding="utf-8")
    build(folder / "dataset.toml", folder / "store", views=0)
    return folder / "store"


def pooled(folder: Path, stores: Sequence[Path], secret: Secret) -> Opened:
    """Return the records of all stores, with the keys they have there, built on one machine."""
    folder.mkdir(parents=True)
    tables = []
    for store in stores:
        version = Store(store).open()
        schema = version.schema
        held = {v.id: [int(v.finest.codes[i]) for i in version.column(v)] for v in schema.columns}
        tables.append(pa.table({**held, "key": version.keys, "town": np.zeros(version.rows, int)}))
    pq.write_table(pa.concat_tables(tables), folder / "people.parquet")
    source = 'key = { column = "key", modulus = 4294967296 }'
    text = DESCRIPTION.format(id="north", policy="preset:cell-keys", source=source, healths=5)
    (folder / "dataset.toml").write_text(text, encoding="utf-8")
    (folder / "store").mkdir(mode=0o700)
    secret.write(folder / "store" / "secret")
    build(folder / "dataset.toml", folder / "store", views=0)
    return open_store(folder / "store")


@dataclass
class Answering:
    """Stands for a site, with faults."""

    function: Callable[[bytes], bytes]

    def answer(self, raw: bytes) -> bytes:
        return self.function(raw)


@dataclass
class Federated:
    """Countries and their hub; `between` may change what goes over the line."""

    folder: Path
    stores: dict[str, list[Path]]
    file: HubFile
    document: Document
    hub: Signer
    sites: dict[str, Site] = field(default_factory=dict)
    seen: list[tuple[str, bytes, bytes]] = field(default_factory=list)
    between: Callable[[str, bytes, Callable[[bytes], bytes]], bytes] | None = None

    def begin(self) -> None:
        """Open the sites anew, as after a restart."""
        self.sites = {name: open_site(stores) for name, stores in self.stores.items()}

    def sent(self, member: Member, raw: bytes) -> bytes:
        site = self.sites[member.id]
        found = site.answer(raw) if self.between is None else self.between(
            member.id, raw, site.answer
        )  # fmt: skip
        self.seen.append((member.id, raw, found))
        return found

    def open(self, kind: str = "combined", without: Sequence[str] = ()) -> Opened:
        """Return one of the hub's data sets, open."""
        stores = {path.name: path for path in start(self.file, without).stores}
        return open_store(stores[kind])


def make_federation(folder: Path, hub: str = "", **countries: dict[str, object]) -> Federated:
    """Build countries, write the document and accept it; nothing listens yet."""
    stores: dict[str, list[Path]] = {}
    for i, name in enumerate(NAMES):
        options = countries.get(name, {})
        stores[name] = [build_country(folder / name, name, seed=i + 1, **options)]  # type: ignore[arg-type]
    return federate(folder, stores, hub)


def federate(
    folder: Path, stores: dict[str, list[Path]], hub: str = "", ports: Sequence[int] = (),
    own: Sequence[str] = (),
) -> Federated:  # fmt: skip
    """Return the federation of some stores, accepted by all."""
    for i, (name, held) in enumerate(stores.items()):
        address = f"https://127.0.0.1:{ports[i] if ports else 1}"
        key = Signer.of_store(held[0]).public
        cubes = [Store(store).open() for store in held]
        card = Card.of(cubes, name, name.capitalize(), address, key)
        write_json(folder / f"{name}.json", card.to_json())
    if not (folder / "ca.pem").exists():
        make_certificates(folder, ())
    text = hub or 'combined = ["sex,age,health"]\ncomparative = ["sex,age,health"]\n'
    named = ", ".join(f'"{name}.json"' for name in stores)
    head = f'id = "north"\ntitle = "People of the North"\ncards = [{named}]\nseconds = 60\n'
    if "variables" not in text:
        head += 'variables = ["sex", "age", "health"]\n'
    head += 'ca = "ca.pem"\n'
    (folder / "hub.toml").write_text(head + text, encoding="utf-8")
    file = HubFile.read(folder / "hub.toml")
    document, signer = document_of(file)
    for name, held in stores.items():
        cubes = [open_store(store).releaser for store in held]
        accept(document, signer.public, held[0], cubes, Signer.of_store(held[0]), name in own)
    return Federated(folder, stores, file, document, signer)


def copied(made: Federated, folder: Path) -> Federated:
    """Return a federation of its own, in which nothing was asked yet."""
    shutil.copytree(made.folder, folder, dirs_exist_ok=True)
    moved = {
        name: [folder / store.relative_to(made.folder) for store in held]
        for name, held in made.stores.items()
    }
    file = HubFile.read(folder / "hub.toml")
    return Federated(folder, moved, file, *document_of(file))


def write_json(path: Path, values: object) -> None:
    """Write values as JSON."""
    path.write_text(json.dumps(values), encoding="utf-8")


def connect(monkeypatch: pytest.MonkeyPatch, federated: Federated) -> Federated:
    """Let the hub reach its sites in this process."""
    monkeypatch.setattr(
        link.Conversation, "_sent", lambda self, member, raw: federated.sent(member, raw)
    )
    monkeypatch.setattr(link.Conversation, "_away", lambda self, member: "")
    federated.begin()
    return federated


def free_ports(number: int) -> list[int]:
    """Return ports of the loopback that nobody listens on."""
    held = [listen("127.0.0.1", 0) for _ in range(number)]
    found = [int(one.getsockname()[1]) for one in held]
    for one in held:
        one.close()
    return found


@contextmanager
def listening(
    site: Site | Answering, certificates: Path, name: str, port: int, **bounds: int
) -> Iterator[uvicorn.Server]:
    """Serve a site over TLS on the loopback, in a thread."""
    settings = Settings(
        certificate=str(certificates / f"{name}.pem"),
        certificate_key=str(certificates / f"{name}.key"),
        **bounds,
    )
    server = site_server(site, settings)
    socket = listen("127.0.0.1", port)
    thread = threading.Thread(target=server.run, args=([socket],), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.should_exit = server.force_exit = True
        thread.join(30)
        socket.close()
