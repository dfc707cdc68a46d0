"""`discreet table --record`: the custodian sees why, released or refused."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

import discreet as dc
from discreet.cli import main
from stores import build_town


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("town")
    return build_town(folder, folder / "store", rows=2_000)


def _run(
    store: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *given: str
) -> tuple[int, str, str]:
    monkeypatch.setattr(sys, "argv", ["discreet", "table", str(store), *given])
    with pytest.raises(SystemExit) as stopped:
        main()
    shown = capsys.readouterr()
    return int(stopped.value.code or 0), shown.out, shown.err


def test_a_record_comes_with_a_release_and_with_a_refusal(
    store: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = _run(store, monkeypatch, capsys, "--by", "sex", "--record")
    assert code == 0
    released = json.loads(out[out.index("{") :])
    assert released["verdict"] == "released"
    assert "not for release" in err
    # 2,000 people over 200 values of a rare trait by 5: most of those that are there are 1 to 3.
    code, out, err = _run(store, monkeypatch, capsys, "--by", "rare,health", "--record")
    assert code == 3
    refused = json.loads(out)
    assert refused.keys() == released.keys()
    assert refused["verdict"] == "SPARSE"
    assert "Refused (NOT_AVAILABLE)" in err
    assert refused["risk_before"] > 0
    assert "not for release" in err
    assert _run(store, monkeypatch, capsys, "--by", "rare,health")[1] == ""


def test_labels_are_printed_and_codes_where_they_are_asked_for(
    store: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (level,) = dc.open(store).question("sex").dimensions
    for given, name, shown in (((), level.label, level.labels), (("--codes",), "sex", level.codes)):
        for command in ("table", "tabulate"):
            monkeypatch.setattr(
                sys, "argv", ["discreet", command, str(store), "--by", "sex", *given]
            )
            with pytest.raises(SystemExit):
                main()
            lines = capsys.readouterr().out.splitlines()
            rule = next(i for i, line in enumerate(lines) if line.startswith("───"))
            assert lines[rule - 1].split()[0] == name
            assert [lines[rule + 1 + i].split()[0] for i in range(len(shown))] == list(shown)


def test_a_question_refused_before_counting_has_no_record(
    store: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    given = ("--by", "rare,age,health,sex,ward", "--record")
    code, out, err = _run(store, monkeypatch, capsys, *given)
    assert (code, out) == (3, "")
    assert "There is no record: nothing was counted." in err


def test_a_csv_file_has_its_types_beside_it_where_asked(
    store: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    csvw = pytest.importorskip("csvw")
    out, described = tmp_path / "by-sex.csv", tmp_path / "by-sex.csv-metadata.json"
    asked = ("--by", "sex", "--totals", "protected", "--out", str(out))
    assert _run(store, monkeypatch, capsys, *asked)[0] == 0
    assert not described.exists()
    code, _, told = _run(store, monkeypatch, capsys, *asked, "--csvw", "--force")
    assert code == 0, told
    rows = list(csvw.CSVW(str(described)).tables[0])
    # Codes are texts, the total's too, and figures are whole numbers.
    assert [row["c0"] for row in rows] == ["1", "2", "_T"]
    figures = [row["c2"] for row in rows]
    assert figures == dc.open(store).release("sex", totals="protected").table.values.tolist()
    # Nothing is written over, and other formats have no such description.
    assert "is there already" in _run(store, monkeypatch, capsys, *asked, "--csvw")[2]
    out.unlink()
    (tmp_path / "by-sex.csv.meta.json").unlink()
    assert "metadata.json is there already" in _run(store, monkeypatch, capsys, *asked, "--csvw")[2]
    other = ("--by", "sex", "--out", str(tmp_path / "t.xlsx"), "--csvw")
    assert (
        "CSV on the Web describes files of the format csv"
        in _run(store, monkeypatch, capsys, *other)[2]
    )
    assert "--csvw is of a file" in _run(store, monkeypatch, capsys, "--by", "sex", "--csvw")[2]
