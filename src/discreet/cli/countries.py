"""The demo of several offices: three invented countries and a hub on one machine."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from discreet.errors import InternalError
from discreet.federation.accepting import accept
from discreet.federation.card import Card
from discreet.federation.certificates import make_certificates
from discreet.federation.document import HubFile
from discreet.federation.start import Started, document_of, start
from discreet.files import written
from discreet.population import Store
from discreet.release.signature import Signer
from discreet.service.opened import open_store

COUNTRIES = {"aland": "Aland", "borg": "Borg", "cove": "Cove"}
_AGREED = '["sex,age_band,marital_status,activity", "sex,age_band,education,health"]'
_HUB = f"""id = "north"
title = "Three invented countries"
cards = [{", ".join(f'"{name}.json"' for name in COUNTRIES)}]
combined = {_AGREED}
comparative = {_AGREED}
ca = "ca.pem"
"""


def make(place: Path, build: Callable[[Path, Path, int], None]) -> dict[str, Path]:
    """Return the stores of the countries, built once; `build` makes one from a seed."""
    stores = {name: place / name / "store" for name in COUNTRIES}
    for seed, (name, store) in enumerate(stores.items(), 1):
        if Store(store).current() is None:
            shutil.rmtree(place / name, ignore_errors=True)
            build(place / name, store, seed)
    return stores


def agree(place: Path, stores: dict[str, Path], ports: dict[str, int]) -> HubFile:
    """Write the cards and the document, and have each country accept it."""
    make_certificates(place, list(stores))
    for name, store in stores.items():
        key = Signer.of_store(store).public
        address = f"https://127.0.0.1:{ports[name]}"
        card = Card.of([Store(store).open()], name, COUNTRIES[name], address, key)
        _write(place / f"{name}.json", json.dumps(card.to_json()))
        _write(
            place / f"{name}.toml",
            f"certificate = {json.dumps(str(place / f'{name}.pem'))}\n"
            f"certificate_key = {json.dumps(str(place / f'{name}.key'))}\n",
        )
    _write(place / "hub.toml", _HUB)
    file = HubFile.read(place / "hub.toml")
    document, signer = document_of(file)
    for store in stores.values():
        cubes = [open_store(store).releaser]
        accept(document, signer.public, store, cubes, Signer.of_store(store))
    return file


@contextmanager
def running(place: Path, stores: dict[str, Path]) -> Iterator[Started]:
    """Run the countries as processes of their own, and give the hub's stores."""
    ports = _free(list(stores))
    file = agree(place, stores, ports)
    processes: list[subprocess.Popen[str]] = []
    try:
        for name, store in stores.items():
            command = [sys.executable, "-m", "discreet", "serve", str(store), "--site"]
            command += ["--port", str(ports[name]), "--settings", str(place / f"{name}.toml")]
            site = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)  # noqa: S603
            processes.append(site)
        for name, process in zip(stores, processes, strict=True):
            assert process.stdout is not None
            if not process.stdout.readline():
                raise InternalError(f"the site of {COUNTRIES[name]} did not start")
        yield start(file)
    finally:
        for process in processes:
            process.terminate()
        for process in processes:
            with suppress(subprocess.TimeoutExpired):
                process.wait(10)
            if process.stdout is not None:
                process.stdout.close()


def _free(names: list[str]) -> dict[str, int]:
    """Return a free port of the loopback for each name."""
    found: dict[str, int] = {}
    held = []
    for name in names:
        taken = socket.socket()
        taken.bind(("127.0.0.1", 0))
        held.append(taken)
        found[name] = int(taken.getsockname()[1])
    for taken in held:
        taken.close()
    return found


def _write(path: Path, text: str) -> None:
    with written(path) as file:
        file.write(text.encode())
