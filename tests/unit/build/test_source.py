"""Reading CSV and Parquet in every dress they come in, and refusing the rest by file and line."""

from __future__ import annotations

import csv as csv_module
import datetime
import io
import tempfile
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.build import build, source
from discreet.population import Store

if TYPE_CHECKING:
    from conftest import Folder

Make = Callable[..., "Folder"]


@pytest.mark.parametrize(
    ("content", "settings"),
    [
        (b"id,a\n1,x\n2,y\n", ""),
        (b"id,a\n1,x\n2,y", ""),
        (b"id,a\n1,x\n2,y\n\n", ""),
        (b"id,a\r\n1,x\r\n2,y\r\n", ""),
        (b"id,a\r1,x\r2,y\r", ""),
        (b"\xef\xbb\xbfid,a\n1,x\n2,y\n", ""),
        (b"id;a\n1;x\n2;y\n", ', delimiter = ";"'),
        (b"id\ta\n1\tx\n2\ty\n", ', delimiter = "\\t"'),
        (b"id|a\n1|x\n2|y\n", ', delimiter = "|"'),
        ("id,a\n1,x\n2,y\n".encode("utf-16"), ', encoding = "utf-16"'),
        (b'"id","a"\n"1","x"\n"2","y"\n', ""),
        (b'b,a,id\n"1,\n2",x,1\n,y,2\n', ""),
        (b"A,a,id,,\nz,x,1,,\nz,y,2,,\n", ""),
    ],
    ids=[
        "plain",
        "no last line end",
        "empty last line",
        "CRLF",
        "CR",
        "byte order mark",
        "semicolon",
        "tab",
        "bar",
        "utf-16",
        "all quoted",
        "line end in another column",
        "upper case and nameless columns beside it",
    ],
)
def test_csv_in_every_dress(csv: Make, content: bytes, settings: str) -> None:
    assert csv(content, settings).decoded() == ["x", "y"]


@pytest.mark.parametrize("value", ["x\ny", "x\r\ny", 'x"y', "x,y", " x ", "00", "-1", "é", "NULL"])
def test_values_of_a_csv_are_taken_as_they_are(csv: Make, value: str) -> None:
    quoted = '"' + value.replace('"', '""') + '"'
    assert csv(f"id,a\n1,{quoted}\n2,z\n").decoded() == [value, "z"]


def test_latin_1(csv: Make) -> None:
    content = "id,a\n1,é\n2,ø\n".encode("latin-1")
    assert csv(content, ', encoding = "latin-1"').decoded() == ["é", "ø"]


def test_utf_16_beyond_latin(csv: Make) -> None:
    content = "id,a\n1,łódź\n2,東京\n".encode("utf-16")
    assert csv(content, ', encoding = "utf-16"').decoded() == ["łódź", "東京"]


