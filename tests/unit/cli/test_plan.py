"""`discreet plan`: from wanted questions to a file for the policy."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from discreet.cli import main
from discreet.ledger import Status
from discreet.policy import read_policy
from discreet.query import QuestionClass
from discreet.service.opened import open_store
from towns import town_of

QUESTIONS = """\
# what readers ask for
sex,age
age,ward
age,ward&where=sex=1
age,ward,health
rare,ward
rare,ward

sex,age,rare,ward
"""


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("town")
    return town_of(folder, rows=20_000)


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    return Run(monkeypatch, capsys)


class Run:
    """Runs `discreet plan` at 80 columns; gives its exit status and what it printed."""

    def __init__(self, patch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        patch.setenv("COLUMNS", "80")
        self.patch, self.capsys = patch, capsys

    def __call__(self, *given: object) -> tuple[int, str]:
        self.patch.setattr(sys, "argv", ["discreet", "plan", *map(str, given)])
        with pytest.raises(SystemExit) as stopped:
            main()
        shown = self.capsys.readouterr()
        told = shown.err.replace("Trying tables …\n", "")
        return int(stopped.value.code or 0), shown.out + told


def test_a_plan_is_proposed_and_written_for_the_policy(
    store: Path, run: Run, tmp_path: Path
) -> None:
    # sex,age has 160 cells and is not guarded. Three of the others show age,district (320), which
    # may be in two tables: age,ward is left to sums of sex,age,ward, of two figures each. The last
    # has 1,280,000 cells, more than the 100,000 of a question.
    wanted, out = tmp_path / "wanted.txt", tmp_path / "plan.toml"
    wanted.write_text(QUESTIONS, encoding="utf-8")
    code, said = run(store, wanted, "--out", out)
    assert code == 0
    assert (
        said
        == f"""\
6 of 7 questions would be answered (86%): 1 without a plan, 0 from tables that
are released, 5 from this plan.

Table to release beforehand   Cells  Answers  By sums
sex,age,ward                  6,400        1        1
rare,ward                     8,000        2        0
age,health,ward              16,000        1        0

Left out           Times  Because
sex,age,rare,ward      1  MAX_CELLS: A table may have at most 100,000 cells.
                          This one has 1,280,000.
Wrote {out}. Name it in the policy, in [tiers.public.space]:
plan = "plan.toml"
"""
    )
    policy = tmp_path / "policy.toml"
    policy.write_text('[tiers.public.space]\nplan = "plan.toml"\n', encoding="utf-8")
    assert read_policy(policy).default_tier.space.plan == (
        "sex,age,ward",
        "rare,ward",
        "age,health,ward",
    )
    assert '"rare,ward",  # 8,000 cells; answers 2 questions\n' in out.read_text(encoding="utf-8")
    assert "6,400 cells; answers 2 questions, 1 by sums\n" in out.read_text(encoding="utf-8")


def test_past_questions_are_wanted_too(store: Path, run: Run) -> None:
    code, said = run(store, "--asked")
    assert code == 2
    assert "nobody has asked for a new table yet" in said
    opened = open_store(store)
    kept = opened.ledger
    for name, status in (("sex,age,ward", Status.RELEASED), ("rare,ward", Status.REFUSED)):
        kept.settle(kept.claim(QuestionClass.named(name, opened.schema)).source, status)
    kept.database.close()
    code, said = run(store, "--asked")
    assert code == 0
    assert (
        said
        == """\
1 of 2 questions would be answered (50%): 0 without a plan, 1 from tables that
are released, 0 from this plan.

Left out   Times  Because
rare,ward      1  it was made, and is not available
"""
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("sex\nagee\nsex&where=ward", "has 2 mistakes:\n  - line 2: no variable 'agee'; did you"),
        ("# nothing\n\n", "must hold questions, one a line: sex,age"),
    ],
)
def test_mistakes_in_the_file_are_told_at_once(
    store: Path, run: Run, tmp_path: Path, text: str, message: str
) -> None:
    wanted = tmp_path / "wanted.txt"
    wanted.write_text(text, encoding="utf-8")
    code, said = run(store, wanted)
    assert code == 2
    assert message in said


def test_other_mistakes_are_told(store: Path, run: Run, tmp_path: Path) -> None:
    assert "give a file of questions, one a line, or --asked" in run(store)[1]
    assert "there is no file" in run(store, tmp_path / "none.txt")[1]
    wanted = tmp_path / "wanted.txt"
    wanted.write_text("sex", encoding="utf-8")
    assert "another file than" in run(store, wanted, "--out", wanted)[1]
    assert "in a folder that exists" in run(store, wanted, "--out", tmp_path / "no" / "p.toml")[1]
