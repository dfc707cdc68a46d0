"""Data as τ-ARGUS has them give what the same data give as CSV."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import discreet as dc
from discreet.errors import ParameterError
from discreet.table.argus import read_metadata
from discreet.table.hierarchy import read_hrc, write_hrc
from discreet.table.source import read_source

FIXED = """\
Region 1 2 "99"
  <RECODEABLE>
  <TOTCODE> "Total"
  <HIERARCHICAL>
  <HIERCODELIST> "region.hrc"
Industry 3 1
  <RECODEABLE>
Firm 4 2
  <HOLDING>
Turnover 6 5
  <NUMERIC>
  <DECIMALS> 0
"""
FREE = '<SEPARATOR> ";"\n' + re.sub(r"^(\w+) \d (\d)", r"\1 \2", FIXED, flags=re.MULTILINE)
RECORDS = [
    ("N1", "F", "A", 120), ("N1", "F", "B", 95), ("N1", "M", "C", 900), ("N2", "M", "D", 50),
    ("N2", "F", "E", 210), ("S1", "F", "F", 190), ("S1", "M", "G", 300), ("S1", "M", "H", 280),
]  # fmt: skip
CSV = "Region,Industry,Firm,Turnover\n" + "".join(f"{r},{i},{f},{t}\n" for r, i, f, t in RECORDS)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "fixed.rda").write_text(FIXED)
    (tmp_path / "fixed.asc").write_text("".join(f"{r}{i}{f:2}{t:5}\n" for r, i, f, t in RECORDS))
    (tmp_path / "free.rda").write_text(FREE)
    (tmp_path / "free.asc").write_text("".join(f"{r};{i};{f};{t}\n" for r, i, f, t in RECORDS))
    (tmp_path / "plain.csv").write_text(CSV)
    return tmp_path


@pytest.mark.parametrize("name", ["fixed.rda", "free.rda"])
def test_records_are_those_of_the_csv(folder: Path, name: str) -> None:
    found, plain = read_source(folder / name), read_source(folder / "plain.csv")
    assert found.header == plain.header
    assert [row for _, row in found.rows] == [row for _, row in plain.rows]


def test_suppression_takes_the_files_of_argus(folder: Path) -> None:
    given = {"by": ["Region", "Industry"], "value": "Turnover", "holding": "Firm"}
    ours = dc.desk.suppress(folder / "plain.csv", "p=10", **given)
    theirs = dc.desk.suppress(folder / "fixed.rda", "p=10", **given)
    assert theirs.to_pandas().equals(ours.to_pandas())
    assert "primary" in set(ours.to_pandas()["status"])


def test_a_table_of_cells_has_its_totals(tmp_path: Path) -> None:
    (tmp_path / "t.rda").write_text(
        '<SEPARATOR> ";"\nSex 5\n <RECODEABLE>\n <TOTCODE> "Both"\nN 8\n <FREQUENCY>\n'
    )
    (tmp_path / "t.tab").write_text("m;3\nf;4\nBoth;7\n")
    found = read_source(tmp_path / "t.rda")
    assert found.header == ["Sex", "freq"]
    assert [row for _, row in found.rows] == [["m", "3"], ["f", "4"], ["_T", "7"]]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Region\n", "its first position and its width"),
        ('<SEPARATOR> ";"\nRegion\n', "must have a name and its width"),
        ("<NUMERIC>\n", "<SEPARATOR> or a variable"),
        ("Region 1 2\n <WHATEVER>\n", "<WHATEVER>, which is not read"),
        ("\n", "at least one variable"),
    ],
)
def test_mistakes_in_metadata_are_told(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "x.rda").write_text(text)
    with pytest.raises(ParameterError, match=message):
        read_metadata(tmp_path / "x.rda")


def test_the_data_lie_beside_their_metadata(folder: Path) -> None:
    (folder / "fixed.txt").write_text("x")
    with pytest.raises(ParameterError, match=r"one file of data .* Found fixed.asc, fixed.txt"):
        read_source(folder / "fixed.rda")
    (folder / "fixed.txt").unlink()
    (folder / "fixed.asc").write_text("N1\n")
    with pytest.raises(ParameterError, match=r"line 1 of 'fixed\.asc' must have 10 characters"):
        read_source(folder / "fixed.rda")


def test_a_hierarchy_may_have_a_root_and_be_written_by_windows(tmp_path: Path) -> None:
    (tmp_path / "r.hrc").write_bytes("Total\r\n@Nord\r\n@@Åbo\r\n@@N2\r\n@S\r\n".encode("cp1252"))
    groups = read_hrc(tmp_path / "r.hrc")
    assert groups == {"Nord": ["Åbo", "N2"]}
    write_hrc(tmp_path / "w.hrc", ["Nord", "Åbo", "N2", "S", "Total"], groups)
    assert (tmp_path / "w.hrc").read_text("utf-8") == "Nord\n@Åbo\n@N2\nS\n"
    assert read_hrc(tmp_path / "w.hrc") == groups
