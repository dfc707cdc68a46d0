"""How much truth is left in a released table. All measures are for the custodian."""

from discreet.risk.attribute import median_entropy, subgroup_entropy
from discreet.utility.association import Association, chi_square, cramers_v
from discreet.utility.average_absolute import average_absolute, average_absolute_rows
from discreet.utility.change import ChangeListing, ClassRow, change_listing, listing_text
from discreet.utility.distances import DistanceRows, distance_rows
from discreet.utility.divergence import kullback_leibler
from discreet.utility.expected import (
    expected_average_absolute,
    expected_hellinger,
    expected_hellinger_square,
    expected_relative_absolute,
    expected_score,
    expected_unchanged,
)
from discreet.utility.hellinger import (
    hellinger,
    hellinger_of_proportions,
    hellinger_rows,
    score,
)
from discreet.utility.margins import additivity_gap, margin_differences
from discreet.utility.mean_square import reciprocal_mean_square
from discreet.utility.rank_change import rank_change
from discreet.utility.relative_absolute import relative_absolute, relative_absolute_rows
from discreet.utility.rows import Rows
from discreet.utility.variance_ratio import variance_ratio

__all__ = [
    "Association",
    "ChangeListing",
    "ClassRow",
    "DistanceRows",
    "Rows",
    "additivity_gap",
    "average_absolute",
    "average_absolute_rows",
    "change_listing",
    "chi_square",
    "cramers_v",
    "distance_rows",
    "expected_average_absolute",
    "expected_hellinger",
    "expected_hellinger_square",
    "expected_relative_absolute",
    "expected_score",
    "expected_unchanged",
    "hellinger",
    "hellinger_of_proportions",
    "hellinger_rows",
    "kullback_leibler",
    "listing_text",
    "margin_differences",
    "median_entropy",
    "rank_change",
    "reciprocal_mean_square",
    "relative_absolute",
    "relative_absolute_rows",
    "score",
    "subgroup_entropy",
    "variance_ratio",
]
