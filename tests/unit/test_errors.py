"""The errors a caller meets."""

from __future__ import annotations

import pytest

from discreet.errors import DiscreetError, InternalError, ParameterError, QueryRefused, unknown


@pytest.mark.parametrize("kind", [ParameterError, InternalError])
def test_all_are_of_one_family(kind: type[Exception]) -> None:
    assert issubclass(kind, DiscreetError)


def test_a_parameter_error_is_a_value_error() -> None:
    assert issubclass(ParameterError, ValueError)


def test_a_refusal_has_its_code() -> None:
    refusal = QueryRefused("SPARSE", "too sparse")
    assert isinstance(refusal, DiscreetError)
    assert (refusal.code, str(refusal)) == ("SPARSE", "too sparse")


@pytest.mark.parametrize(
    ("name", "choices", "told"),
    [
        ("agee", ["age", "sex"], "no thing 'agee'; did you mean 'age'? Choices: age, sex"),
        ("zzz", ["age", "sex"], "no thing 'zzz'; Choices: age, sex"),
        ("x", [], "no thing 'x'; Choices: none"),
        (
            "zzz",
            map(str, range(20)),
            f"no thing 'zzz'; Choices: {', '.join(map(str, range(20)))}",
        ),
        (
            "zzz",
            map(str, range(23)),
            f"no thing 'zzz'; Choices: {', '.join(map(str, range(20)))} and 3 more",
        ),
    ],
)
def test_an_unknown_name_is_told_with_the_choices(name: str, choices: list[str], told: str) -> None:
    error = unknown("thing", name, choices)
    assert isinstance(error, ParameterError)
    assert str(error) == told


def test_a_suggestion_is_not_sought_among_thousands() -> None:
    # Looking through 180,000 areas for a near name takes seconds of anyone's server.
    told = str(unknown("area", "E00000x", [f"E{i:05d}" for i in range(2_000)]))
    assert "did you mean" not in told
    assert told.endswith("and 1,980 more")


def test_a_long_name_is_cut() -> None:
    assert len(str(unknown("thing", "x" * 100_000, ["age"]))) < 200


def test_a_label_is_suggested_where_codes_are_the_choices() -> None:
    error = unknown("category of 'la'", "Avelhamm", ["1", "2"], ["Avelham", "Corvadale"])
    assert str(error) == "no category of 'la' 'Avelhamm'; did you mean 'Avelham'? Choices: 1, 2"