@pytest.mark.parametrize(
    ("content", "settings", "told"),
    [
        (b"", "", "p.csv must begin with the names of its columns. It is empty."),
        (b"id,b\n1,x\n", "", "p.csv must have a column 'a'. Its columns: id, b."),
        (b"id, a\n1,x\n", "", "p.csv must have a column 'a'. Its columns: id,  a."),
        (b"id,A\n1,x\n", "", "p.csv must have a column 'a'. Its columns: id, A."),
        (
            b"id,a,a\n1,x,y\n",
            "",
            "p.csv must begin with the names of its columns. It has the column 'a' twice.",
        ),
        (b"id,a\n1,x\n2\n3,z\n", "", "unreadable lines: p.csv, line 3: too few fields"),
        (b"id,a\n1,x\n2,y,z\n3,z\n", "", "unreadable lines: p.csv, line 3: too many fields"),
        (
            b"id,a\n" + b"1,x,y\n" * 8,
            "",
            "unreadable lines: p.csv, line 2: too many fields, p.csv, line 3: too many fields, "
            "p.csv, line 4: too many fields, p.csv, line 5: too many fields, p.csv, line 6: too "
            "many fields and 3 more",
        ),
        (
            b'id,a\n1,x\n2,"y\n3,z\n',
            "",
            "unreadable lines: p.csv, line 3: a quote not closed, or text before or after a "
            "quoted field",
        ),
        (
            b'id,a\n1,"x" y\n',
            "",
            "unreadable lines: p.csv, line 2: a quote not closed, or text before or after a "
            "quoted field",
        ),
        (
            "id,a\n1,x\n2,é\n".encode("latin-1"),
            "",
            "unreadable lines: p.csv, line 3: not utf-8; say which 'encoding' it is in the source",
        ),
        (
            "id,é\n1,x\n".encode("latin-1"),
            "",
            "p.csv, line 1: not utf-8; say which 'encoding' it is in the source",
        ),
        (
            "id,a\n1,x\n".encode("utf-16"),
            "",
            "p.csv, line 1: not utf-8; say which 'encoding' it is in the source",
        ),
        (
            b"id,a\n1,x\n",
            ', encoding = "utf-16"',
            "p.csv, line 1: not utf-16; it must be little-endian and begin with the byte order "
            "mark FF FE.",
        ),
        (
            b"\xfe\xff" + "id,a\n1,x\n".encode("utf-16-be"),
            ', encoding = "utf-16"',
            "p.csv, line 1: not utf-16; it must be little-endian and begin with the byte order "
            "mark FF FE.",
        ),
        (
            b"id,a\r\n1,x\n2,y\r\n",
            "",
            "p.csv cannot be read: its lines must all end alike, in LF or in CR LF.",
        ),
        (
            b'"id,a\n1,x\n',
            "",
            "p.csv, line 1: not a CSV file: unexpected end of data",
        ),
        (
            b"id,a\n1," + b"x" * 3_000_000 + b"\n",
            "",
            "unreadable lines: p.csv, line 2: the line is too long; is a quote not closed?",
        ),
        (
            b"id,a\n1,x\x00y\n2,z\n",
            "",
            "the data do not fit their description: p.csv, column 'a': not a category of 'a' "
            "(z): row 1 'x\\x00y'",
        ),
        (b"id,a\n", "", "column 'a' has no value to read categories from in p.csv."),
        (b"id,a\n1,\n", "", "column 'a' has no value to read categories from in p.csv."),
    ],
)
def test_bad_csv_is_told_by_file_and_line(
    csv: Make, content: bytes, settings: str, told: str
) -> None:
    assert csv(content, settings).refused() == told


def test_a_csv_with_a_head_only_is_empty(csv: Make) -> None:
    told = csv("id,a\n", variable='{ x = "X" }').refused()
    assert told == "the data are empty: no file has a row."


@pytest.mark.parametrize(
    ("values", "texts"),
    [
        (pa.array([1, -2, 127], pa.int8()), ["1", "-2", "127"]),
        (pa.array([1, 2, 2**64 - 1], pa.uint64()), ["1", "2", "18446744073709551615"]),
        (pa.array(["x", "y", "x"]), ["x", "y", "x"]),
        (pa.array(["x", "y", "x"], pa.large_string()), ["x", "y", "x"]),
        (pa.array(["x", "y", "x"]).dictionary_encode(), ["x", "y", "x"]),
        (pa.array([1.0, 2.5, 3.0]), ["1.0", "2.5", "3.0"]),
        (pa.array([True, False, True]), ["true", "false", "true"]),
        (pa.array([datetime.date(2021, 3, 21)] * 3), ["2021-03-21"] * 3),
        (pa.array([Decimal("1.10")] * 3), ["1.10"] * 3),
        (pa.array([{"x": 1}] * 3), ["{'x': 1}"] * 3),
    ],
    ids=lambda value: str(value.type) if isinstance(value, pa.Array) else "",
)
def test_parquet_of_every_type(parquet: Make, values: pa.Array, texts: list[str]) -> None:
    assert parquet(pa.table({"id": [1, 2, 3], "a": values})).decoded() == texts


@pytest.mark.parametrize("type_", [pa.int8(), pa.uint8(), pa.int64(), pa.uint64(), pa.string()])
def test_integers_meet_listed_codes_whatever_their_type(parquet: Make, type_: pa.DataType) -> None:
    # The codes reach beyond what one byte holds, on either side.
    table = pa.table({"id": [1, 2], "a": pa.array([7, 100]).cast(type_)})
    assert parquet(table, variable="range = [-300, 1000]").decoded() == ["7", "100"]


def test_many_row_groups_keep_their_order(folder: Folder) -> None:
    values = [str(i % 97) for i in range(1000)]
    buffer = io.BytesIO()
    pq.write_table(pa.table({"id": range(1000), "a": values}), buffer, row_group_size=7)
    folder.write("p.parquet", buffer.getvalue()).describe(
        'source = { files = "p.parquet", record_id = "id" }\n[variables]\na = { range = [0, 96] }\n'
    )
    assert folder.decoded() == values


