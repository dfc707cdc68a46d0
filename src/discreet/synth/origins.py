"""Where people come from: ethnic group, country of birth, citizenship, religion."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from discreet.types import Floats

# Ethnic groups: share in the whole country, and the cluster whose members live near each other.
ETHNIC_SHARES = (
    76.5, 1.0, 0.15, 0.2, 5.6,  # White: British, Irish, Gypsy or Traveller, Roma, other
    0.8, 0.4, 0.8, 0.8,  # Mixed: White and Asian, Black African, Black Caribbean, other
    2.8, 2.2, 0.9, 0.8, 1.4,  # Asian: Indian, Pakistani, Bangladeshi, Chinese, other
    2.5, 1.0, 0.5,  # Black: African, Caribbean, other
    0.5, 1.25,  # Arab, any other
)  # fmt: skip
# Clusters: 0 majority, 1 European, 2 travelling, 3 mixed, 4 Indian, 5 Muslim Asia, 6 East Asia,
# 7 Black, 8 Jewish and other.
ETHNIC_CLUSTER = (0, 1, 2, 1, 1, 3, 3, 3, 3, 4, 5, 5, 6, 6, 7, 7, 7, 5, 8)
CLUSTERS = 9
# Spread of the logarithm of a cluster's share between regions, authorities, wards, output areas.
CLUSTER_SPREAD = (
    (0.0, 0.0, 0.0, 0.0),
    (0.15, 0.4, 0.4, 0.35),
    (0.2, 0.6, 1.0, 1.2),
    (0.1, 0.25, 0.2, 0.2),
    (0.3, 1.0, 1.3, 1.0),
    (0.3, 1.1, 1.5, 1.2),
    (0.2, 0.7, 1.0, 1.2),
    (0.3, 0.8, 1.1, 0.8),
    (0.2, 0.7, 1.1, 1.2),
)
CLUSTER_PER_URBAN = (0.0, 0.5, -0.8, 0.4, 0.9, 1.0, 0.8, 1.0, 0.7)
CLUSTER_PER_DEPRIVATION = (0.0, 0.05, 0.4, 0.1, -0.1, 0.3, 0.0, 0.3, 0.0)

SAME_GROUP_COUPLE = 0.9
SAME_GROUP_SHARER = 0.35

# Age groups 0–15, 16–24, 25–39, 40–59, 60 and over.
BIRTH_AGE_STARTS = (0, 16, 25, 40, 60)
BORN_HERE = (
    (0.99, 0.985, 0.98, 0.98, 0.985),
    (0.8, 0.6, 0.35, 0.35, 0.2),
    (0.99, 0.985, 0.98, 0.98, 0.98),
    (0.5, 0.2, 0.05, 0.03, 0.02),
    (0.55, 0.28, 0.1, 0.1, 0.2),
    (0.93, 0.88, 0.8, 0.75, 0.7),
    (0.88, 0.8, 0.65, 0.55, 0.5),
    (0.98, 0.97, 0.95, 0.95, 0.8),
    (0.88, 0.8, 0.6, 0.5, 0.4),
    (0.78, 0.66, 0.36, 0.4, 0.06),
    (0.9, 0.82, 0.52, 0.42, 0.06),
    (0.92, 0.84, 0.46, 0.28, 0.04),
    (0.68, 0.3, 0.18, 0.2, 0.06),
    (0.72, 0.55, 0.25, 0.14, 0.04),
    (0.74, 0.52, 0.26, 0.16, 0.1),
    (0.97, 0.94, 0.85, 0.82, 0.14),
    (0.93, 0.88, 0.76, 0.72, 0.3),
    (0.68, 0.45, 0.2, 0.1, 0.05),
    (0.7, 0.5, 0.25, 0.18, 0.12),
)
# Born elsewhere: Ireland, Poland, Romania, Germany, Italy, other EU, other Europe, India, Pakistan,
# Bangladesh, China, other Asia, Nigeria, other Africa, Americas, Oceania.
BORN_ELSEWHERE = (
    (12, 1, 0.3, 22, 3, 10, 6, 3, 0.5, 0, 0.3, 9, 0.2, 12, 12, 9),
    (90, 0, 0, 1, 0, 1, 0.5, 0, 0, 0, 0, 0.5, 0, 1, 5, 1),
    (70, 2, 5, 3, 1, 8, 6, 0, 0, 0, 0, 0, 0, 0, 4, 1),
    (0, 9, 52, 2, 2, 24, 11, 0, 0, 0, 0, 0, 0, 0, 0, 0),
    (1, 27, 19, 5, 8, 22, 7, 0, 0, 0, 0, 2, 0, 3, 5, 1.5),
    (1, 0.5, 0, 6, 2, 6, 2, 22, 7, 2, 4, 32, 0, 6, 7, 2),
    (1, 0.3, 0, 4, 2, 6, 1, 0, 0, 0, 0, 1, 18, 60, 5, 1),
    (1, 0, 0, 6, 1, 3, 1, 0, 0, 0, 0, 0.5, 1, 5, 78, 2),
    (1, 0.5, 0.5, 5, 4, 12, 4, 4, 1, 0.5, 4, 14, 3, 14, 26, 4),
    (0, 0, 0, 0.5, 0.6, 3, 0.3, 76, 0.8, 0.4, 0, 4, 0.2, 13, 0.8, 0.8),
    (0, 0, 0, 0.4, 1.2, 2, 0.4, 1.6, 89, 0.2, 0, 3, 0, 2, 0.2, 0.1),
    (0, 0, 0, 0.2, 4.5, 1, 0, 1.2, 0.5, 91, 0, 1.5, 0, 0.3, 0, 0),
    (0.3, 0, 0, 0.3, 0.4, 1, 0, 0.4, 0, 0, 58, 34, 0, 1, 2, 2.5),
    (0, 0, 0, 0.8, 0.4, 3, 0.6, 5, 3, 0.8, 0.6, 82, 0, 4, 1, 1),
    (0.3, 0, 0, 0.8, 2.5, 6, 0.4, 0, 0, 0, 0, 1, 27, 61, 1, 0.2),
    (0, 0, 0, 0.4, 0, 0.8, 0, 0, 0, 0, 0, 0, 0.4, 2, 96, 0.2),
    (0.4, 0, 0, 1, 1.5, 5, 0.5, 0, 0, 0, 0, 1, 11, 40, 38, 1),
    (0, 0, 0, 1, 1, 4, 1, 0, 0.4, 0, 0, 56, 0, 37, 0.6, 0.3),
    (0.4, 1, 1.5, 2, 1.5, 8, 16, 4, 2, 0.5, 1, 42, 0.5, 10, 12, 2),
)
# A child of somebody born elsewhere is born here, by the age groups above.
CHILD_BORN_HERE = (0.74, 0.5, 0.4, 0.6, 0.6)
CHILD_BORN_HERE_OF_BORN_HERE = 0.988
SAME_BIRTH_COUPLE = 0.62

# Citizenship (United Kingdom, EU, other Europe, rest of the world, stateless or not known) by
# country of birth. Those who came long ago have mostly become citizens.
CITIZENSHIP = (
    (99.2, 0.5, 0.015, 0.25, 0.00012),
    (25, 75, 0, 0.02, 0.0006),
    (9, 91, 0.05, 0.02, 0.0012),
    (6, 93, 0.6, 0.1, 0.003),
    (62, 36, 0.6, 1.4, 0.0018),
    (22, 75, 0.6, 2.4, 0.0018),
    (24, 74, 0.5, 1.4, 0.0036),
    (60, 9, 30, 0.8, 0.021),
    (46, 2.2, 0.02, 52, 0.0012),
    (60, 3, 0.02, 37, 0.003),
    (66, 4.5, 0, 29, 0.0036),
    (32, 0.8, 0.02, 67, 0.0018),
    (54, 3, 0.1, 42, 0.03),
    (50, 3, 0.02, 47, 0.003),
    (56, 6.5, 0.05, 37, 0.024),
    (56, 4, 0.1, 40, 0.0012),
    (50, 3, 0.1, 46, 0.018),
)
NATURALISED_BY_AGE = (0.8, 0.5, 0.6, 1.7, 8.0)  # factor on the first column
CHILD_SHARES_CITIZENSHIP = 0.72

# Religion (none, Christian, Buddhist, Hindu, Jewish, Muslim, Sikh, other, not stated).
RELIGION = (
    (40, 52.8, 0.02, 0, 0.03, 0.005, 0, 0.06, 6.2),
    (18, 74, 0.1, 0, 0.05, 0.02, 0, 0.1, 7),
    (22, 64, 0.1, 0, 0, 0, 0, 0.6, 12),
    (12, 76, 0, 0, 0, 1.5, 0, 0.2, 8),
    (27, 64, 0.08, 0, 0.2, 0.3, 0, 0.08, 7),
    (48, 40, 0.4, 0.5, 0, 2.5, 0.3, 0.2, 8),
    (30, 58, 0, 0, 0.1, 4, 0, 0.2, 7),
    (42, 48, 0.1, 0, 0.05, 0.8, 0, 0.4, 8),
    (42, 43, 0.4, 0.2, 0.6, 3, 0, 0.4, 8),
    (4.5, 11.5, 0.1, 46, 0, 12, 21, 1.4, 4),
    (1, 0.8, 0, 0, 0, 93.5, 0, 0, 4.4),
    (0.8, 0.7, 0, 0.8, 0, 92.5, 0, 0, 5),
    (60, 22, 11, 0, 0, 0.2, 0, 0.2, 6),
    (13, 18, 12, 25, 0, 26, 1, 0.8, 5),
    (3.5, 82, 0, 0, 0, 9, 0, 0.2, 6),
    (19, 72, 0.1, 0, 0, 0.8, 0, 0.4, 8),
    (15, 70, 0.1, 0, 0, 6, 0, 0.4, 8),
    (5, 7, 0, 0, 0.1, 84, 0, 0.1, 5),
    (17, 32, 2, 2, 26, 8, 6, 2, 6),
)
RELIGION_BY_AGE = (1.2, 1.5, 1.4, 0.9, 0.47)  # factor on "no religion"
RELIGION_AREA_CLASSES = 5
RELIGION_PER_CLASS = 0.28  # exponent on "no religion" for each step from the middle
SAME_RELIGION_COUPLE = 0.88
SAME_RELIGION_CHILD = 0.94
SAME_RELIGION_SHARER = 0.15

_MIXED_ASIAN, _MIXED_AFRICAN, _MIXED_CARIBBEAN, _MIXED_OTHER = 5, 6, 7, 8


def group_of_child() -> NDArray[np.uint32]:
    """Return the ethnic group of a child for each pair of parents' groups."""
    groups = len(ETHNIC_SHARES)
    table = np.full((groups, groups), _MIXED_OTHER, dtype=np.uint32)
    white, asian = range(5), range(9, 14)
    for one in range(groups):
        for other in range(groups):
            pair = {one, other}
            if one == other:
                table[one, other] = one
            elif pair <= set(white):
                table[one, other] = min(pair)
            elif pair <= set(asian):
                table[one, other] = 13
            elif pair <= {14, 15, 16}:
                table[one, other] = 16
            elif pair & set(white) and pair & set(asian):
                table[one, other] = _MIXED_ASIAN
            elif pair & set(white) and 14 in pair:
                table[one, other] = _MIXED_AFRICAN
            elif pair & set(white) and pair & {15, 16}:
                table[one, other] = _MIXED_CARIBBEAN
    return table


