"""Signatures: what they cover, what they do not, and the key they are made by."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from cryptography.exceptions import InvalidSignature
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import ParameterError, Sealed
from discreet.json import canonical
from discreet.release.signature import (
    VERSION,
    Signer,
    figures_digest,
    is_signed,
    labels_digest,
    read_public_key,
    statement,
)
from discreet.table import Dimension, ProtectedTable
from releases import dimension, release

TABLE = release((dimension("area", 3, True), dimension("sex", 2)), 1, bounds=True).table


def turned(table: ProtectedTable, axes: list[int], orders: list[list[int]]) -> ProtectedTable:
    """Return the same table with its dimensions and categories in another order."""

    def array(values: np.ndarray) -> np.ndarray:
        return values.transpose(axes)[np.ix_(*orders)].copy()

    named = []
    for axis, order in zip(axes, orders, strict=True):
        d = table.dimensions[axis]
        codes, labels = (tuple(x[i] for i in order) for x in (d.codes, d.labels))
        named.append(Dimension(d.variable, d.level, d.label, codes, labels))
    assert table.low is not None
    assert table.high is not None
    arrays = [array(x) for x in (table.values, table.withheld, table.low, table.high)]
    return ProtectedTable(tuple(named), *arrays)


@given(st.data())
def test_the_order_of_a_table_is_not_signed(data: st.DataObject) -> None:
    axes = data.draw(st.permutations([0, 1]))
    orders = [data.draw(st.permutations(range(TABLE.shape[axis]))) for axis in axes]
    other = turned(TABLE, axes, orders)
    assert figures_digest(other) == figures_digest(TABLE)
    assert labels_digest(other) == labels_digest(TABLE)
    for name in TABLE.figures:
        assert figures_digest(other, name) == figures_digest(TABLE, name)


@given(st.integers(0, TABLE.values.size - 1))
def test_every_figure_is_signed(place: int) -> None:
    values = TABLE.values.copy()
    withheld = TABLE.withheld.copy()
    if withheld.flat[place]:  # a withheld figure that is given after all, even as 0
        withheld.flat[place] = False
    else:
        values.flat[place] += 1
    changed = ProtectedTable(TABLE.dimensions, values, withheld)
    assert figures_digest(changed) != figures_digest(TABLE)


def test_figures_that_change_places_are_seen() -> None:
    values = TABLE.values.copy()
    values[0, 0], values[0, 1] = values[0, 1], values[0, 0]
    assert figures_digest(
        ProtectedTable(TABLE.dimensions, values, TABLE.withheld)
    ) != figures_digest(TABLE)


def test_codes_and_labels_are_signed() -> None:
    first, second = TABLE.dimensions
    other = replace(second, codes=("1", "2"))
    moved = ProtectedTable((first, other), TABLE.values, TABLE.withheld)
    assert figures_digest(moved) != figures_digest(TABLE)
    # Also where the new ones stand in the same order, so that the figures do not change places.
    assert sorted(second.codes) == ["-8", "1"]
    other = replace(second, codes=tuple({"-8": "-9", "1": "2"}[code] for code in second.codes))
    moved = ProtectedTable((first, other), TABLE.values, TABLE.withheld)
    assert figures_digest(moved) != figures_digest(TABLE)
    other = replace(second, labels=second.labels[::-1])
    named = ProtectedTable((first, other), TABLE.values, TABLE.withheld)
    assert figures_digest(named) == figures_digest(TABLE)
    assert labels_digest(named) != labels_digest(TABLE)


def test_the_key_is_made_once_for_its_owner_only(tmp_path: Path) -> None:
    first, second = Signer.of_store(tmp_path), Signer.of_store(tmp_path)
    assert first.public == second.public == read_public_key(tmp_path / "signing.pub")
    assert (tmp_path / "signing.key").stat().st_mode & 0o777 == 0o600
    names = ["signing.id", "signing.key", "signing.pub"]
    assert sorted(p.name for p in tmp_path.iterdir()) == names
    assert "private" not in repr(first).lower()
    (tmp_path / "signing.key").chmod(0o644)
    with pytest.raises(ParameterError, match="mode 600"):
        Signer.of_store(tmp_path)


@pytest.mark.parametrize("mode", [0o640, 0o604])
def test_a_key_that_others_may_read_signs_nothing(tmp_path: Path, mode: int) -> None:
    Signer.of_store(tmp_path)
    (tmp_path / "signing.key").chmod(mode)
    with pytest.raises(ParameterError, match=rf"It has mode {mode:o}"):
        Signer.of_store(tmp_path)


def test_both_ends_of_a_range_are_signed(tmp_path: Path) -> None:
    """And every other column beside the figures: none can be changed alone."""
    assert TABLE.low is not None
    assert TABLE.high is not None
    before = statement(TABLE, {"provenance": {}}, [])["figures"]
    assert set(before) == {"value", "low", "high"}
    place = tuple(np.argwhere(~TABLE.withheld)[0])
    for name in ("low", "high"):
        column = getattr(TABLE, name).copy()
        column[place] += 1
        changed = replace(TABLE, **{name: column})
        after = statement(changed, {"provenance": {}}, [])["figures"]
        assert [key for key in before if before[key] != after[key]] == [name]


def test_a_store_is_not_given_another_key(tmp_path: Path) -> None:
    """A folder that is a store had one: what it signed must stay known as its own."""
    (tmp_path / "CURRENT").write_text("20260105T101500000000-3f9a1c\n")
    with pytest.raises(Sealed, match=r"signing\.key is missing"):
        Signer.of_store(tmp_path)
    assert not (tmp_path / "signing.key").exists()


def test_a_statement_is_signed_as_a_release_and_as_nothing_else(tmp_path: Path) -> None:
    """The bytes begin with what they are for: a signature of another kind is of other bytes."""
    signer = Signer.of_store(tmp_path)
    said = {"version": VERSION, "figures": "x"}
    signature = bytes.fromhex(signer.sign(said)["signature"])
    public = signer.private.public_key()
    public.verify(signature, b"discreet release\0" + canonical(said))
    with pytest.raises(InvalidSignature):
        public.verify(signature, canonical(said))


def test_another_key_did_not_sign_it(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    ours, theirs = Signer.of_store(tmp_path / "a"), Signer.of_store(tmp_path / "b")
    proof = ours.sign({"version": VERSION, "figures": "x"})
    assert is_signed(proof, ours.public)
    assert not is_signed(proof, theirs.public)
    assert not is_signed({**proof, "statement": {"version": VERSION, "figures": "y"}}, ours.public)
    assert not is_signed({**proof, "signature": "zz"}, ours.public)
    assert not is_signed({}, ours.public)
    assert not is_signed(ours.sign({"version": VERSION - 1}), ours.public)
    # Beside the statement there is nothing that was not signed: no other key, no other word.
    assert not is_signed({**proof, "key": theirs.public.hex()}, ours.public)
    assert not is_signed({**proof, "note": "withdrawn"}, ours.public)
    assert not is_signed({**proof, "signature": proof["signature"].upper()}, ours.public)


def test_a_file_that_is_no_key_is_said(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("no key")
    with pytest.raises(ParameterError, match="Ed25519 public key"):
        read_public_key(tmp_path / "x")
    with pytest.raises(ParameterError, match="readable file"):
        read_public_key(tmp_path / "y")
    (tmp_path / "signing.key").write_text("no key")
    (tmp_path / "signing.key").chmod(0o600)
    with pytest.raises(ParameterError, match="Ed25519 private key"):
        Signer.of_store(tmp_path)


def test_the_proof_holds_nothing_but_origin_and_digests_of_what_is_released(
    tmp_path: Path,
) -> None:
    made = release(TABLE.dimensions, 1, signer=Signer.of_store(tmp_path))
    assert made.proof is not None
    assert set(made.proof) == {"statement", "key", "signature"}
    said = made.proof["statement"]
    named = {"version", "provenance", "dimensions", "figures", "labels", "text", "document"}
    assert set(said) == named
    assert said["provenance"] == vars(made.provenance)
    # The same release without its record, and a record of other figures, give the same proof.
    assert replace(made, record=None).proof == made.proof
