"""A store without what belongs to it is sealed for every command, for Python and the server."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from typer.testing import CliRunner

import discreet as dc
from discreet.build import build
from discreet.cli import app
from discreet.errors import Sealed
from discreet.population import Store, signing
from discreet.population.keys import Secret
from discreet.population.sealed import unsealed
from discreet.server.run import serve
from discreet.server.settings import Settings
from discreet.service import open_store
from stores import build_town

Harm = Callable[[Path], object]


def other_keys(store: Path) -> None:
    """Put a pair in place of the store's own, as a restore of the wrong files does."""
    with TemporaryDirectory() as folder:
        signing.make(Path(folder))
        for name in (signing.PRIVATE, signing.PUBLIC):
            shutil.copy(Path(folder) / name, store / name)


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
    "another store's keys": (lambda store: other_keys(store), "signing.key is another store's"),
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


def test_a_build_does_not_sign_with_keys_of_another_store(tmp_path: Path) -> None:
    """New keys are made only if that is asked for; then they are the store's."""
    store = build_town(tmp_path / "data", tmp_path / "store", rows=500)
    other_keys(store)
    with pytest.raises(Sealed, match="another store's"):
        build(tmp_path / "data" / "dataset.toml", store)
    build(tmp_path / "data" / "dataset.toml", store, new_signing_key=True)
    assert dc.open(store).release("sex")
    assert len((store / signing.MARK).read_text().split()) == 1


def test_a_store_of_before_takes_the_keys_it_has_once(store: Path) -> None:
    (store / signing.MARK).unlink()
    assert dc.open(store).release("sex")
    assert (store / signing.MARK).stat().st_mode & 0o777 == 0o600
    other_keys(store)
    with pytest.raises(Sealed, match="another store's"):
        dc.open(store)


@pytest.mark.parametrize("killed", [signing.PRIVATE, signing.PUBLIC, signing.MARK])
def test_keys_that_are_changed_by_halves_are_known(
    store: Path, monkeypatch: pytest.MonkeyPatch, killed: str
) -> None:
    """Killed before one of the files has its name: the old pair, the new one, or say what to do."""
    real = os.replace

    def replaced(part: Path, path: Path) -> None:
        if Path(path).name == killed and (
            killed != signing.MARK or len(Path(part).read_bytes()) < 40
        ):
            raise KeyboardInterrupt
        real(part, path)

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", replaced)
        with pytest.raises(KeyboardInterrupt):
            signing.make(store, new=True)
    if killed == signing.PUBLIC:
        with pytest.raises(Sealed, match="--new-signing-key"):
            dc.open(store)
    else:
        assert dc.open(store).release("sex")
