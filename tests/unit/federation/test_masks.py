"""Masks cancel in the sum, and before that say nothing."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from numpy.typing import NDArray
from scipy import stats

from discreet.errors import InternalError, ParameterError
from discreet.federation.masks import check_modulus, decoded, encoded, masked, total
from discreet.table import CountTable, Dimension

SITES = ("aland", "borg", "cove", "dune")
Words = NDArray[np.uint64]


def sent(parts: dict[str, Words], round: bytes = b"round") -> dict[str, Words]:
    """What the sites send, with keys of their own for the round."""
    keys = {site: X25519PrivateKey.generate() for site in parts}
    publics = {
        site: key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
        for site, key in keys.items()
    }
    return {site: masked(words, site, keys[site], publics, round) for site, words in parts.items()}


def table(counts: list[int], keys: list[int], modulus: int = 2**32) -> CountTable:
    codes = tuple(map(str, range(len(counts))))
    return CountTable(
        (Dimension("a", "a", "A", codes, codes),),
        np.array(counts, np.uint32),
        np.array(keys, np.uint32),
        modulus,
    )


@pytest.mark.parametrize("number", [2, 3, 4])
def test_the_sum_of_what_is_sent_is_the_sum_of_the_parts(number: int) -> None:
    rng = np.random.default_rng(1)
    parts = {s: rng.integers(0, 2**64, 50, np.uint64) for s in SITES[:number]}
    found = total(sent(parts).values())
    # Sums of integers without bound, reduced at the end.
    wanted = [sum(int(p[i]) for p in parts.values()) % 2**64 for i in range(50)]
    assert found.tolist() == wanted


def test_counts_and_key_sums_come_back_modulo_the_modulus() -> None:
    # Keys modulo 8: 7 + 6 + 5 = 18 = 2, and 1 + 0 + 7 = 8 = 0.
    parts = [table([3, 0], [7, 1], 8), table([1, 5], [6, 0], 8), table([0, 1], [5, 7], 8)]
    counts, keys = decoded(total(encoded(part) for part in parts), 8)
    assert counts.tolist() == [4, 6]
    assert keys.tolist() == [2, 0]


def test_the_sum_says_not_even_how_often_key_sums_wrapped() -> None:
    # 7 + 1 and 0 + 0 are both 0 modulo 8: the totals must be the same number.
    wrapped = total([encoded(table([1], [7], 8)), encoded(table([1], [1], 8))])
    not_wrapped = total([encoded(table([1], [0], 8)), encoded(table([1], [0], 8))])
    assert wrapped.tolist() == not_wrapped.tolist()


@pytest.mark.parametrize("modulus", [3, 10, 2**32 - 1, 1])
def test_keys_must_have_a_modulus_that_divides_that_of_the_masks(modulus: int) -> None:
    with pytest.raises(ParameterError, match="power of two"):
        check_modulus(modulus)


def test_a_sum_with_a_site_missing_is_refused() -> None:
    parts = {site: encoded(table([5] * 20, [9] * 20)) for site in SITES}
    answers = sent(parts)
    for gone in SITES:
        rest = [words for site, words in answers.items() if site != gone]
        with pytest.raises(InternalError, match="do not belong together"):
            decoded(total(rest), 2**32)


def test_answers_of_two_rounds_do_not_add_up() -> None:
    parts = {site: encoded(table([5] * 20, [9] * 20)) for site in SITES}
    one, other = sent(parts, b"one"), sent(parts, b"other")
    with pytest.raises(InternalError):
        decoded(total([one["aland"], *(other[s] for s in SITES[1:])]), 2**32)


def test_masks_are_of_one_round_even_with_the_same_keys() -> None:
    keys = {site: X25519PrivateKey.generate() for site in SITES}
    publics = {
        site: key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
        for site, key in keys.items()
    }
    none = np.zeros(100, np.uint64)
    one, other = (masked(none, "borg", keys["borg"], publics, r) for r in (b"one", b"other"))
    assert not (one == other).any()


def _bits(words: Words) -> NDArray[np.uint8]:
    return np.unpackbits(words.view(np.uint8))


def test_a_curious_hub_sees_messages_that_do_not_depend_on_the_parts_given_the_total() -> None:
    """Two splits of one total, as unlike as can be: all at one site, or spread evenly.

    By the argument in docs/federation.md the messages are uniform given their sum, whatever the
    split. A fixed seed cannot be had for key agreement, so the tests have a chance of error of
    about 1e-6 in all.
    """
    cells = 20_000
    whole = np.full(cells, 4_000, np.uint64)
    splits = (
        {"aland": whole, "borg": whole * 0, "cove": whole * 0, "dune": whole * 0},
        dict.fromkeys(SITES, whole // np.uint64(4)),
    )
    messages = [sent(split) for split in splits]
    for seen in messages:
        assert (total(seen.values()) == whole).all()
        for words in seen.values():
            # Uniform: bits are fair, the top byte has no favourite.
            assert stats.binomtest(int(_bits(words).sum()), 64 * cells).pvalue > 1e-8
            top = np.bincount((words >> np.uint64(56)).astype(int), minlength=256)
            assert stats.chisquare(top).pvalue > 1e-8
        for one, other in combinations(SITES[:-1], 2):
            # Any but the last are independent of each other.
            agree = int((_bits(seen[one]) == _bits(seen[other])).sum())
            assert stats.binomtest(agree, 64 * cells).pvalue > 1e-8
    for site in SITES:
        # What a site sends has one distribution under both splits.
        both = stats.ks_2samp(messages[0][site].astype(float), messages[1][site].astype(float))
        assert both.pvalue > 1e-8


def test_plain_parts_would_fail_that_test() -> None:
    # The check can fail: what is not masked is far from uniform.
    plain = np.full(20_000, 1_000, np.uint64)
    assert stats.binomtest(int(_bits(plain).sum()), 64 * 20_000).pvalue < 1e-8
