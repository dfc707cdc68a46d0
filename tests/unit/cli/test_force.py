"""No command writes over a file that is there, unless it is told to; a folder is no file."""

from __future__ import annotations

import inspect
import os
import stat
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner, Result

import discreet as dc
from discreet.cli import app
from discreet.population import envelope
from stores import build_town

COUNTS = "a,b,count\nx,1,5\nx,2,7\ny,1,9\ny,2,11\n"
WRITING: dict[str, list[str]] = {
    "table": ["STORE", "--by", "sex"],
    "tabulate": ["STORE", "--by", "sex"],
    "audit-log export": ["STORE"],
    "backup": ["STORE", "--passphrase-file", "WORDS"],
    "convert": ["TABLE", "--format", "csv"],
    "protect": ["TABLE", "-m", "random-rounding"],
    "lookup": [],
    "site card": ["STORE", "--id", "a", "--label", "A", "--address", "https://a.example"],
    "plan": ["STORE", "QUESTIONS"],
    "init": ["RECORDS"],
    "info": ["STORE"],
    "ledger": ["STORE"],
    "risk": ["TABLE"],
    "verify": ["RELEASE", "--store", "STORE"],
    "audit": ["TABLE", "--within", "2"],
    "round": ["TABLE"],
    "suppress": ["TABLE"],
    "adjust": ["TABLE", "--seed", "1"],
    "redesign": ["TABLE", "--rule", "smallest=3"],
}
# These write into folders, and refuse one that holds what they would write.
FOLDERS = {"demo", "synth", "build", "restore", "attack", "certify", "study", "batch"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("force")
    build_town(place, place / "store", rows=2_000)
    dc.open(place / "store").release("sex").write(place / "r.csv")
    (place / "t.csv").write_text(COUNTS)
    (place / "questions.txt").write_text("sex,age\n")
    (place / "words").write_text("correct horse battery")
    (place / "words").chmod(0o600)
    return place


@pytest.fixture(autouse=True)
def cheap(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(envelope, "_WORK", 2**4)


def run(folder: Path, command: str, *more: object) -> Result:
    names = {"STORE": folder / "store", "TABLE": folder / "t.csv", "WORDS": folder / "words",
             "QUESTIONS": folder / "questions.txt", "RELEASE": folder / "r.csv",
             "RECORDS": folder / "people.parquet"}  # fmt: skip
    words = [str(names.get(word, word)) for word in WRITING[command]]
    return CliRunner().invoke(app, [*command.split(), *words, *map(str, more)])


# Files that commands write beside what --out says…
BESIDE = {
    ("hub", "document"), ("suppress", "pattern"), ("suppress", "tab"), ("suppress", "problem"),
    ("adjust", "report"), ("adjust", "problem"), ("redesign", "recodes"), ("attack", "json_file"),
    ("certify", "json_file"),
}  # fmt: skip
# …folders that they keep things in, which are theirs…
KEPT = {("demo", "folder"), ("build", "originals")}
# …and what they only read. Whatever else is a path is written.
READ = {
    "after", "data", "dataset", "edition", "file", "history", "key", "meta", "originals",
    "passphrase_file", "published", "questions", "quick", "secret", "settings", "store", "stores",
    "table", "tables", "to", "true",
}  # fmt: skip


def paths(program: typer.Typer, before: str = "") -> Iterator[tuple[str, str]]:
    """Yield command and name of all parameters that are paths, "a b" for one of a group."""
    for one in program.registered_commands:
        assert one.callback is not None
        command = f"{before}{one.name or one.callback.__name__.replace('_', '-')}"
        given = inspect.signature(one.callback, eval_str=True).parameters
        yield from ((command, name) for name, each in given.items() if "Path" in str(each))
    for group in program.registered_groups:
        assert group.typer_instance is not None
        yield from paths(group.typer_instance, f"{before}{group.name} ")


def test_every_command_that_writes_is_tried() -> None:
    written = {each for each in paths(app) if each in KEPT or each[1] not in READ}
    out = {(command, "out") for command in {*WRITING, *FOLDERS, "base"} - {"demo"}}
    assert written == out | BESIDE | KEPT


def test_a_base_is_written_over_only_if_asked(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "base.parquet"
    (tmp_path / "base.parquet.meta.json").write_text("mine")
    ran = CliRunner().invoke(app, ["base", str(folder / "store"), "--out", str(out)])
    assert "meta.json is there already" in str(ran.exception)
    ran = CliRunner().invoke(app, ["base", str(folder / "store"), "--out", str(out), "--force"])
    assert "there already" not in str(ran.exception)


@pytest.mark.parametrize("command", WRITING)
def test_a_file_is_written_over_only_if_asked(command: str, folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "o.csv"
    out.write_text("mine")
    refused = run(folder, command, "--out", out)
    assert str(refused.exception) == f"{out} is there already. Give --force to write over it."
    assert out.read_text() == "mine"
    done = run(folder, command, "--out", out, "--force")
    assert done.exit_code == 0, done.exception
    assert out.read_bytes() != b"mine"


@pytest.mark.parametrize("command", WRITING)
def test_a_pipe_and_a_link_stay_what_they_are(command: str, folder: Path, tmp_path: Path) -> None:
    """A device in the place of the pipe would be lost to the whole machine."""
    pipe, link, target = tmp_path / "p.csv", tmp_path / "l.csv", tmp_path / "target.csv"
    os.mkfifo(pipe)
    target.write_text("mine")
    link.symlink_to(target)
    came: list[bytes] = []
    reader = threading.Thread(target=lambda: came.append(pipe.read_bytes()), daemon=True)
    reader.start()
    for out in (pipe, link):
        done = run(folder, command, "--out", out, "--force")
        assert done.exit_code == 0, done.exception
    reader.join(60)
    assert stat.S_ISFIFO(pipe.lstat().st_mode)
    assert [len(raw) > 0 for raw in came] == [target.stat().st_size > 0]
    assert link.is_symlink()
    assert target.read_bytes() != b"mine"
    assert not [path for path in tmp_path.iterdir() if path.name.endswith(".part")]


@pytest.mark.parametrize("command", WRITING)
def test_a_folder_is_no_file(command: str, folder: Path, tmp_path: Path) -> None:
    (tmp_path / "f.csv").mkdir()
    for words in (["--out", tmp_path / "f.csv"], ["--out", tmp_path / "f.csv", "--force"]):
        refused = run(folder, command, *words)
        assert "must be a file" in str(refused.exception)
    refused = run(folder, command, "--out", tmp_path / "none" / "o.csv")
    assert "in a folder that exists" in str(refused.exception)
    assert [path.name for path in tmp_path.rglob("*")] == ["f.csv"]


@pytest.mark.parametrize("command", ["table", "convert"])
def test_what_belongs_beside_is_not_written_over(
    command: str, folder: Path, tmp_path: Path
) -> None:
    beside = tmp_path / "o.csv.meta.json"
    beside.write_text("mine")
    refused = run(folder, command, "--out", tmp_path / "o.csv")
    assert f"{beside} is there already" in str(refused.exception)
    assert sorted(path.name for path in tmp_path.iterdir()) == [beside.name]


SECOND = {
    ("adjust", "report"), ("adjust", "problem"), ("suppress", "pattern"), ("suppress", "tab"),
    ("suppress", "problem"),
}  # fmt: skip


@pytest.mark.parametrize(("command", "name"), sorted(SECOND))
def test_second_files_are_not_written_over(
    command: str, name: str, folder: Path, tmp_path: Path
) -> None:
    mine = tmp_path / "mine.csv"
    mine.write_text("mine")
    refused = run(folder, command, "--out", tmp_path / "o.csv", f"--{name}", mine)
    assert "is there already" in str(refused.exception)
    assert [mine.read_text(), *tmp_path.iterdir()] == ["mine", mine]


def test_recodes_are_not_written_over(folder: Path, tmp_path: Path) -> None:
    for name in ("a.csv", "b.csv"):
        (tmp_path / name).write_text("mine")
    refused = run(folder, "redesign", "--rule", "smallest=30", "--recodes", tmp_path,
                  "--out", tmp_path / "o.csv")  # fmt: skip
    assert "is there already" in str(refused.exception)
    assert not (tmp_path / "o.csv").exists()


@pytest.mark.parametrize("command", ["attack", "certify"])
def test_findings_are_not_written_over(command: str, folder: Path, tmp_path: Path) -> None:
    mine = tmp_path / "mine.json"
    mine.write_text("mine")
    words = [command, str(folder / "store"), "--json", str(mine)]
    assert "is there already" in str(CliRunner().invoke(app, words).exception)
    assert mine.read_text() == "mine"


def test_other_files_are_tried_here_or_with_their_command() -> None:
    rest = {("redesign", "recodes"), ("attack", "json_file"), ("certify", "json_file")}
    assert {*SECOND, *rest, ("hub", "document")} == BESIDE  # that of a hub in test_site.py


def test_a_folder_of_synth_is_written_over_only_if_asked(tmp_path: Path) -> None:
    words = ["synth", "--kind", "business", "--records", "60", "--out", str(tmp_path / "b")]
    assert CliRunner().invoke(app, words).exit_code == 0
    assert "is there already" in str(CliRunner().invoke(app, words).exception)
    assert CliRunner().invoke(app, [*words, "--force"]).exit_code == 0


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


# Commands of the desk whose --out is a table that may be published.
ENDINGS = {"problem": "jj", "pattern": "csv", "tab": "tab"}
PUBLISHED = {"round", "suppress", "adjust", "redesign"}
DESK = PUBLISHED | {"audit", "adjust --order"}
RECORDS = "a,b,v\n" + "".join(f"{'xy'[i % 2]},{i % 3},{10 + i}\n" for i in range(30))


@pytest.fixture
def lax() -> Iterator[None]:
    before = os.umask(0o022)
    yield
    os.umask(before)


@pytest.mark.usefixtures("lax")
@pytest.mark.parametrize("command", sorted(DESK))
def test_what_may_be_published_is_readable_and_nothing_else_of_the_desk(
    command: str, folder: Path, tmp_path: Path
) -> None:
    """All options of the desk that are paths to write are walked: those of BESIDE, and --out."""
    name = command.split()[0]
    words = ["--out", tmp_path / "o.csv"]
    if "--order" in command:
        (tmp_path / "records.csv").write_text(RECORDS)
        words = [*words, "--by", "a,b", "--value", "v", "--order", 2, "--p", 10, "--seed", 1]
        words += ["--withhold", "--report", tmp_path / "report.csv"]
        ran = CliRunner().invoke(app, ["adjust", str(tmp_path / "records.csv"), *map(str, words)])
    else:
        beside = [option for one, option in sorted(BESIDE) if one == name and option != "recodes"]
        for option in beside:
            words += [f"--{option}", tmp_path / f"{option}.{ENDINGS.get(option, 'x')}"]
        ran = run(folder, name, *words)
    assert ran.exit_code == 0, ran.exception
    for path in tmp_path.iterdir():
        if path.name == "records.csv":
            continue
        public = path.name == "o.csv" and command in PUBLISHED
        assert mode(path) == (0o644 if public else 0o600), path.name
        assert (path.name in ran.stderr) == (not public)


@pytest.mark.usefixtures("lax")
@pytest.mark.parametrize("end", ["json", "hst", "csv"])
def test_patterns_are_readable_by_their_owner_alone(end: str, folder: Path, tmp_path: Path) -> None:
    pattern = tmp_path / f"p.{end}"
    pattern.write_text("mine")
    ran = run(folder, "suppress", "--out", tmp_path / "o.csv", "--pattern", pattern, "--force")
    assert ran.exit_code == 0, ran.exception
    assert mode(pattern) == 0o600


@pytest.mark.usefixtures("lax")
@pytest.mark.parametrize("command", ["suppress", "adjust"])
def test_of_jj_files_what_was_moved_is_readable_and_true_figures_are_not(
    command: str, tmp_path: Path
) -> None:
    cells = ["0 10 1 u 0 100 2 2 0", "1 20 1 s 0 100 0 0 0", "2 30 1 s 0 100 0 0 0"]
    (tmp_path / "t.jj").write_text("\n".join(["0", "3", *cells, "1", "0 3 : 0 (1) 1 (1) 2 (-1)\n"]))
    option, end = ("--pattern", "csv") if command == "suppress" else ("--report", "jj")
    words = [tmp_path / "t.jj", "--out", tmp_path / f"o.{end}", option, tmp_path / "second.jj"]
    ran = CliRunner().invoke(app, [command, *map(str, words)])
    assert ran.exit_code == 0, ran.exception
    assert (mode(tmp_path / f"o.{end}"), mode(tmp_path / "second.jj")) == (0o644, 0o600)


@pytest.mark.usefixtures("lax")
def test_a_picture_may_show_true_figures(folder: Path, tmp_path: Path) -> None:
    dc.desk.round(folder / "t.csv").plot().write(tmp_path / "p.svg")
    assert mode(tmp_path / "p.svg") == 0o600
