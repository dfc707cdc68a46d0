"""Areas: nested, uneven, of the promised number, the same for the same seed."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.synth.geography import NUTS2_SHARES, lay_out


def test_a_census_of_1_500_000_has_the_promised_areas(country):
    g = country.geography
    assert len(g.nuts2_of_region) == 10
    assert np.bincount(g.nuts2_of_region).tolist() == [6, 4]
    assert np.bincount(country.nuts2).tolist() == list(NUTS2_SHARES)
    # Some 125 households in an output area.
    households = (country.household[-1] + 1) / g.size
    assert 120 < households < 130


@settings(max_examples=30, deadline=None)
@given(persons=st.integers(1_000, 300_000), seed=st.integers(0, 2**63 - 1))
def test_areas_are_nested_none_is_empty_and_people_add_up(persons, seed):
    g = lay_out(persons, seed)
    assert g.persons.sum() == persons
    assert g.persons.min() >= 1
    below = g.size
    for parent in g.parents().values():
        assert len(parent) == below
        # Runs of consecutive areas, every parent with at least one.
        assert parent[0] == 0
        assert set(np.unique(np.diff(parent))) <= {0, 1}
        below = parent[-1] + 1
    assert below == 2


@pytest.mark.parametrize("persons", [1_000, 50_000, 5_000_000])
def test_labels_are_unique_and_complete(persons):
    g = lay_out(persons, 3)
    parents = g.parents()
    for level, labels in g.labels().items():
        assert len(set(labels)) == len(labels)
        assert len(labels) == (len(parents[level]) if level in parents else 2)


def test_the_same_seed_gives_the_same_areas_and_another_one_others():
    one, again, other = lay_out(200_000, 5), lay_out(200_000, 5), lay_out(200_000, 6)
    assert np.array_equal(one.persons, again.persons)
    assert np.array_equal(one.clusters, again.clusters)
    assert not np.array_equal(one.clusters, other.clusters)