def test_rows_are_counted_over_batches(parquet: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "BATCH", 2048)  # DuckDB's own step: no batch is smaller
    values = ["x"] * 10_000
    values[0] = values[2048] = values[9_999] = "?"
    told = parquet(
        pa.table({"id": range(10_000), "a": values}), variable='categories = { x = "X" }'
    ).refused()
    assert told == (
        "the data do not fit their description: p.parquet, column 'a': not a category of 'a' "
        "(x): row 1 '?', row 2049 '?', row 10000 '?'"
    )


@pytest.mark.parametrize(
    ("table", "told"),
    [
        (
            pa.table({"id": [1, 2], "a": ["x", None]}),
            "the data do not fit their description: p.parquet, column 'a': missing values: row 2",
        ),
        (
            pa.table({"id": pa.array([None, None], pa.string()), "a": ["x", "y"]}),
            "the data do not fit their description: p.parquet, column 'id': missing values: "
            "row 1, row 2",
        ),
        (
            pa.table({"id": [1, 2], "a": ["", "y"]}),
            "the data do not fit their description: p.parquet, column 'a': not a category of 'a' "
            "(y): row 1 ''",
        ),
        (
            pa.table({"id": [1, 2], "a": ["_T", "y"]}),
            "the data do not fit their description: p.parquet, column 'a': not a category of 'a' "
            "(y): row 1 '_T'",
        ),
        (
            pa.table({"id": [1, 2], "a": pa.nulls(2)}),
            "column 'a' has no value to read categories from in p.parquet.",
        ),
        (
            pa.table({"id": pa.array([], pa.int64()), "a": pa.array([], pa.string())}),
            "column 'a' has no value to read categories from in p.parquet.",
        ),
        (
            pa.table({"id": [1.0, 2.0], "a": ["x", "y"]}),
            "p.parquet, column 'id': record ids must be texts or whole numbers. They are of type "
            "DOUBLE.",
        ),
        (
            pa.table({"id": [1], "b": [1]}),
            "p.parquet must have a column 'a'. Its columns: id, b.",
        ),
    ],
)
def test_bad_parquet_is_told(parquet: Make, table: pa.Table, told: str) -> None:
    assert parquet(table).refused() == told


def test_parquet_without_rows_is_empty(parquet: Make) -> None:
    table = pa.table({"id": pa.array([], pa.int64()), "a": pa.array([], pa.int64())})
    told = parquet(table, variable="range = [0, 1]").refused()
    assert told == "the data are empty: no file has a row."


