"""A store without what belongs to it is sealed for every command, for Python and the server."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

import discreet as dc
from discreet.cli import app
from discreet.errors import Sealed
from discreet.population import Store
from discreet.population.keys import Secret
from discreet.population.sealed import unsealed
from discreet.server.run import serve
from discreet.server.settings import Settings
from discreet.service import open_store
from stores import build_town

Harm = Callable[[Path], object]

HARMS: dict[str, tuple[Harm, str]] = {
    "another secret": (
        lambda store: (store / "secret").write_text("00" * 32 + "\n"),
        "secret is not the secret that the current version was built with.",
    ),
    "no secret": (lambda store: (store / "secret").unlink(), "secret is missing."),
    "no signing key": (lambda store: (store / "signing.key").unlink(), "signing.key is missing."),
    "no public key": (lambda store: (store / "signing.pub").unlink(), "signing.pub is missing."),
    "no ledger": (lambda store: (store / "state.db").unlink(), "state.db is missing"),
    "an emptied ledger": (
        lambda store: (store / "state.db").write_bytes(b""),
        "state.db is emptied",
    ),
    "another public key": (
        lambda store: (store / "signing.pub").write_bytes(b"another"),
        "signing.pub does not belong to",
    ),
}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("town")
    return build_town(folder / "data", folder / "store", rows=2_000)


@pytest.fixture
def store(built: Path, tmp_path: Path) -> Path:
    shutil.copytree(built, tmp_path / "store")
    return tmp_path / "store"


@pytest.mark.parametrize("harm", HARMS)
def test_nothing_is_released_and_what_to_do_is_said(store: Path, harm: str) -> None:
    do, message = HARMS[harm]
    do(store)
    before = sorted(path.name for path in store.iterdir())

    def serving(path: Path) -> None:
        serve([path], "127.0.0.1", 0, Settings())

    for opening in (open_store, dc.open, serving):
        with pytest.raises(Sealed, match=message):
            opening(store)
    for command in (
        ["table", store, "--by", "sex"],
        ["tabulate", store, "--by", "sex"],
        ["info", store],
        ["info", store, "--verify"],
    ):
        ran = CliRunner().invoke(app, [str(part) for part in command])
        assert isinstance(ran.exception, Sealed), command
        assert message in str(ran.exception)
        assert "Put the" in str(ran.exception), "what to do is said"
        assert ran.stdout == ""
    assert sorted(path.name for path in store.iterdir()) == before, "nothing is made anew"


def test_while_a_build_switches_the_secret_that_fits_is_taken(store: Path) -> None:
    """The version is current, its secret still waits beside the old one."""
    (store / "secret").rename(store / "secret.next")
    Secret.fresh().write(store / "secret")
    found = unsealed(Store(store), Store(store).open())
    assert found == Secret.read(store / "secret.next")


def test_put_back_it_answers_as_before(store: Path) -> None:
    figures = dc.open(store).release("sex,health").table.values.tolist()
    secret = (store / "secret").read_bytes()
    (store / "secret").write_text("00" * 32 + "\n")
    with pytest.raises(Sealed):
        dc.open(store)
    (store / "secret").write_bytes(secret)
    assert dc.open(store).release("sex,health").table.values.tolist() == figures
