"""The plain twins of the kernels give the kernels' numbers, bit by bit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from discreet import compiling
from discreet.protect import Chance, RandomRounding, kernels, keys, lookup, plain
from discreet.protect.lookup import LookupTable, table

LOOKUPS = {
    "max entropy": lookup.max_entropy(4, 2.0),
    "rounding": lookup.rounding(3),
    "one interval": LookupTable.from_rows([([0], [1.0]), ([0], [1.0])]),
}


@settings(deadline=None)
@given(
    arrays.arrays(np.uint64, st.integers(0, 50)),
    st.integers(0, 2**64 - 1),
    st.integers(0, 2**64 - 1),
)
def test_siphash(words: np.ndarray, k0: int, k1: int) -> None:  # type: ignore[type-arg]
    found, expected = np.empty(len(words), np.uint64), np.empty(len(words), np.uint64)
    plain.siphash(words, np.uint64(k0), np.uint64(k1), found)
    kernels.siphash(words, np.uint64(k0), np.uint64(k1), expected)
    assert np.array_equal(found, expected)


def test_siphash_of_other_integers_is_that_of_their_eight_bytes() -> None:
    for kind in (np.int64, np.uint32, np.uint8):
        words = np.array([0, 1, 7, 255], kind)
        found, expected = np.empty(4, np.uint64), np.empty(4, np.uint64)
        plain.siphash(words, np.uint64(3), np.uint64(5), found)
        kernels.siphash(words, np.uint64(3), np.uint64(5), expected)
        assert np.array_equal(found, expected)


@pytest.mark.parametrize("name", LOOKUPS)
def test_look_up(name: str) -> None:
    one, rng = LOOKUPS[name], np.random.default_rng(3)
    counts = rng.integers(0, 40, 3000)
    uniforms = rng.random(3000)
    # Uniforms that are bounds themselves: the interval that begins there is the one to take.
    uniforms[:500] = rng.choice(np.append(one.bounds[one.bounds < 1], 0), 500)
    found, expected = np.empty(3000, np.int64), np.empty(3000, np.int64)
    given = (counts, uniforms, one.changes, one.bounds, one.period)
    plain.look_up(*given, found)
    kernels.look_up(*given, expected)
    assert np.array_equal(found, expected)


def test_a_kernel_pays_when_it_is_loaded_or_the_work_is_large() -> None:
    kernel = compiling.njit()(lambda: None)
    assert not compiling.pays(kernel, compiling.SMALL)
    assert compiling.pays(kernel, compiling.SMALL + 1)
    kernel()
    assert compiling.pays(kernel, 1)


@pytest.mark.parametrize("pays", [True, False])
def test_a_method_releases_the_same_either_way(pays: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    counts = np.arange(200)
    chance = Chance.keyed(b"0123456789abcdef", b"by=sex", counts.astype(np.uint64) * 977)
    expected = RandomRounding(3).apply(counts, chance)
    for module in (keys, table):
        monkeypatch.setattr(module, "pays", lambda kernel, size: pays)
    assert np.array_equal(RandomRounding(3).apply(counts, chance), expected)