def age_groups(ages: NDArray[np.int64]) -> NDArray[np.uint32]:
    """Return the age group (0 to 4) that birth, citizenship and religion depend on."""
    return (np.searchsorted(BIRTH_AGE_STARTS, ages, side="right") - 1).astype(np.uint32)


def birth_shares() -> Floats:
    """Return the seventeen countries of birth by ethnic group × age group."""
    here = np.array(BORN_HERE)[:, :, None]
    elsewhere = np.array(BORN_ELSEWHERE, dtype=float)
    elsewhere /= elsewhere.sum(axis=1, keepdims=True)
    return np.concatenate([here, (1 - here) * elsewhere[:, None, :]], axis=2)


def citizenship_shares() -> Floats:
    """Return the five citizenships by country of birth × age group."""
    rows = np.repeat(np.array(CITIZENSHIP)[:, None, :], len(NATURALISED_BY_AGE), axis=1)
    rows[1:, :, 0] *= NATURALISED_BY_AGE
    return rows


def religion_shares() -> Floats:
    """Return the nine religions by religious class of the area × ethnic group × age group."""
    steps = np.arange(RELIGION_AREA_CLASSES) - RELIGION_AREA_CLASSES // 2
    rows = np.repeat(np.array(RELIGION)[:, None, :], len(RELIGION_BY_AGE), axis=1)
    rows[:, :, 0] *= RELIGION_BY_AGE
    classes = np.repeat(rows[None], RELIGION_AREA_CLASSES, axis=0)
    classes[..., 0] *= np.exp(RELIGION_PER_CLASS * steps)[:, None, None]
    return classes
