"""A policy's space of questions, held against the data set."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from discreet.errors import ParameterError
from discreet.policy import parse_policy
from discreet.rules.space import check_space
from populations import make_version


@pytest.mark.parametrize(
    ("space", "top", "message"),
    [
        ({"plan": ["a,bogus"]}, {}, "the plan of tier 'public': no variable 'bogus'"),
        ({"plan": ["a&where=b=b9"]}, {}, "the plan of tier 'public': no category of 'b'"),
        ({}, {"benchmark_totals": ["a,z"]}, "benchmark_totals: no variable 'z'"),
        # A filter is a variable too; a and b have 3 x 4 = 12 cells.
        ({"plan": ["a,b&where=c=c1"]}, {}, "at most 2 variables. a,b,c has 3"),
        ({"plan": ["a,b"], "max_table": 11}, {}, "at most 11 cells. a,b has 12"),
        ({"plan": ["a,b"], "max_table": 12}, {}, None),
        # 1,000 records: 1,100 people may be stated, and no more.
        ({"population": 1_101}, {}, "must be the size of the population"),
        ({"population": 1_100, "plan": ["a,b", "a&where=b=b1"]}, {"benchmark_totals": ["b"]}, None),
    ],
)
def test_what_a_policy_names_must_be_there(
    space: dict[str, Any], top: dict[str, Any], message: str | None
) -> None:
    version = make_version(np.random.default_rng(1), 1_000, [3, 4, 5])
    tier = {"space": space, "question": {"max_dimensions": 2}}
    policy = parse_policy({**top, "tiers": {"public": tier}}, "policy", "policy")
    if message is None:
        check_space(policy, version.schema, version.people)
        return
    with pytest.raises(ParameterError, match=message):
        check_space(policy, version.schema, version.people)
