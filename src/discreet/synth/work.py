"""What people learn and do: education, economic activity, occupation, travel to work, health."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.synth.shares import AGES, DEPRIVATION, by_age, rows_by_age
from discreet.synth.variables import ADULT
from discreet.types import Floats

# Education without the category "Under 16": none, lower secondary, vocational, upper secondary,
# post-secondary, bachelor, master, doctorate. Each cohort kept what it had learnt by about 30.
EDUCATION = rows_by_age(
    {
        16: (12, 86, 1, 1, 0, 0, 0, 0),
        17: (10, 68, 4, 18, 0, 0, 0, 0),
        18: (9, 40, 7, 44, 0, 0, 0, 0),
        19: (9, 29, 8, 53, 1, 0, 0, 0),
        20: (8, 27, 9, 52, 3, 0.5, 0, 0),
        21: (8, 25, 9, 44, 4, 10, 0, 0),
        22: (8, 24, 9, 34, 5, 19, 1, 0),
        23: (8, 23, 9, 28, 6, 23, 3, 0),
        25: (8, 22, 9, 22, 7, 26, 6, 0.1),
        30: (8, 20, 9, 17, 9, 26, 10, 1),
        40: (10, 21, 10, 15, 10, 22, 10.5, 1.5),
        50: (13, 25, 12, 15, 10, 16, 7.5, 1.5),
        60: (19, 27, 13, 13, 9, 12.5, 5.2, 1.3),
        70: (32, 24, 13, 9, 8, 9.5, 3.6, 0.9),
        80: (47, 20, 12, 6, 6, 6.2, 2.2, 0.6),
        90: (56, 17, 11, 5, 5, 4.5, 1.2, 0.3),
        100: (60, 16, 11, 4, 5, 3.5, 0.5, 0.1),
    }
)
EDUCATION_RANK = (-1.1, -0.6, -0.2, 0.1, 0.3, 0.8, 1.0, 1.1)
EDUCATION_PER_DEPRIVATION = -0.3
# Men against women: the old women of today seldom studied, the young ones do so more often.
EDUCATION_OF_MEN = by_age({20: -0.16, 40: -0.08, 55: 0.05, 70: 0.25, 100: 0.4})

SAME_EDUCATION_COUPLE = 0.3  # beyond what age and area bring about

# Share in employment and, of those with or seeking work, unemployed.
EMPLOYED = (
    by_age({15: 0, 16: 0.16, 18: 0.42, 20: 0.56, 23: 0.73, 27: 0.85, 35: 0.9, 48: 0.89, 55: 0.83,
            60: 0.68, 64: 0.45, 66: 0.22, 70: 0.09, 75: 0.02, 79: 0.005, 80: 0}),
    by_age({15: 0, 16: 0.19, 18: 0.45, 20: 0.57, 23: 0.72, 27: 0.78, 35: 0.76, 48: 0.8, 55: 0.73,
            60: 0.54, 64: 0.32, 66: 0.14, 70: 0.045, 75: 0.008, 79: 0.002, 80: 0}),
)  # fmt: skip
UNEMPLOYED = by_age({16: 0.36, 18: 0.26, 21: 0.16, 25: 0.09, 35: 0.052, 50: 0.042, 64: 0.04,
                     66: 0.02, 70: 0.008, 74: 0})  # fmt: skip
# Of people without work and not seeking any, the share that is retired.
RETIRED = by_age({44: 0, 45: 0.01, 50: 0.05, 55: 0.24, 60: 0.58, 65: 0.9, 70: 0.965, 80: 0.985})
WORK_BY_EDUCATION = (-0.75, -0.15, 0.1, 0.05, 0.2, 0.35, 0.4, 0.45)  # log-odds of employment
WORK_WITH_YOUNG_CHILD = (0.1, -0.75)  # log-odds for a parent, by sex
WORK_PER_DEPRIVATION = -0.17
UNEMPLOYED_PER_DEPRIVATION = 0.25

# Occupation by education, people aged 35 to 49: managers, professionals, associates, clerical,
# caring, sales, agriculture, craft, plant, elementary, armed forces, not stated.
OCCUPATION = (
    (5, 0, 0, 2.5, 10, 9, 1.6, 17, 18, 36, 0, 0.8),
    (7, 0, 6, 11, 13, 12, 1.2, 16, 13, 20, 0.4, 0.7),
    (8, 0, 12, 6, 8, 5, 1.5, 40, 13, 7, 0, 0.5),
    (10, 4, 16, 16, 11, 13, 0.8, 9, 6, 12, 0.9, 0.6),
    (13, 17, 20, 12, 9, 5, 0.7, 9, 5, 6, 0.5, 0.4),
    (17, 45, 19, 9, 3.5, 4, 0, 1, 0, 1, 0.25, 0.3),
    (18, 65, 13, 3, 0.5, 0.1, 0, 0, 0, 0, 0, 0.2),
    (9, 85, 6, 0, 0, 0, 0, 0, 0, 0, 0, 0),
)
OCCUPATION_OF_MEN = (1.25, 0.95, 1.05, 0.4, 0.32, 0.7, 1.7, 1.85, 1.75, 1.05, 1.85, 1)
OCCUPATION_OF_WOMEN = (0.75, 1.05, 0.95, 1.6, 1.7, 1.3, 0.22, 0.12, 0.16, 0.95, 0.15, 1)
# Age groups 16–19, 20–24, 25–34, 35–49, 50–64, 65 and over.
OCCUPATION_AGE_STARTS = (16, 20, 25, 35, 50, 65)
OCCUPATION_BY_AGE = (
    (0.03, 0, 0.25, 0.7, 1.2, 3.2, 0.8, 0.7, 0.1, 2.6, 1.2, 1),
    (0.3, 0.6, 0.8, 1, 1.3, 2, 0.7, 0.9, 0.5, 1.6, 2.2, 1),
    (0.75, 1.1, 1.1, 1, 1, 1.1, 0.7, 0.95, 0.8, 1, 1.9, 1),
    (1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1),
    (1.1, 0.9, 0.9, 1.1, 1, 0.9, 1.3, 1.05, 1.3, 1.05, 0.15, 1),
    (1.4, 0.9, 0.7, 1.2, 0.8, 1, 3, 0.9, 1.2, 1.1, 0, 1),
)
# Share with a recent last occupation, by age: unemployed, retired, other inactive.
LAST_OCCUPATION = (
    by_age({16: 0.1, 18: 0.35, 22: 0.7, 30: 0.85, 100: 0.9}),
    by_age({45: 0.9, 60: 0.75, 65: 0.4, 69: 0.06, 71: 0}),
    by_age({17: 0, 20: 0.03, 30: 0.05, 55: 0.05, 63: 0.02, 65: 0}),
)

# Travel to work (home, tram, train, bus, motorcycle, driver, passenger, bicycle, foot, other) by
# kind of area: rural, town, city.
TRAVEL = (
    (9, 0.2, 2, 2.5, 0.6, 68, 5.5, 1.6, 9.5, 0.8),
    (5, 1, 4, 8, 0.7, 60, 6, 3, 11.5, 0.9),
    (5, 9, 10, 16, 1, 35, 4, 4.5, 14, 1.2),
)
TRAVEL_FROM_HOME = (1.9, 1.3, 1.5, 0.8, 0.6, 0.4, 4.5, 0.6, 0.15, 0.15, 0.2, 1)
TRAVEL_BY_RAIL = (1.5, 1.6, 1.4, 1.2, 0.5, 0.7, 0.05, 0.5, 0.3, 0.5, 0.4, 1)
TRAVEL_UNDER_17 = (0.3, 1, 1, 2.5, 0.5, 0, 3, 2.5, 3, 1)

# Health (very good … very bad) by age; deprivation and inactivity shift it.
HEALTH = rows_by_age(
    {
        0: (82, 15, 2.4, 0.4, 0.2),
        15: (78, 18.5, 2.8, 0.5, 0.2),
        25: (64, 30, 4.6, 1.1, 0.3),
        40: (53, 35, 9, 2.4, 0.6),
        55: (38, 38, 17, 5.4, 1.6),
        65: (28, 40, 23, 7, 2),
        75: (17, 40, 31, 9.5, 2.5),
        85: (10, 34, 39, 13, 4),
        100: (7, 27, 43, 17, 6),
    }
)
HEALTH_RANK = (-1, -0.4, 0.4, 1, 1.3)
HEALTH_PER_DEPRIVATION = 0.14
HEALTH_OF_INACTIVE = 0.75
LIMITED = np.array([[0.012, 0.05, 0.4, 0.82, 0.93], [0.03, 0.12, 0.58, 0.9, 0.97]])


def _logit_shift(share: Floats, shift: ArrayLike) -> Floats:
    """Return shares moved by log-odds; 0 and 1 stay."""
    moved = share * np.exp(np.asarray(shift))
    return np.asarray(moved / (moved + 1 - share))


def education_shares() -> Floats:
    """Return the nine levels by sex × deprivation × age; under 16 only the first."""
    rows = np.zeros((2, len(DEPRIVATION), len(AGES), 9))
    rank = np.array(EDUCATION_RANK)
    for sex, sign in enumerate((1, -1)):
        lean = sign * EDUCATION_OF_MEN / 2 + EDUCATION_PER_DEPRIVATION * DEPRIVATION[:, None]
        rows[sex, :, :, 1:] = EDUCATION * np.exp(lean[:, :, None] * rank)
    rows[:, :, AGES < ADULT, 0] = 1
    rows[:, :, AGES < ADULT, 1:] = 0
    return rows


def youngest_by_education() -> NDArray[np.uint32]:
    """Return the lowest age at which each of the nine levels occurs."""
    held = np.column_stack([AGES < ADULT, (EDUCATION > 0) & (AGES >= ADULT)[:, None]])
    return np.asarray(np.argmax(held, axis=0), dtype=np.uint32)


def activity_shares() -> Floats:
    """Return the five activities by sex × education × young child × deprivation × age."""
    rows = np.zeros((2, 9, 2, len(DEPRIVATION), len(AGES), 5))
    for sex in range(2):
        for education in range(1, 9):
            for child in range(2):
                shift = WORK_BY_EDUCATION[education - 1] + child * WORK_WITH_YOUNG_CHILD[sex]
                lean = shift + WORK_PER_DEPRIVATION * DEPRIVATION[:, None]
                work = _logit_shift(EMPLOYED[sex], lean)
                seek = _logit_shift(UNEMPLOYED, UNEMPLOYED_PER_DEPRIVATION * DEPRIVATION[:, None])
                # Seekers are a share of those with or seeking work, so work · u / (1 - u).
                seek = np.minimum(work * seek / (1 - seek), 0.6 * (1 - work))
                rest = 1 - work - seek
                rows[sex, education, child, :, :, :4] = np.stack(
                    [work, seek, rest * RETIRED, rest * (1 - RETIRED)], axis=-1
                )
    rows[..., AGES < ADULT, :] = (0, 0, 0, 0, 1)
    rows[:, 0, :, :, :, :] = (0, 0, 0, 0, 1)
    return rows


def occupation_shares() -> Floats:
    """Return the twelve occupations by sex × education (all nine) × age group."""
    sexes = np.array([OCCUPATION_OF_MEN, OCCUPATION_OF_WOMEN])
    rows = np.ones((2, 9, len(OCCUPATION_BY_AGE), 12))  # the row of "Under 16" is never drawn
    rows[:, 1:] = np.einsum(
        "so,eo,go->sego", sexes, np.array(OCCUPATION), np.array(OCCUPATION_BY_AGE)
    )
    return rows


def occupation_age_groups() -> NDArray[np.uint32]:
    """Return the age group of `occupation_shares` for each age."""
    groups = np.searchsorted(OCCUPATION_AGE_STARTS, AGES, side="right")
    return (groups.clip(1) - 1).astype(np.uint32)


def last_occupation_chances() -> Floats:
    """Return the share with an occupation by activity × age (all of those in employment)."""
    return np.stack(
        [(AGES >= ADULT) * 1.0, *((AGES >= ADULT) * row for row in LAST_OCCUPATION), AGES * 0.0]
    )


def travel_shares() -> Floats:
    """Return the ten means of travel by area kind × occupation × (under 17 or not)."""
    rows = np.repeat(np.array(TRAVEL)[:, None, :], 12, axis=1)
    rows[:, :, 0] *= TRAVEL_FROM_HOME
    rows[:, :, 2] *= TRAVEL_BY_RAIL
    return np.stack([rows, rows * np.array(TRAVEL_UNDER_17)], axis=2)


def health_shares() -> Floats:
    """Return the five health categories by (inactive or not) × deprivation × age."""
    lean = HEALTH_PER_DEPRIVATION * DEPRIVATION + HEALTH_OF_INACTIVE * np.arange(2)[:, None]
    return np.asarray(
        HEALTH * np.exp(lean[:, :, None, None] * np.array(HEALTH_RANK)),
    )
