"""From cell keys to uniforms: the mix, what it hides, and what nothing of the kind can hide."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from discreet.errors import ParameterError
from discreet.protect import (
    CellKeyPerturbation,
    KeyMix,
    kernels,
    lookup,
    plain_uniforms,
    table_generator,
)

SECRET = b"a secret of at least sixteen bytes"
D5V3 = lookup.max_entropy(5, 3)


def test_siphash_gives_the_published_test_vector() -> None:
    # The authors' vectors: key 00 01 … 0f, message 00 01 … 07, result 62 24 93 9a 79 f5 f5 93.
    key = np.frombuffer(bytes(range(16)), "<u8")
    out = np.empty(1, np.uint64)
    kernels.siphash(np.frombuffer(bytes(range(8)), "<u8"), key[0], key[1], out)
    assert out.astype("<u8").tobytes() == bytes.fromhex("6224939a79f5f593")


def _naive_siphash(key: bytes, message: bytes) -> int:
    """SipHash-2-4 as the paper states it, one message at a time, in Python's integers."""
    full = 2**64 - 1

    def rotate(x: int, left: int) -> int:
        return (x << left | x >> (64 - left)) & full

    k0, k1 = (int.from_bytes(key[i : i + 8], "little") for i in (0, 8))
    v = [0x736F6D6570736575, 0x646F72616E646F6D, 0x6C7967656E657261, 0x7465646279746573]
    v = [v[0] ^ k0, v[1] ^ k1, v[2] ^ k0, v[3] ^ k1]

    def rounds(times: int) -> None:
        for _ in range(times):
            for a, b, c, d, left, right in ((0, 1, 2, 3, 13, 16), (2, 1, 0, 3, 17, 21)):
                v[a] = (v[a] + v[b]) & full
                v[c] = (v[c] + v[d]) & full
                v[b] = rotate(v[b], left) ^ v[a]
                v[d] = rotate(v[d], right) ^ v[c]
                v[a] = rotate(v[a], 32)

    padded = message + bytes(-(len(message) + 1) % 8) + bytes([len(message) % 256])
    for i in range(0, len(padded), 8):
        word = int.from_bytes(padded[i : i + 8], "little")
        v[3] ^= word
        rounds(2)
        v[0] ^= word
    v[2] ^= 0xFF
    rounds(4)
    return v[0] ^ v[1] ^ v[2] ^ v[3]


def test_siphash_equals_its_naive_twin() -> None:
    rng = np.random.default_rng(1)
    key = rng.bytes(16)
    words = rng.integers(0, 2**64, 50, dtype=np.uint64)
    halves = np.frombuffer(key, "<u8")
    out = np.empty(50, np.uint64)
    kernels.siphash(words, halves[0], halves[1], out)
    expected = [_naive_siphash(key, int(word).to_bytes(8, "little")) for word in words]
    assert out.tolist() == expected


def _union_noise(mixed: bool) -> tuple[NDArray[np.int64], ...]:
    """Noise of two cells and of their union, all counts large, keys modulo 2^32."""
    rng = np.random.default_rng(12)
    first, second = rng.integers(0, 2**32, (2, 200_000))
    mix = KeyMix(SECRET)
    method = CellKeyPerturbation(D5V3)
    noise = []
    for keys, count in ((first, 50), (second, 60), ((first + second) % 2**32, 110)):
        uniforms = mix.uniforms(keys) if mixed else plain_uniforms(keys, 2**32)
        noise.append(method.apply(np.full(len(keys), count), uniforms) - count)
    return tuple(noise)


def _explained(noise: tuple[NDArray[np.int64], ...]) -> float:
    """Share of the variance of the union's noise that the two parts' noise explains, R²."""
    first, second, union = noise
    group = (first + 5) * 11 + second + 5
    size = np.bincount(group, minlength=121)
    mean = np.bincount(group, union, minlength=121) / np.maximum(size, 1)
    return float(np.var(mean[group]) / np.var(union))


def test_with_plain_sums_two_cells_give_their_union_away() -> None:
    assert _explained(_union_noise(mixed=False)) == pytest.approx(0.43, abs=0.01)


