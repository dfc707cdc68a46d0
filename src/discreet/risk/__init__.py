"""Disclosure risk of a table of counts, before and after protection.

Everything here is for the custodian except `public_quality`, `public_gate` and `possible_range`,
which take the released table and the description of the method alone.
"""

from discreet.risk.after import (
    after,
    after_as_printed,
    conditional_entropy,
    conditional_entropy_as_printed,
)
from discreet.risk.attribute import (
    LineShares,
    SmallCells,
    attribute_disclosure,
    identity_disclosure,
    median_entropy,
    small_share,
    subgroup_entropy,
    unchanged_small_records,
    unchanged_small_records_swapped,
)
from discreet.risk.before import SPLIT_WEIGHTS, WEIGHTS, Risk, SplitRisk, before, before_split
from discreet.risk.cell import (
    Audit,
    CellRisk,
    audit,
    cell_risk,
    entropy_risk,
    insider_range,
    perturbed_range,
    rounded_range,
)
from discreet.risk.channel import after_channel, averaged_channel, channel_entropy
from discreet.risk.expected import (
    expected_after_transition,
    expected_unchanged_small,
    expected_zeros_after,
)
from discreet.risk.posterior import Posterior, posterior
from discreet.risk.public import (
    Estimate,
    PublicQuality,
    possible_range,
    public_gate,
    public_quality,
)
from discreet.risk.rows import (
    RowTerms,
    after_rows,
    after_transition_rows,
    before_rows,
    slices,
    term_rows,
)
from discreet.risk.sensitivity import (
    closest_estimate,
    dominance,
    p_percent,
    prior_posterior,
    threshold,
)
from discreet.risk.simulate import Simulated, simulated
from discreet.risk.slots import RowValues
from discreet.risk.transition import (
    Contents,
    RiskAfter,
    SplitRiskAfter,
    after_swapping,
    after_transition,
    after_transition_split,
    mean_diagonal,
)

__all__ = [
    "SPLIT_WEIGHTS",
    "WEIGHTS",
    "Audit",
    "CellRisk",
    "Contents",
    "Estimate",
    "LineShares",
    "Posterior",
    "PublicQuality",
    "Risk",
    "RiskAfter",
    "RowTerms",
    "RowValues",
    "Simulated",
    "SmallCells",
    "SplitRisk",
    "SplitRiskAfter",
    "after",
    "after_as_printed",
    "after_channel",
    "after_rows",
    "after_swapping",
    "after_transition",
    "after_transition_rows",
    "after_transition_split",
    "attribute_disclosure",
    "audit",
    "averaged_channel",
    "before",
    "before_rows",
    "before_split",
    "cell_risk",
    "channel_entropy",
    "closest_estimate",
    "conditional_entropy",
    "conditional_entropy_as_printed",
    "dominance",
    "entropy_risk",
    "expected_after_transition",
    "expected_unchanged_small",
    "expected_zeros_after",
    "identity_disclosure",
    "insider_range",
    "mean_diagonal",
    "median_entropy",
    "p_percent",
    "perturbed_range",
    "possible_range",
    "posterior",
    "prior_posterior",
    "public_gate",
    "public_quality",
    "rounded_range",
    "simulated",
    "slices",
    "small_share",
    "subgroup_entropy",
    "term_rows",
    "threshold",
    "unchanged_small_records",
    "unchanged_small_records_swapped",
]
