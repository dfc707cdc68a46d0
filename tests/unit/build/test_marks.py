"""What is kept of the records behind a base: how many changed, and no more."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from numpy.typing import NDArray

import discreet as dc
from discreet.build import build
from discreet.build.marks import EACH, MOST, TOLD, Marks
from discreet.cli.attack import check_originals
from discreet.errors import ParameterError
from discreet.release.public_file import write_base
from populations import make_version
from stores import write_town

PEOPLE = 20_000
CODES = ("1", "2", "3")


def words(number: int = PEOPLE) -> NDArray[np.uint64]:
    return np.random.default_rng(1).integers(0, 2**63, number).astype(np.uint64)


def health(number: int = PEOPLE) -> NDArray[np.int64]:
    return np.random.default_rng(2).integers(0, 3, number)


def marks(people: NDArray[np.uint64], codes: NDArray[np.int64]) -> Marks:
    return Marks.of(people, {"health": (codes, CODES)})


def test_the_same_records_in_any_order_do_not_differ() -> None:
    order = np.random.default_rng(3).permutation(PEOPLE)
    again = marks(words()[order], health()[order])
    assert again.apart(marks(words(), health())) == 0
    assert Marks.from_dict(again.as_dict()).apart(again) == 0


def test_one_person_fewer_is_one_that_differs() -> None:
    assert marks(words()[1:], health()[1:]).apart(marks(words(), health())) == 1


def test_a_changed_record_counts_twice() -> None:
    changed = health()
    changed[0] = (changed[0] + 1) % 3
    assert marks(words(), changed).apart(marks(words(), health())) == 2


@pytest.mark.parametrize("left", [50, 200, 400])
def test_many_are_told_about(left: int) -> None:
    # 256 buckets; the number of those hit has a standard error of some 10 changes at 200.
    found = marks(words()[left:], health()[left:]).apart(marks(words(), health()))
    assert abs(found - left) < 0.25 * left


def test_editions_of_other_sizes_are_comparable() -> None:
    fewer = marks(words()[15_000:], health()[15_000:])
    assert len(fewer.records) < len(marks(words(), health()).records)
    assert fewer.apart(marks(words(), health())) > 1_000
    assert fewer.apart(fewer) == 0


def test_other_codes_are_no_other_people() -> None:
    recoded = Marks.of(words(), {"health": (health(), ("a", "b", "c"))})
    assert recoded.apart(marks(words(), health())) == 0
    recoded = Marks.of(words()[1:], {"health": (health()[1:], ("a", "b", "c"))})
    assert recoded.apart(marks(words(), health())) == 1


def test_codes_are_known_by_their_names_not_their_numbers() -> None:
    other = Marks.of(words(), {"health": (2 - health(), CODES[::-1])})
    assert other.apart(marks(words(), health())) == 0


@pytest.mark.parametrize("number", [1, 49, 200, 5_000, 300_000])
def test_a_bucket_holds_many(number: int) -> None:
    buckets = len(marks(words(number), health(number)).records)
    assert buckets == 1 or number / buckets >= EACH
    assert buckets <= MOST


def test_all_differ() -> None:
    assert marks(words() + np.uint64(1), health()).apart(marks(words(), health())) == TOLD


def test_attacks_on_a_base_need_the_originals(tmp_path: Path) -> None:
    version = make_version(np.random.default_rng(1), 10, [2])
    base = replace(version, manifest={**version.manifest, "protected_beforehand": ["base"]})
    with pytest.raises(ParameterError, match="must be attacked with --originals"):
        check_originals(base, False, None)
    check_originals(base, False, tmp_path)
    check_originals(version, False, None)


@pytest.mark.slow
def test_a_base_of_a_few_people_fewer_is_refused(tmp_path: Path) -> None:
    description = write_town(tmp_path / "town", 4_000, policy="preset:protected-base")
    text = description.read_text()
    description.write_text(f'{text}[[protect]]\nmethod = "base"\nwithin = "district"\n')
    build(description, tmp_path / "store")
    dc.open(tmp_path / "store").release("sex")
    path = tmp_path / "town" / "people.parquet"
    people = pq.read_table(path)
    pq.write_table(people.slice(1), path)
    with pytest.raises(ParameterError, match=r"at least (39|40) records .* Here about 1 differ"):
        build(description, tmp_path / "store")
    pq.write_table(people.slice(400), path)
    built = build(description, tmp_path / "store")
    # Rows of the file are in the order of their codes, not of the store.
    (file, _) = write_base(tmp_path / "store", tmp_path / "base.parquet")
    rows = pq.read_table(file)
    numbers = zip(
        *(rows[name].combine_chunks().indices.to_pylist() for name in rows.column_names),
        strict=True,
    )
    assert (listed := list(numbers)) == sorted(listed)
    assert any("Edition 2: about " in note for note in built.notes)
