"""The bounty kit: what players get, what they do not, and how they are scored."""

from __future__ import annotations

import csv
import subprocess
import sys
import time
from io import StringIO
from pathlib import Path

import httpx
import pytest

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[4]
sys.path.insert(0, str(ROOT / "scripts"))

import bounty  # noqa: E402

from discreet.errors import ParameterError  # noqa: E402
from discreet.study.attacks import Verdict  # noqa: E402


@pytest.fixture(scope="module")
def kit(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bounty") / "kit"
    bounty.make(folder, 5_000, "cell-keys", "http://127.0.0.1:8000")
    return folder


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def handed_in(path: Path, answers: dict[str, str], certain: str = "") -> Path:
    lines = [f"{name},{answer},{certain}" for name, answer in answers.items()]
    path.write_text("\n".join(["id,answer,certain", *lines]) + "\n", encoding="utf-8")
    return path


def test_players_get_targets_and_no_answers(kit: Path) -> None:
    assert sorted(p.name for p in (kit / "players").iterdir()) == [
        "README.md", "cells.csv", "people.csv",
    ]  # fmt: skip
    assert list(rows(kit / "players/people.csv")[0]) == [
        "id", "oa", "sex", "age_band", "marital_status",
    ]  # fmt: skip
    assert list(rows(kit / "players/cells.csv")[0]) == ["id", "oa", "religion"]
    assert len(rows(kit / "players/people.csv")) == bounty.NUMBER
    assert (kit / "office").stat().st_mode & 0o777 == 0o700
    readme = (kit / "players/README.md").read_text()
    assert "by=oa,religion" in readme
    # A small kit may have fewer than 200 of a kind: what is said is what is there.
    for what in ("people", "cells"):
        assert f"{len(rows(kit / f'players/{what}.csv'))} {what}" in readme


def test_whoever_knows_all_is_beyond_and_whoever_reads_is_not(kit: Path, tmp_path: Path) -> None:
    truth = rows(kit / "office/answers.csv")
    all_right = {row["id"]: row["answer"] for row in truth}
    found = bounty.score(kit, handed_in(tmp_path / "right.csv", all_right))
    assert [one.attack.value for one in found.values()] == [1.0, 1.0]
    assert found["people"].verdict is found["cells"].verdict is Verdict.BEYOND
    no_attack = {row["id"]: row["without"] for row in truth}
    found = bounty.score(kit, handed_in(tmp_path / "read.csv", no_attack))
    assert found["people"].verdict is found["cells"].verdict is Verdict.WITHIN


def test_one_certain_statement_about_a_person_is_beyond(kit: Path, tmp_path: Path) -> None:
    truth = [row for row in rows(kit / "office/answers.csv") if row["id"].startswith("p")]
    guesses = {row["id"]: row["without"] for row in truth}
    found = bounty.score(kit, handed_in(tmp_path / "sure.csv", guesses, "yes"))
    assert found["people"].verdict is Verdict.BEYOND
    assert found["cells"].verdict is Verdict.NOT_TRIED


def script(*arguments: str) -> list[str]:
    return [sys.executable, str(ROOT / "scripts/bounty.py"), *arguments]


def test_it_is_served_played_and_scored(kit: Path, tmp_path: Path) -> None:
    command = script("open", str(kit), "--port", "0")
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            words = server.stdout.readline().split()
            assert words[:2] == ["Serving", "on"]
            # As the instructions say.
            told = (kit / "players/README.md").read_text().partition("curl 'http://127.0.0.1:8000")
            path = told[2].partition("'")[0]
            for _ in range(1_200):
                answer = httpx.get(words[2] + path, timeout=60, trust_env=False)
                if answer.status_code != 503:  # the server is starting
                    break
                time.sleep(0.05)
        finally:
            server.terminate()
    assert answer.status_code == 200, answer.text
    figures = {(row["oa"], row["religion"]): row for row in csv.DictReader(StringIO(answer.text))}
    cells = rows(kit / "players/cells.csv")
    known = {one["id"]: figures.get((one["oa"], one["religion"]), {}) for one in cells}
    read = {name: row["value"] for name, row in known.items() if row.get("value")}
    assert len(read) >= 20
    done = subprocess.run(
        script("score", str(kit), str(handed_in(tmp_path / "played.csv", read))),
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    # Whoever reads what the server says is right as often as the office says that reading is.
    line = next(line for line in done.stdout.splitlines() if line.startswith("cells"))
    assert line.startswith(f"cells: {len(read)} statements, right")
    assert ": within;" in line


def test_a_mistake_in_the_file_is_told(kit: Path, tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="no target of this kit: p9999"):
        bounty.score(kit, handed_in(tmp_path / "odd.csv", {"p9999": "1"}))
    (tmp_path / "empty.csv").write_text("name\n")
    with pytest.raises(ParameterError, match="columns id, answer, certain"):
        bounty.score(kit, tmp_path / "empty.csv")
