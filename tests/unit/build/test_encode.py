"""Values to codes and numbers, and the sentences about those that are neither."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from discreet.build import encode
from discreet.build.encode import CodeEncoder, Findings, NumberReader, text_bytes
from discreet.build.source import Batch
from discreet.errors import ParameterError

if TYPE_CHECKING:
    from conftest import Folder

CODES = st.one_of(
    st.text(min_size=1, max_size=8),
    st.integers().map(str),
    st.integers(0, 99).map("{:03}".format),
    st.sampled_from(['"', "a,b", "x\ny", "\r", "''", " ", "-0", "1_0", "é" * 500, "\ufeffa", "١"]),
)


def batch(values: pa.Array, first: int = 1) -> Batch:
    return Batch(Path("p.csv"), first, {"a": values}, len(values))


def encoded(codes: list[str], values: pa.Array, dtype: type = np.uint16) -> tuple[Any, Findings]:
    findings = Findings()
    found = CodeEncoder("a", "a", tuple(codes), dtype).encode(batch(values), findings)
    return found, findings


def told(findings: Findings) -> str:
    with pytest.raises(ParameterError) as caught:
        findings.end()
    return str(caught.value)


@settings(deadline=None)  # kernels are loaded in the first example
@given(st.lists(CODES, min_size=1, max_size=50, unique=True), st.data())
@example(["9" * 5000, "1"], None)
def test_decoding_gives_back_what_was_encoded(codes: list[str], data: Any) -> None:
    values = codes if data is None else data.draw(st.lists(st.sampled_from(codes), max_size=30))
    index, findings = encoded(codes, pa.array(values, pa.string()))
    assert [codes[i] for i in index.tolist()] == values
    findings.end()


@settings(deadline=None)
@given(
    st.lists(st.integers(-(2**63), 2**64 - 1), min_size=1, max_size=20, unique=True),
    st.sampled_from(["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]),
    st.data(),
)
def test_integers_are_encoded_as_their_texts_would_be(
    numbers: list[int], name: str, data: Any
) -> None:
    limits = np.iinfo(name)
    inside = st.integers(int(limits.min), int(limits.max))
    held = st.one_of(
        inside, st.sampled_from(numbers).filter(lambda n: limits.min <= n <= limits.max)
    )
    values = data.draw(
        st.lists(
            held if any(limits.min <= n <= limits.max for n in numbers) else inside, max_size=20
        )
    )
    codes = [str(n) for n in numbers]
    index, findings = encoded(codes, pa.array(values, name))
    as_text, expected = encoded(codes, pa.array([str(v) for v in values], pa.string()))
    assert index.tolist() == as_text.tolist()
    assert bool(findings) == bool(expected) == any(v not in numbers for v in values)


def test_a_number_beyond_eight_signed_bytes_is_not_its_negative_twin() -> None:
    _, findings = encoded(["-1", "0"], pa.array([0, 2**64 - 1], pa.uint64()))
    assert told(findings) == (
        "the data do not fit their description: p.csv, column 'a': not a category of 'a' "
        "(-1, 0): row 2 '18446744073709551615'"
    )


def test_leading_zeros_are_part_of_a_code() -> None:
    index, findings = encoded(["1", "01", "001"], pa.array(["001", "1", "01"]))
    assert index.tolist() == [2, 0, 1]
    findings.end()


def test_the_first_five_are_shown_and_the_others_counted() -> None:
    findings = Findings()
    encoder = CodeEncoder("a", "a", tuple("abcdefghij"), np.uint8)
    encoder.encode(batch(pa.array(["a", "?", "b", "!"])), findings)
    encoder.encode(batch(pa.array([*["x"] * 1000, None]), first=5), findings)
    assert told(findings) == (
        "the data do not fit their description: \n"
        "  - p.csv, column 'a': not a category of 'a' (a, b, c, d, e, f, g, h, …): row 2 '?', "
        "row 4 '!', row 5 'x', row 6 'x', row 7 'x' and 997 more\n"
        "  - p.csv, column 'a': missing values: row 1005"
    )


def test_exactly_five_are_all_shown() -> None:
    _, findings = encoded(["a"], pa.array(["b"] * 5))
    assert told(findings).endswith("row 1 'b', row 2 'b', row 3 'b', row 4 'b', row 5 'b'")


@pytest.mark.parametrize("values", [["7", "007"], [7, 7]])
def test_numbers(values: list[Any]) -> None:
    findings = Findings()
    found = NumberReader("a", "count", 2**32).read(batch(pa.array(values)), findings)
    assert found.tolist() == [7, 7]
    findings.end()


@pytest.mark.parametrize(
    ("values", "bad"),
    [
        (pa.array(["0", "-1", "2"]), "row 2 '-1'"),
        (pa.array(["0", "1.5", "2"]), "row 2 '1.5'"),
        (pa.array(["0", "1e3", "x", " 1"]), "row 2 '1e3', row 3 'x', row 4 ' 1'"),
        (pa.array(["0", "1\n"]), "row 2 '1\\n'"),
        (pa.array(["0", "٣"]), "row 2 '٣'"),
        (pa.array(["4294967295", "4294967296"]), "row 2 '4294967296'"),
        (pa.array(["0", "9" * 19, "9" * 30]), f"row 2 '{'9' * 19}', row 3 '{'9' * 30}'"),
        (pa.array([0, -1, 2]), "row 2 '-1'"),
        (pa.array([0, 2**64 - 1], pa.uint64()), f"row 2 '{2**64 - 1}'"),
        (pa.array([0, 2**32], pa.int64()), f"row 2 '{2**32}'"),
        (pa.array([0, -1], pa.int8()), "row 2 '-1'"),
    ],
)
def test_bad_numbers_are_told(values: pa.Array, bad: str) -> None:
    findings = Findings()
    found = NumberReader("a", "count", 2**32).read(batch(values), findings)
    assert told(findings) == (
        "the data do not fit their description: p.csv, column 'a': not a count, a whole number "
        f"from 0 to 4294967295: {bad}"
    )
    assert found[0] == (0 if values[0].as_py() in (0, "0") else 2**32 - 1)


def test_ids_are_hashed_as_texts_whatever_their_type() -> None:
    for values in (pa.array([1, 22, -3]), pa.array(["1", "22", "-3"])):
        data, places = text_bytes(values)
        assert bytes(data) == b"122-3"
        assert places.tolist() == [0, 1, 3, 5]


def test_a_slice_of_ids_has_its_own_places() -> None:
    data, places = text_bytes(pa.array(["a", "bc", None, "é"]).slice(1))
    texts = [bytes(data[i:j]).decode() for i, j in pairwise(places)]
    assert texts == ["bc", "", "é"]


# Hypercubes and keys, through a whole build.

CUBE = 'source = {{ files = {files}, count = "n"{more} }}\n[variables]\na = {{ range = [0, 9] }}\n'


def cube(folder: Folder, text: str, more: str = "") -> Folder:
    folder.write("c.csv", text)
    return folder.describe(CUBE.format(files='"c.csv"', more=more))


def test_a_hypercube_keeps_its_counts(folder: Folder) -> None:
    version = cube(folder, "a,n\n0,5\n1,0\n2,4294967290\n").version()
    assert version.counts is not None
    assert version.counts.tolist() == [5, 0, 4294967290]
    assert version.rows == 3
    assert version.manifest["hypercube"] is True


@pytest.mark.parametrize(
    ("value", "told"),
    [("-1", "-1"), ("0.5", "0.5"), ("4294967296", "4294967296"), ("many", "many")],
)
def test_a_bad_count_is_told(folder: Folder, value: str, told: str) -> None:
    assert cube(folder, f"a,n\n0,5\n1,{value}\n").refused() == (
        "the data do not fit their description: c.csv, column 'n': not a count, a whole number "
        f"from 0 to 4294967295: row 2 '{told}'"
    )


def test_a_missing_count_is_told(folder: Folder) -> None:
    assert cube(folder, "a,n\n0,5\n1,\n").refused() == (
        "the data do not fit their description: c.csv, column 'n': missing values: row 2"
    )


def test_counts_beyond_four_bytes_in_total_are_refused(folder: Folder) -> None:
    told = cube(folder, "a,n\n0,4294967290\n1,6\n").refused()
    assert told == "the counts must add up to at most 4,294,967,295. They are more."
    assert cube(folder, "a,n\n0,4294967290\n1,5\n").version().rows == 2


def test_a_cell_in_two_files_is_refused(folder: Folder) -> None:
    folder.write("at.csv", "a,n\n0,5\n1,5\n").write("be.csv", "a,n\n2,5\n1,5\n")
    folder.describe(CUBE.format(files='["at.csv", "be.csv"]', more=""))
    assert folder.refused() == (
        "a hypercube must hold each cell once; these rows have the same categories. Again: "
        "at.csv, row 2, be.csv, row 2."
    )


def test_key_sums_of_a_hypercube_are_reduced(folder: Folder) -> None:
    more = ', key = { column = "k", modulus = 256 }'
    version = cube(folder, f"a,n,k\n0,5,255\n1,5,256\n2,5,1023\n3,9,{2**63 - 1}\n", more).version()
    # 256 = 0, 1023 = 3 · 256 + 255 and 2^63 − 1 = 255, all modulo 256.
    assert version.keys.tolist() == [255, 0, 255, 255]
    assert version.modulus == 256


@pytest.mark.parametrize("form", ["csv", "parquet"])
@pytest.mark.parametrize("modulus", [2**32, 256, 10**8])
def test_given_keys_are_kept_exactly(folder: Folder, modulus: int, form: str) -> None:
    keys = [0, 1, modulus - 1]
    if form == "csv":
        folder.write("p.csv", "a,k\n" + "".join(f"1,{key}\n" for key in keys))
    else:
        folder.write("p.parquet", pa.table({"a": [1, 1, 1], "k": np.array(keys, np.uint64)}))
    folder.describe(
        f'source = {{ files = "p.{form}", key = {{ column = "k", modulus = {modulus} }} }}\n'
        "[variables]\na = { range = [0, 9] }\n"
    )
    version = folder.version()
    assert version.keys.tolist() == keys
    assert (version.modulus, version.manifest["keys"]) == (modulus, "given")


def fractions(folder: Folder, form: str, keys: list[float]) -> Folder:
    if form == "csv":
        folder.write("p.csv", "a,k\n" + "".join(f"1,{key}\n" for key in keys))
    else:
        folder.write("p.parquet", pa.table({"a": [1] * len(keys), "k": keys}))
    return folder.describe(
        f'source = {{ files = "p.{form}", key = {{ column = "k", modulus = 1 }} }}\n'
        "[variables]\na = { range = [0, 9] }\n"
    )


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_keys_of_cellkey_are_taken_as_they_are(folder: Folder, form: str) -> None:
    # Eight decimals, as ck_generate_rkeys has them, and R's way to write a small number; it may
    # round to 1, which is 0 modulo 1.
    version = fractions(folder, form, [0.12345678, 0.99999999, 1e-05, 0, 1]).version()
    assert version.keys.tolist() == [123_456_780, 999_999_990, 10_000, 0, 0]
    assert (version.modulus, version.manifest["keys"]) == (10**9, "given")


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_keys_that_are_no_fractions_are_told(folder: Folder, form: str) -> None:
    told = fractions(folder, form, [0.5, 1.5, -0.25, 0.1234567891, float("nan")]).refused()
    assert "not a key, a number from 0 up to 1 of at most nine decimals: row 2 '1.5'" in told
    assert "row 3 '-0.25', row 4 '0.1234567891', row 5 'nan'" in told


def test_sums_of_fractions_are_reduced(folder: Folder) -> None:
    more = ', key = { column = "k", modulus = 1 }'
    # 0.1 + 0.2 is 0.30000000000000004 in floating point.
    version = cube(folder, "a,n,k\n0,5,2.25\n1,2,0.30000000000000004\n", more).version()
    assert version.keys.tolist() == [250_000_000, 300_000_000]


@pytest.mark.parametrize("modulus", [2**32, 256, 10**8])
def test_a_key_of_at_least_the_modulus_is_told(folder: Folder, modulus: int) -> None:
    folder.write("p.csv", f"a,k\n1,0\n1,{modulus}\n1,-1\n1,\n")
    folder.describe(
        f'source = {{ files = "p.csv", key = {{ column = "k", modulus = {modulus} }} }}\n'
        "[variables]\na = { range = [0, 9] }\n"
    )
    assert folder.refused() == (
        "the data do not fit their description: \n"
        "  - p.csv, column 'k': missing values: row 4\n"
        f"  - p.csv, column 'k': not a key, a whole number from 0 to {modulus - 1}: "
        f"row 2 '{modulus}', row 3 '-1'"
    )


def test_wide_columns_hold_65535_categories_and_no_more(folder: Folder) -> None:
    folder.write("p.parquet", pa.table({"id": range(65_535), "a": range(65_535)}))
    folder.describe(
        'source = { files = "p.parquet", record_id = "id" }\n'
        '[variables]\na = { categories = "from data" }\n'
    )
    version = folder.version()
    assert version.column(version.schema.columns[0]).tolist() == list(range(65_535))
    folder.write("p.parquet", pa.table({"id": range(65_536), "a": range(65_536)}))
    assert folder.refused() == (
        "column 'a' must have at most 65,535 categories, the most a column can hold. It has "
        "more; is it a variable?"
    )


@pytest.mark.parametrize("categories", [1, 255, 256, 257])
def test_one_byte_or_two(folder: Folder, categories: int) -> None:
    values = [*range(categories), 0]
    folder.write("p.parquet", pa.table({"id": range(len(values)), "a": values}))
    folder.describe(
        'source = { files = "p.parquet", record_id = "id" }\n'
        f"[variables]\na = {{ range = [0, {categories - 1}] }}\n"
    )
    version = folder.version()
    column = version.column(version.schema.columns[0])
    assert column.tolist() == values
    assert column.dtype == (np.uint8 if categories <= 255 else np.uint16)


@pytest.mark.parametrize("kind", [pa.int8(), pa.uint8(), pa.int16(), pa.int32(), pa.int64()])
def test_whole_numbers_in_a_row_are_counted_from_the_lowest(kind: pa.DataType) -> None:
    values = pa.array([100, 98, 99, 98], kind)
    codes, findings = encoded(["98", "99", "100"], values, np.uint8)
    assert (codes.tolist(), bool(findings)) == ([2, 0, 1, 0], False)
    codes, findings = encoded(["98", "99"], values, np.uint8)
    assert codes.tolist() == [0, 0, 1, 0]
    assert "row 1 '100'" in told(findings)
    # From −2 on: what is below 0 as a number must not be far above it as a code.
    below = [str(code) for code in range(-2, 101)]
    assert encoded(below, values, np.uint8)[0].tolist() == [102, 100, 101, 100]


def test_many_whole_numbers_are_the_texts_that_arrow_writes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    numbers = [0, 7, -1, 10, 99, -100, 10**18, 2**63 - 1, -(2**63), 999_999_999, -(10**18) + 1]
    monkeypatch.setattr(encode, "SMALL", -1)
    data, offsets = text_bytes(pa.array(numbers, pa.int64()))
    raw = data.tobytes()
    assert [raw[a:b].decode() for a, b in pairwise(offsets.tolist())] == list(map(str, numbers))
    data, offsets = text_bytes(pa.array([5, -6], pa.int8()))
    assert (data.tobytes(), offsets.tolist()) == (b"5-6", [0, 1, 3])
