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