def test_with_the_mix_they_do_not() -> None:
    # 120 free group means alone explain 120/200,000 = 0.0006.
    assert _explained(_union_noise(mixed=True)) < 0.01


def test_the_same_contributors_have_the_same_noise() -> None:
    keys = np.random.default_rng(1).integers(0, 2**32, 1000)
    mix = KeyMix(SECRET)
    np.testing.assert_array_equal(mix.uniforms(keys), mix.uniforms(keys[::-1])[::-1])
    for dtype in ("uint32", "int64", "uint64"):
        np.testing.assert_array_equal(mix.uniforms(keys), mix.uniforms(keys.astype(dtype)))


def test_uniforms_are_uniform_even_for_neighbouring_keys() -> None:
    uniforms = KeyMix(SECRET).uniforms(np.arange(100_000))
    assert uniforms.min() >= 0
    assert uniforms.max() < 1
    counts = np.bincount((uniforms * 100).astype(int), minlength=100)
    # χ² with 99 degrees of freedom: mean 99, standard deviation 14; 5 of them are 170.
    assert ((counts - 1000) ** 2 / 1000).sum() < 170
    assert abs(np.corrcoef(uniforms[1:], uniforms[:-1])[0, 1]) < 5 / np.sqrt(100_000)


def test_secret_and_purpose_make_the_numbers() -> None:
    keys = np.arange(100)
    mix = KeyMix(SECRET)
    assert (mix.uniforms(keys) != KeyMix(SECRET + b"x").uniforms(keys)).all()
    assert (mix.uniforms(keys) != KeyMix(SECRET, "rounding").uniforms(keys)).all()


def test_the_secret_is_not_shown() -> None:
    assert "secret of" not in repr(KeyMix(SECRET))


def test_what_the_same_noise_cannot_hide() -> None:
    # One pair of large cells that differ by one person at most. Not counted: equal figures, for
    # sure. Counted: x + 1 + v' = x + v by chance alone, with probability Σ p(v)·p(v − 1). Whoever
    # takes equal figures for "not counted" is right with ½ + ½·(1 − Σ p(v)·p(v − 1)) = 0.925.
    p = D5V3.matrix[-1]
    assert 0.5 + 0.5 * (1 - p[1:] @ p[:-1]) == pytest.approx(0.925, abs=5e-4)


def test_plain_uniforms_are_the_key_over_the_modulus() -> None:
    # Just below, because intervals are closed above in the R package cellKey.
    assert plain_uniforms(np.array([0]), 100).tolist() == [0]
    assert plain_uniforms(np.array([25, 99]), 100) == pytest.approx([0.25, 0.99])
    assert (plain_uniforms(np.array([25]), 100) < 0.25).all()


@pytest.mark.parametrize("keys", [np.array([-1]), np.array([0.5])])
def test_bad_keys_are_refused(keys: NDArray[np.float64]) -> None:
    with pytest.raises(ParameterError, match="non-negative integers"):
        KeyMix(SECRET).uniforms(keys)


def test_keys_beyond_the_modulus_and_short_secrets_are_refused() -> None:
    with pytest.raises(ParameterError, match="below the modulus, 100"):
        plain_uniforms(np.array([100]), 100)
    with pytest.raises(ParameterError, match="at least 16 bytes"):
        KeyMix(b"short")


def test_shapes_are_kept() -> None:
    for shape in ((), (0,), (2, 0), (2, 3)):
        assert KeyMix(SECRET).uniforms(np.zeros(shape, int)).shape == shape
        assert plain_uniforms(np.zeros(shape, int), 7).shape == shape


def test_the_same_question_has_the_same_stream() -> None:
    first = table_generator(SECRET, b"sex by age").random(5)
    np.testing.assert_array_equal(first, table_generator(SECRET, b"sex by age").random(5))
    assert (first != table_generator(SECRET, b"age by sex").random(5)).all()
    assert (first != table_generator(SECRET + b"x", b"sex by age").random(5)).all()
    with pytest.raises(ParameterError, match="at least 16 bytes"):
        table_generator(b"short", b"sex by age")
