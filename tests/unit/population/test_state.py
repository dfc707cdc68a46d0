"""The state of a store and the parts of a version that figures rest on, each damaged alone."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from discreet.errors import Damaged, Sealed
from discreet.population import state
from discreet.population.store import _read_json
from populations import make_version


def test_the_state_of_a_new_store_is_its_owners_alone(tmp_path: Path) -> None:
    state.make(tmp_path)
    assert (tmp_path / state.FILE).stat().st_mode & 0o777 == 0o600


def test_a_state_that_was_emptied_is_none(tmp_path: Path) -> None:
    state.make(tmp_path)
    state.check(tmp_path)
    (tmp_path / state.FILE).write_bytes(b"")
    with pytest.raises(Sealed, match="is emptied"):
        state.check(tmp_path)
    state.make(tmp_path)
    state.check(tmp_path)


@pytest.mark.parametrize("largest", [99, 100])
def test_a_key_at_the_modulus_is_none(largest: int) -> None:
    version = make_version(np.random.default_rng(1), 10, [2], modulus=100)
    keys = version.keys.copy()
    keys[3] = largest
    changed = replace(version, keys=keys)
    if largest < 100:
        changed._check_ranges()
        return
    with pytest.raises(Damaged, match=r"keys\.u32"):
        changed._check_ranges()


def test_a_description_has_its_checksum(tmp_path: Path) -> None:
    said = b'{"a": 1}'
    digest = hashlib.blake2b(said, digest_size=16).hexdigest()
    manifest = {"files": {"policy.json": {"bytes": len(said), "blake2b": digest}}}
    (tmp_path / "policy.json").write_bytes(said)
    assert _read_json(tmp_path, "policy.json", manifest) == {"a": 1}
    (tmp_path / "policy.json").write_bytes(b'{"a": 2}')
    with pytest.raises(Damaged):
        _read_json(tmp_path, "policy.json", manifest)


def test_swaps_of_two_steps_add_to_one_another() -> None:
    """Of 100 records 90 stay in the first step, and of these 72 in the second."""
    version = make_version(np.random.default_rng(1), 10, [2], [6, 2])
    version.__dict__["steps_beforehand"] = [
        {"rates": {"g0": 0.1}}, {"rates": {"g0": 0.2}}, {"method": "another"},
    ]  # fmt: skip
    assert version.swap_rate("g0") == pytest.approx(0.28)
    assert version.swap_rate("g1") == 0
