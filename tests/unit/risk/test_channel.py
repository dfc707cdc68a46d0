"""Risk by the averaged channel."""

from __future__ import annotations

from math import log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet import risk
from discreet.errors import ParameterError
from discreet.protect.cells.rounding import RandomRounding
from risk_tables import Integers, released_of, tables

ROUNDING = RandomRounding(3).transition()

SEEDS = st.integers(0, 10**6)


def test_the_averaged_channel_of_every_release() -> None:
    # F = (1, 3), rounding to 3: G = (0, 3) with ⅔ and (3, 3) with ⅓. a = (¼, ¾).
    # b = (0, 1): the person of cell 1 is seen in cell 2. b = (½, ½): a third of cell 2 moves to 1.
    tables_ = np.array([[0, 3], [3, 3]])
    channel = risk.averaged_channel([1, 3], tables_, [2 / 3, 1 / 3])
    np.testing.assert_allclose(channel, [[1 / 3, 2 / 3], [1 / 9, 8 / 9]])
    joint = channel * np.array([[0.25], [0.75]])
    columns = joint.sum(axis=0)
    entropy = -(joint * np.log(joint / columns)).sum()
    assert risk.channel_entropy([1, 3], channel) == pytest.approx(entropy)
    whole = -(0.25 * log(0.25) + 0.75 * log(0.75))
    by_channel = risk.after_channel([1, 3], tables_, [2 / 3, 1 / 3])
    assert by_channel.entropy == pytest.approx(risk.before([1, 3]).entropy * entropy / whole)
    mean = 2 / 3 * risk.after([1, 3], [0, 3]).entropy + risk.after([1, 3], [3, 3]).entropy / 3
    assert by_channel.entropy > mean  # a different quantity from the mean of R2


@settings(max_examples=40)
@given(tables(most_axes=2, most_side=4), SEEDS)
def test_a_channel_is_made_of_distributions(table: Integers, seed: int) -> None:
    released = np.stack([released_of(table, ROUNDING, seed + i) for i in range(4)])
    held = released.reshape(4, -1).any(axis=1)
    by_channel = risk.after_channel(table, released)
    assert by_channel.undefined == pytest.approx(1 - held.mean())
    if held.any():
        channel = risk.averaged_channel(table, released[held])
        np.testing.assert_allclose(channel.sum(axis=1), table.ravel() > 0, atol=1e-9)
        entropy = risk.channel_entropy(table, channel)
        # Conditional entropy is concave in the channel, so that the average has no less of it.
        alone = [risk.conditional_entropy(table, g) for g in released[held]]
        assert np.mean(alone) <= entropy + 1e-9
        share = table.ravel()[table.ravel() > 0] / table.sum()
        assert -1e-9 <= entropy <= -(share * np.log(share)).sum() + 1e-9


def test_channels_of_the_wrong_shape_are_refused() -> None:
    with pytest.raises(ParameterError, match="stacked along the first axis"):
        risk.after_channel([1, 2], [0, 3])
    with pytest.raises(ParameterError, match="probabilities must be"):
        risk.after_channel([1, 2], [[0, 3]], [0.5])
    with pytest.raises(ParameterError, match="at most 4000 cells"):
        risk.averaged_channel(np.ones(4001, int), np.ones((1, 4001), int))
