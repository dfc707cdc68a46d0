"""What must hold for every person and household, and what people are like on average."""

from __future__ import annotations

import numpy as np

from discreet.synth.variables import AGE_LEVELS, IDS, OLDEST, VARIABLES, size


def code(variable: str, label: str) -> int:
    categories = next(v.categories for v in VARIABLES if v.id == variable)
    return categories.index(label) + 1


def share(condition, among):
    """The share of those among whom the condition holds; there must be some."""
    assert among.any()
    return (condition & among).sum() / among.sum()


def test_the_variables_have_the_promised_sizes():
    # sex 2, single years 0-100, marital status 6, … as in the interface.
    assert [size(name) for name in IDS] == [2, 101, 6, 5, 13, 9, 5, 17, 9, 19, 11, 5, 2, 4, 8]


def test_labels_are_unique_within_a_variable():
    for variable in VARIABLES:
        assert len(set(variable.categories)) == len(variable.categories)
        assert variable.label
        assert variable.definition.endswith(".")


def test_age_levels_cover_every_age_once_and_are_nested():
    bands, broad = AGE_LEVELS
    assert len(bands.groups) == 21
    for level in AGE_LEVELS:
        ages = [age for _, low, high in level.groups for age in range(low, high + 1)]
        assert ages == list(range(OLDEST + 1))
    for _, low, high in bands.groups:
        assert sum(a <= low and high <= b for _, a, b in broad.groups) == 1


def test_every_code_is_valid_and_every_category_occurs(country):
    for name in IDS:
        first = 0 if name == "age" else 1
        assert np.array_equal(np.unique(country[name]), np.arange(size(name)) + first), name


def test_children_are_single_and_have_neither_work_nor_qualifications(country):
    child = country["age"] < 16
    assert (country["marital_status"][child] == code("marital_status", "Never married")).all()
    assert (country["activity"][child] == code("activity", "Under 16")).all()
    assert (country["occupation"][child] == code("occupation", "No occupation")).all()
    assert (country["education"][child] == code("education", "Under 16")).all()
    assert (country["travel_to_work"][child] == code("travel_to_work", "Not in employment")).all()


def test_the_categories_for_children_hold_children_only(country):
    adult = country["age"] >= 16
    assert (country["activity"][adult] != code("activity", "Under 16")).all()
    assert (country["education"][adult] != code("education", "Under 16")).all()


def test_those_in_employment_have_an_occupation_and_a_way_to_work(country):
    employed = country["activity"] == code("activity", "In employment")
    assert (country["occupation"][employed] != code("occupation", "No occupation")).all()
    travels = country["travel_to_work"] != code("travel_to_work", "Not in employment")
    assert np.array_equal(travels, employed)


def test_things_happen_at_the_age_they_can(country):
    age = country["age"]

    def youngest(variable, label):
        return age[country[variable] == code(variable, label)].min()

    assert youngest("marital_status", "Married") >= 18
    assert youngest("marital_status", "Widowed") >= 18
    assert youngest("education", "Bachelor's degree") >= 20
    assert youngest("education", "Doctorate") >= 24
    assert youngest("activity", "Retired") >= 45
    assert youngest("travel_to_work", "Driving a car or van") >= 17
    soldiers = country["occupation"] == code("occupation", "Armed forces")
    assert age[soldiers].max() < 65


def test_household_size_counts_the_people_of_the_household(town):
    people = np.bincount(town.household)
    assert people.min() >= 1
    assert np.array_equal(town["household_size"], np.minimum(people, 8)[town.household])


def test_households_are_numbered_in_order_and_stay_in_one_area(town):
    steps = np.diff(town.household)
    assert town.household[0] == 0
    assert set(np.unique(steps)) == {0, 1}
    assert (np.diff(town.oa)[steps == 0] == 0).all()


def test_households_share_tenure_and_have_an_adult(town):
    first = np.flatnonzero(np.diff(town.household, prepend=-1))
    assert np.array_equal(town["tenure"], town["tenure"][first][town.household])
    oldest = np.zeros(len(first), dtype=np.int64)
    np.maximum.at(oldest, town.household, town["age"])
    assert oldest.min() >= 18


def test_households_share_religion_and_ethnic_group_far_more_than_neighbours_do(town):
    first = np.flatnonzero(np.diff(town.household, prepend=-1))
    other = np.setdiff1d(np.arange(len(town.household)), first)
    for name, least in (("religion", 0.8), ("ethnic_group", 0.85)):
        head = town[name][first][town.household]
        together = (town[name] == head)[other].mean()
        neighbours = (town[name][:-400] == town[name][400:]).mean()
        assert together > least
        assert together > neighbours + 0.1


def test_people_are_correlated_as_people_are(country):
    age, sex = country["age"], country["sex"]
    married = country["marital_status"] == code("marital_status", "Married")
    widowed = country["marital_status"] == code("marital_status", "Widowed")
    employed = country["activity"] == code("activity", "In employment")
    degree = country["education"] >= code("education", "Bachelor's degree")
    professional = country["occupation"] == code("occupation", "Professionals")
    bad = country["health"] >= code("health", "Bad")
    limited = country["illness"] == code("illness", "Limited")
    between = lambda low, high: (age >= low) & (age <= high)  # noqa: E731

    assert share(married, between(20, 24)) < 0.1 < 0.5 < share(married, between(45, 54))
    assert share(widowed, between(80, 100) & (sex == 2)) > 2 * share(
        widowed, between(80, 100) & (sex == 1)
    )
    assert share(employed, between(30, 50)) > 0.7 > 0.1 > share(employed, between(70, 79))
    assert share(degree, between(30, 39)) > 2 * share(degree, between(75, 84))
    assert share(professional, employed & degree) > 8 * share(professional, employed & ~degree)
    assert share(bad, between(75, 100)) > 5 * share(bad, between(0, 15))
    assert share(limited, bad) > 0.7 > 0.2 > share(limited, ~bad)


def test_areas_differ_in_religion_ethnic_group_and_age_beyond_chance(country):
    people = country.geography.persons
    for name, condition in (
        ("Muslim", country["religion"] == code("religion", "Muslim")),
        ("Indian", country["ethnic_group"] == code("ethnic_group", "Asian: Indian")),
        ("old", country["age"] >= 65),
    ):
        areas = np.bincount(country.oa, weights=condition) / people
        overall = condition.mean()
        by_chance = overall * (1 - overall) / people.mean()
        # Households alone, some 2.4 people alike, would double the variance.
        assert areas.var() > 3 * by_chance, name


def test_half_are_women_and_most_of_the_very_old(country):
    men, age = country["sex"] == 1, country["age"]
    assert 0.48 < men.mean() < 0.5  # 736,355 of 1,500,000 published
    assert 0.5 < men[age < 15].mean() < 0.53
    assert men[age >= 85].mean() < 0.42