@pytest.mark.parametrize(
    ("keep", "told"),
    [
        (lambda raw: raw[:7], "too small to be a Parquet file"),
        (lambda raw: raw[: len(raw) // 2], "No magic bytes found at end of file"),
        (lambda raw: b"", "too small to be a Parquet file"),
        # Whole at both ends, spoilt between.
        (lambda raw: raw[:200] + bytes(2000) + raw[2200:], "decompression failure"),
    ],
    ids=["stub", "half", "nothing", "spoilt"],
)
def test_truncated_parquet_is_told(
    parquet: Make, keep: Callable[[bytes], bytes], told: str
) -> None:
    buffer = io.BytesIO()
    pq.write_table(pa.table({"id": range(10_000), "a": ["x"] * 10_000}), buffer)
    message = parquet(keep(buffer.getvalue())).refused()
    assert message.startswith("p.parquet cannot be read: ")
    assert told in message
    assert "\n" not in message


NAMES = ['x"; DROP TABLE t; --', "a b", "select", "'", '"', "é\n", "c0", "*", "#1", "A", "{}"]


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_columns_of_any_name(folder: Folder, form: str) -> None:
    table = pa.table({"id": range(3), **{name: [f"{name}{i}" for i in range(3)] for name in NAMES}})
    if form == "parquet":
        folder.write("p.parquet", table)
    else:
        fields = [table.column_names, *(list(row.values()) for row in table.to_pylist())]
        lines = [",".join('"' + str(f).replace('"', '""') + '"' for f in row) for row in fields]
        folder.write("p.csv", "\n".join(lines) + "\n")
    variables = "".join(
        f'v{i} = {{ column = {_toml(name)}, categories = "from data" }}\n'
        for i, name in enumerate(NAMES)
    )
    folder.describe(
        f'source = {{ files = "p.{form}", record_id = "id" }}\n[variables]\n{variables}'
    )
    version = folder.version()
    for i, name in enumerate(NAMES):
        variable, _ = version.schema.find(f"v{i}")
        codes = [variable.finest.codes[j] for j in version.column(variable).tolist()]
        assert codes == [f"{name}{j}" for j in range(3)]


def _toml(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def test_files_with_quotes_in_their_names(folder: Folder) -> None:
    folder.write('it\'s;"here".csv', "id,a\n1,x\n")
    folder.describe(
        'source = { files = "it\'s;\\"here\\".csv", record_id = "id" }\n'
        '[variables]\na = { categories = "from data" }\n'
    )
    assert folder.decoded() == ["x"]


def test_nothing_in_a_file_is_executed(csv: Make, folder: Folder) -> None:
    target = folder.path / "out"
    attack = f"'; COPY (SELECT 1) TO '{target}'; --"
    formula = "=cmd|' /C calc'!A0"
    content = f'id,a\n1,"{attack}"\n2,"{formula}"\n'
    assert csv(content).decoded() == [attack, formula]
    assert not target.exists()


def test_the_reader_may_not_read_elsewhere(parquet: Make, folder: Folder) -> None:
    """Remote reads, other folders and extensions are off on the connection itself."""
    import duckdb

    from discreet.build.dataset import Dataset

    parquet(pa.table({"id": [1], "a": ["x"]}))
    dataset = Dataset.read(folder.path / "dataset.toml")
    reader = source.Reader(dataset.source, ["a"], folder.path / "scratch")
    try:
        for query in (
            "SELECT * FROM read_csv('/etc/passwd')",
            "SELECT * FROM read_parquet('https://example.org/x.parquet')",
            "INSTALL httpfs",
            "SET enable_external_access = true",
            "ATTACH '/tmp/discreet-test-attach.db'",
        ):
            with pytest.raises(duckdb.Error):
                reader._connection.execute(query).fetchall()
    finally:
        reader.close()


def test_several_files_are_one_data_set_though_their_types_differ(folder: Folder) -> None:
    folder.write("at.parquet", pa.table({"id": [1, 2], "a": np.array([10, 2], np.int16)}))
    folder.write("be.parquet", pa.table({"a": ["2", "x"], "id": ["3", "4"], "more": [0, 0]}))
    folder.describe(
        'source = { files = "*.parquet", record_id = "id" }\n'
        '[variables]\na = { categories = "from data" }\n'
    )
    assert folder.decoded() == ["10", "2", "2", "x"]


def test_a_bad_value_is_told_with_its_own_file(folder: Folder) -> None:
    folder.write("at.csv", "id,a\n1,x\n").write("be.csv", "id,a\n2,x\n3,q\n")
    folder.describe(
        'source = { files = ["at.csv", "be.csv"], record_id = "id" }\n'
        '[variables]\na = { categories = { x = "X" } }\n'
    )
    assert folder.refused() == (
        "the data do not fit their description: be.csv, column 'a': not a category of 'a' (x): "
        "row 2 'q'"
    )


@given(
    st.lists(
        st.one_of(
            st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")),
            st.text('a",;\n\r\t \\'),
        ).filter(lambda code: code not in ("", "_T")),
        min_size=1,
        max_size=20,
    ),
    st.sampled_from(["csv", "parquet"]),
)
@settings(max_examples=12, deadline=None)
def test_any_text_comes_back_from_a_store(values: list[str], form: str) -> None:
    with tempfile.TemporaryDirectory() as name:
        path = Path(name)
        if form == "parquet":
            pq.write_table(pa.table({"id": range(len(values)), "a": values}), path / "p.parquet")
        else:
            with (path / "p.csv").open("w", encoding="utf-8", newline="") as file:
                writer = csv_module.writer(file, quoting=csv_module.QUOTE_ALL)
                writer.writerows([("id", "a"), *enumerate(values)])
        (path / "dataset.toml").write_text(
            f'id = "p"\ntitle = "P"\nsource = {{ files = "p.{form}", record_id = "id" }}\n'
            '[variables]\na = { categories = "from data" }\n'
        )
        build(path / "dataset.toml", path / "store")
        version = Store(path / "store").open()
        (variable,) = version.schema.columns
        codes = variable.finest.codes
        assert [codes[i] for i in version.column(variable).tolist()] == values


def test_codes_from_data_are_ordered_as_people_expect(csv: Make) -> None:
    folder = csv("id,a\n1,10\n2,9\n3,-1\n")
    assert folder.version().schema.find("a")[1].codes == ("-1", "9", "10")


def test_a_very_long_number_is_a_text(csv: Make) -> None:
    assert csv(f"id,a\n1,{'9' * 5000}\n2,1\n").decoded() == ["9" * 5000, "1"]
