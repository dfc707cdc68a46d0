"""The variables of the synthetic census: ids, labels, definitions and categories, in file order.

The classifications follow those of the census of England and Wales; the people and the places are
invented. Codes start at 1 (age at 0) and are positions in these lists.
"""

from __future__ import annotations

from dataclasses import dataclass

OLDEST = 100  # ages above are recorded as this one
ADULT = 16  # no occupation, qualification or marriage below


@dataclass(frozen=True, slots=True)
class Variable:
    """One column: what a reader sees and what the codes 1, 2, … mean."""

    id: str
    label: str
    definition: str
    categories: tuple[str, ...] = ()  # empty for age, whose codes are the years themselves


@dataclass(frozen=True, slots=True)
class Level:
    """A coarser grouping of a variable: label and inclusive range of codes for each group."""

    id: str
    label: str
    groups: tuple[tuple[str, int, int], ...]


VARIABLES: tuple[Variable, ...] = (
    Variable("sex", "Sex", "Sex as recorded on the census form.", ("Male", "Female")),
    Variable(
        "age",
        "Age",
        "Age in completed years on census day. People aged 100 and over are recorded as 100.",
    ),
    Variable(
        "marital_status",
        "Marital and civil partnership status",
        "Legal status on census day. People who live as a couple without being married or in a "
        "civil partnership have the status they had before. Everybody under 16 is single.",
        (
            "Never married",
            "Married",
            "In a civil partnership",
            "Separated",
            "Divorced or partnership dissolved",
            "Widowed",
        ),
    ),
    Variable(
        "activity",
        "Economic activity",
        "What a person mainly did in the week before census day. Students aged 16 and over "
        "without a job, people who look after the home and people unable to work are counted as "
        "other inactive.",
        ("In employment", "Unemployed", "Retired", "Other inactive", "Under 16"),
    ),
    Variable(
        "occupation",
        "Occupation",
        "Main job, or the last one for people who left work recently. Everybody under 16, and "
        "everybody who has not worked in the last few years, has no occupation.",
        (
            "Managers and directors",
            "Professionals",
            "Associate professionals and technicians",
            "Clerical and administrative workers",
            "Caring and personal service workers",
            "Sales and customer service workers",
            "Skilled agricultural workers",
            "Craft and skilled trades workers",
            "Plant operators and drivers",
            "Elementary occupations",
            "Armed forces",
            "Not stated or inadequately described",
            "No occupation",
        ),
    ),
    Variable(
        "education",
        "Highest level of education",
        "The highest qualification a person has completed; not asked of people under 16.",
        (
            "Under 16",
            "No qualifications",
            "Lower secondary",
            "Vocational or apprenticeship",
            "Upper secondary",
            "Post-secondary below degree",
            "Bachelor's degree",
            "Master's degree",
            "Doctorate",
        ),
    ),
    Variable(
        "citizenship",
        "Citizenship",
        "Citizenship held on census day; people with several are counted under the first of these "
        "categories that applies.",
        (
            "United Kingdom",
            "European Union",
            "Other Europe",
            "Rest of the world",
            "Stateless or not known",
        ),
    ),
    Variable(
        "country_of_birth",
        "Country of birth",
        "Country in which a person was born, in its present borders.",
        (
            "United Kingdom",
            "Ireland",
            "Poland",
            "Romania",
            "Germany",
            "Italy",
            "Other European Union",
            "Other Europe",
            "India",
            "Pakistan",
            "Bangladesh",
            "China",
            "Other Asia",
            "Nigeria",
            "Other Africa",
            "Americas and the Caribbean",
            "Oceania and elsewhere",
        ),
    ),
    Variable(
        "religion",
        "Religion",
        "The religion people say they belong to. The question is voluntary.",
        (
            "No religion",
            "Christian",
            "Buddhist",
            "Hindu",
            "Jewish",
            "Muslim",
            "Sikh",
            "Other religion",
            "Not stated",
        ),
    ),
    Variable(
        "ethnic_group",
        "Ethnic group",
        "The ethnic group people say they belong to.",
        (
            "White: British",
            "White: Irish",
            "White: Gypsy or Traveller",
            "White: Roma",
            "White: other",
            "Mixed: White and Asian",
            "Mixed: White and Black African",
            "Mixed: White and Black Caribbean",
            "Mixed: other",
            "Asian: Indian",
            "Asian: Pakistani",
            "Asian: Bangladeshi",
            "Asian: Chinese",
            "Asian: other",
            "Black: African",
            "Black: Caribbean",
            "Black: other",
            "Arab",
            "Any other ethnic group",
        ),
    ),
    Variable(
        "travel_to_work",
        "Travel to work",
        "The means used for the longest part, by distance, of the usual journey to work of people "
        "in employment.",
        (
            "Works mainly from home",
            "Tram or underground",
            "Train",
            "Bus or coach",
            "Motorcycle",
            "Driving a car or van",
            "Passenger in a car or van",
            "Bicycle",
            "On foot",
            "Taxi or other",
            "Not in employment",
        ),
    ),
    Variable(
        "health",
        "General health",
        "How people, or a parent on their behalf, rate their own health.",
        ("Very good", "Good", "Fair", "Bad", "Very bad"),
    ),
    Variable(
        "illness",
        "Limiting long-term illness",
        "Whether a health problem that has lasted, or is expected to last, at least a year limits "
        "day-to-day activities.",
        ("Limited", "Not limited"),
    ),
    Variable(
        "tenure",
        "Tenure",
        "How the household occupies its home; the same for everybody in the household.",
        ("Owned outright", "Owned with a mortgage", "Social rented", "Private rented"),
    ),
    Variable(
        "household_size",
        "Household size",
        "Number of people usually living in the household.",
        (*(f"{n} {'person' if n == 1 else 'people'}" for n in range(1, 8)), "8 or more people"),
    ),
)

# Nested: every band lies within one broad age group.
AGE_LEVELS: tuple[Level, ...] = (
    Level(
        "age_band",
        "Age in five-year bands",
        (
            *((f"{low} to {low + 4}", low, low + 4) for low in range(0, OLDEST, 5)),
            ("100 and over", OLDEST, OLDEST),
        ),
    ),
    Level(
        "age_broad",
        "Broad age group",
        (
            ("0 to 14", 0, 14),
            ("15 to 24", 15, 24),
            ("25 to 44", 25, 44),
            ("45 to 64", 45, 64),
            ("65 to 84", 65, 84),
            ("85 and over", 85, OLDEST),
        ),
    ),
)

IDS: tuple[str, ...] = tuple(variable.id for variable in VARIABLES)


def size(variable_id: str) -> int:
    """Return the number of codes of a variable (101 for age).

    >>> size("ethnic_group")
    19
    """
    categories = next(v.categories for v in VARIABLES if v.id == variable_id)
    return len(categories) or OLDEST + 1
